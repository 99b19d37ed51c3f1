"""The Compare tab, in English."""

from __future__ import annotations

from typing import Any

from explorer.ui.catalogue.en.knobs import VALUES, WORDS

LABELS = {
    "tab": "Compare",
    "lead": "One prompt under two settings and by the target alone, round by round in turn on the same engine. See where each text leaves the target's own, and whether FLy or a near-tie is to blame.",
    "run": "Compare",
    "adopt": "Take Explore's settings",
    "more": "More settings",
}

# How long it will take.
EXPECTED = {
    "plan": "Three runs of at most {tokens} tokens each.",
    "about": "Expect {time} if the texts fill their budget: modelled from {source}.",
    "seconds": "about {seconds} seconds",
    "minutes": "about {minutes} minutes",
    "unknown": "How long they take is not known before the first comparison.",
}

# What its view says.
VIEW: dict[str, Any] = {
    "empty": "Three texts appear here as they are written: the target's own, A and B. Each is timed once, in turn, so that a busy machine slows them alike.",
    "idle": "Ready.",
    "phases": {
        "preparing": "Waiting for its turn",
        "loading": "Loading the models",
        "warming": "Warming up, not measured",
        "running": "Running, round by round in turn",
        "done": "Done",
        "stopped": "Stopped",
        "failed": "Failed",
    },
    "own": "Target alone",
    "dtypes": "target {target}, draft {draft}",
    "ignored": "ignored: {settings}",
    "text": "Text of: {side}",
    "parted": "parts from the target's own here",
    "left": "{side} parts here",
    "partings": {
        "title": "Where the texts part",
        "none": "{side} has not left {other} in {tokens} tokens.",
        "leaves": "{side} leaves {other} at token {index}: {theirs} there, {ours} here.",
        "target": "the target's own text",
        "apart": "{side} and {other} part at token {index}: {theirs} in {other}, {ours} in {side}.",
        "together": "{side} and {other} have not parted.",
        "fly": "FLy's doing: a draft token that the target would not have chosen was kept.",
        "fly_tie": "FLy kept the draft's token, but the target's two likeliest were nearly level: a numeric flip could have done the same.",
        "relaxed": "The loose rule's doing: a draft token that the target would not have chosen lay within its limit.",
        "numeric": "A near-tie: the token is the target's own choice, rounded differently in a pass over several rows. Not FLy's doing.",
        "other": "The token is the target's own choice in this pass, and not a near-tie: FLy did not keep it, and rounding of this size is not expected.",
        "gap": "The target's two likeliest are {gap} nats apart; a near-tie is less than {limit}.",
        "tie": "near-tie",
    },
    "figures": {
        "title": "Figures side by side",
        "name": "Figure",
        "tau": "Tokens per target pass (τ)",
        "kept": "Drafted tokens kept per round",
        "speed": "Tokens per second, measured",
        "speedup": "Times the target alone, measured",
        "tokens": "Tokens",
        "passes": "Target passes",
        "logprob": "Mean target log-probability, nats per token",
        "end": "Ended because",
    },
    "times": "Where the time went, measured",
    "same_settings": "A and B have the same settings.",
    "knobs": WORDS,
    "values": VALUES,
}  # fmt: skip
