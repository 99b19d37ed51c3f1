"""The page around its tabs, what several tabs have, and what the server says when something fails, in English."""

from __future__ import annotations

# Of Gradio's parts.
LABELS = {
    "title": "Speculative decoding explorer",
    "lead": "A fast draft model guesses several tokens ahead; the target model checks them all in one pass.",
    "lead_marks": "Colour and mark show what became of each guess: agreed, refused, or, with FLy, kept though the target would have said something else, because it was unsure and the draft went on well.",
    "newcomer": "New here? Take the lesson",
    "theme_toggle": "Light / dark",
    # What several tabs have.
    "prompt": "Prompt",
    "prompt_placeholder": "Ask for something, or pick an example below.",
    "stop": "Stop",
    "pair": "Model pair",
    "pair_fetched": "fetched on first use",
    "pair_missing": "not on this machine",
    "preset": "Preset of FLy",
    "preset_custom": "Custom",
    "warm_waiting": "Models load at the first run.",
    # After the name of a pair.
    "warm_loading": "loading into memory. You can press Run already.",
    "warm_ready": "in memory.",
    "warm_failed": "could not be loaded ahead",
}

# Of the server.
NOTICES = {
    "error_title": "Nothing was run",
    "failed_title": "The run failed",
    "import_title": "Nothing was opened",
    "import_refused": "{name} is no record of a run: {reason}",
    "unexpected": "The run failed: {error}. The page goes on working; the server's log has the details.",
    "disk_full": "The server's disk is full, so nothing could be saved. The page goes on working.",
}

# Where a pace is known from.
PACES = {
    "here": "the last runs on this machine",
    "recorded": "a run recorded on {device}; this machine may differ",
}
