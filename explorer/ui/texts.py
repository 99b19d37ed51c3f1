"""All text of the page in one place, in the order a visitor meets it. The run view gets its part, VIEW, as JSON.

Placeholders in braces are filled by the code that shows a text; values are always set as text, never as markup.
"""

from __future__ import annotations

from typing import Any

TITLE = "Speculative decoding explorer"
LEAD = (
    "A fast draft model guesses several tokens ahead; the target model checks them all in one pass. "
    "Colour and mark show what became of each guess."
)

PROMPT_LABEL = "Prompt"
PROMPT_PLACEHOLDER = "Ask for something, or pick an example below."
EXAMPLES_LABEL = "Examples"
RUN = "Run"
STOP = "Stop"
DOWNLOAD = "Download trace (JSON)"
THEME_TOGGLE = "Light / dark"

SETTINGS = "Settings"
ADVANCED = "Advanced"
PAIR_LABEL = "Model pair"
PAIR_INFO = "Target and draft share one vocabulary."
PRESET_LABEL = "Preset of the loose rule"
PRESET_CUSTOM = "Custom"
BASELINE_LABEL = "Compare with plain greedy"
BASELINE_INFO = "Also lets the target write alone, for its own text and speed. Takes as long again, or longer."
RULE_LABELS = {"fly": "FLy, loose", "exact": "Exact match", "autoregressive": "Target alone"}
DRAFTER_LABELS = {"model": "Draft model", "lookup": "Prompt lookup", "model+lookup": "Both"}
ENTROPY_LABELS = {"normalized": "Normalized", "top3": "Top 3"}

PAIR_HERE = "{title}"
PAIR_FETCHED = "{title} · fetched on first use, {size}"
PAIR_MISSING = "{title} · not on this machine, {size}, {suits}"

WARM_WAITING = "Models load at the first run."
WARM_LOADING = "Loading {pair} into memory. You can press Run already."
WARM_READY = "{pair} is in memory."
WARM_FAILED = "{pair} could not be loaded ahead: {error}"

PROMPT_TOO_LONG = "the prompt has {size:,} characters, this page takes at most {limit:,}: shorten it"
MISSING_INPUT = "{label} must be {range}, got nothing"
UNEXPECTED = "The run failed: {error}. The page goes on working; the server's log has the details."
OUT_OF_MEMORY = (
    "Out of memory: lower the budget or the draft length, or choose a smaller pair. The page goes on working."
)
ERROR_TITLE = "Nothing was run"
FAILED_TITLE = "The run failed"

API_DESCRIPTION = (
    "Decode one prompt; returns its text, the figures of the run, and the whole trace (schema version 1). "
    "prompt: what to answer. pair: name of a known pair. baseline: also decode plainly, with the target alone, and compare."
)

