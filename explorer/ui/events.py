"""Options of the page's events, said once."""

from __future__ import annotations

MODEL = {"concurrency_id": "model", "concurrency_limit": 1}  # one run at a time, whoever asks
QUIET = {"show_progress": "hidden", "api_visibility": "private"}  # of small events
LIVE = {"queue": False, "trigger_mode": "always_last", **QUIET}  # of controls that move
SCRIPT = {"api_visibility": "private", "trigger_mode": "multiple", "queue": False}  # of events that end in the browser
# Through the queue, because only there a refusal becomes a message on the page; but never waiting for a run.
AT_ONCE = {"concurrency_limit": None, **QUIET}