# What the run view says. Keys are stable: the JavaScript asks for them by name.
VIEW: dict[str, Any] = {
    "kinds": {
        "exact": {"name": "exact", "mark": "E", "means": "draft and target agree"},
        "deferred": {"name": "deferred", "mark": "D", "means": "target disagrees but is unsure, and the draft goes on well: kept"},
        "correction": {"name": "correction", "mark": "C", "means": "draft token refused, the target's own instead"},
        "bonus": {"name": "bonus", "mark": "B", "means": "whole draft kept, the target adds one"},
    },
    "alone": {"name": "target", "means": "written by the target alone"},
    "legend": "What the marks mean",
    "show_refused": "Show refused drafts",
    "strip": "Generated text, token by token",
    "strip_help": "Arrow keys move between tokens, Enter pins the details, Escape lets go.",
    "empty": "The text appears here as it is written, round by round.",
    "idle": "Ready.",
    "status": "Round {rounds}, {tokens} tokens",
    "pinned": "pinned",
    "unpin": "Unpin",
    "phases": {
        "preparing": "Preparing",
        "loading": "Loading the models",
        "running": "Running",
        "baseline": "Now plain greedy, for comparison",
        "done": "Done",
        "stopped": "Stopped",
        "failed": "Failed",
    },
    "ends": {
        "stop_id": "the model ended its text",
        "stop_string": "stop text reached",
        "budget": "budget of {budget} tokens spent",
        "user": "stopped by you; the record is partial",
    },
    "card": {
        "title": "Token details",
        "empty": "Point at a token, or move to it with the arrow keys, to see why it is there.",
        "where": "round {round}, position {position} of {size}",
        "where_own": "round {round}, the target's own",
        "bytes": "part of a character, bytes {hex}",
        "stop": "stop token: ends the text",
        "draft_gave": "draft gave it",
        "target_gave": "target gave it",
        "sources": {"lookup": "drafted by looking it up in the text so far"},
        "refused": "Refused draft token",
        "alternatives": "What the target considered",
        "roles": {"exact": "both", "deferred": "draft's, kept", "correction": "target's own", "bonus": "target's own", "choice": "target's own", "refused": "draft's, refused"},
        "entropy": "How unsure the target is",
        "normalized": "normalized entropy",
        "top3": "top-3 entropy, nats",
        "theta": "θ {theta}",
        "theta_never": "θ {theta}: never reached",
        "unused": "not used in this run",
        "would_defer": "at or above θ",
        "would_refuse": "below θ",
    },
    "reasons": {
        "exact": "Draft and target agree on this token.",
        "exact_sampled": "The target's draw accepts the drafted token.",
        "deferred": "The target would have written {choice}, but it is unsure here (entropy {h}, θ {theta}) and the next {n} drafted tokens all match. The draft's token stays.",
        "deferred_alone": "The target would have written {choice}, but it is unsure here (entropy {h}, θ {theta}). The draft's token stays.",
        "rejected:gate": "The draft said {draft}. The target is sure here (entropy {h}, below θ {theta}), so its own token stands.",
        "rejected:window": "The draft said {draft}. The target is unsure here (entropy {h}, θ {theta}), but another mismatch follows {m} further on, inside the look-ahead window of {w}. The target's own token stands.",
        "rejected:edge": "The draft said {draft}. The target is unsure here (entropy {h}, θ {theta}) and nothing spoke against it, but the window of {w} does not fit in the rest of the draft. The target's own token stands.",
        "rejected:stop": "The draft said {draft}. The end of the text is at stake here, and that is never loosened: the target's own token stands.",
        "rejected": "The draft said {draft}. Under the exact rule every mismatch is refused: the target's own token stands.",
        "bonus": "The whole draft of {k} was kept, and the same target pass gives one token more.",
        "bonus_no_room": "There was no room left to draft: the target adds the last token.",
        "alone": "No draft: the target writes every token itself.",
    },
    "summary": {
        "title": "Summary",
        "partial": "partial: the run was stopped",
        "tau": "tokens per target pass (τ)",
        "tau_note": "{tokens} committed tokens / {passes} target passes, the target's own token counted",
        "kept": "drafted tokens kept per round",
        "kept_note": "{kept} kept in {passes} rounds, the target's own token not counted",
        "speed": "tokens per second, measured",
        "speed_note": "{device}; prefill and display not counted",
        "speedup": "times plain greedy, measured",
        "speedup_note": "plain greedy {speed} tokens/s, same engine and prompt",
        "drafted": "What became of {drafted} drafted tokens",
        "counts": {
            "exact": "exact",
            "deferred": "deferred",
            "rejected:gate": "refused: target sure",
            "rejected:window": "refused: second mismatch in the window",
            "rejected:edge": "refused: window does not fit",
            "rejected:stop": "refused: stop token",
            "rejected": "refused: mismatch",
            "discarded": "discarded behind a cut",
        },
        "time": "Where {seconds} s went, measured",
        "time_forwards": "{share} inside the models' forward passes",
        "times": {"prefill": "prefill", "draft": "drafting", "preverify": "pre-verifying", "verify": "verifying", "other": "other"},
        "fidelity": "Against the target's own greedy text",
        "divergence": "First divergence at token {index}: the target alone goes on with {theirs}, this run with {ours}.",
        "no_divergence": "No divergence in {tokens} tokens.",
        "logprob": "Mean target log-probability per token {ours} nats, the target's own text {theirs}.",
    },
    "rounds": {
        "title": "Rounds",
        "caption": "One row per target pass",
        "round": "Round",
        "drafted": "Drafted",
        "kept": "Kept",
        "verdicts": "Verdicts",
        "entropy": "Entropy at the cut",
        "text": "Committed text",
        "seconds": "Seconds",
        "show": "Show round {round} in the text",
        "letters": "E exact, D deferred, refused: G target sure, W second mismatch in the window, F window does not fit, S stop token, R mismatch; · discarded",
    },
}  # fmt: skip
