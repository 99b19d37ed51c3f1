"""The knobs: their labels and help, their choices, and what sentences and tables call them, in English. Labels and help are those of their table."""

from __future__ import annotations

from explorer.config import PRESETS as TABLE
from explorer.ui.page_knobs import page_knobs

_SIGNED = {"theta": "Theta θ", "growth": "Growth ρ"}  # labels with letters that a terminal may lack
LABELS = {knob.name: _SIGNED.get(knob.name, knob.label) for knob in page_knobs()}
# A line, or one for each choice that it depends on.
HELP = {knob.name: dict(knob.choice_help) or knob.help for knob in page_knobs()}
PRESETS = {name: preset.label for name, preset in TABLE.items()}

CHOICES = {
    "rule": {
        "autoregressive": "Target alone",
        "exact": "Exact match",
        "fly": "FLy (loose, deferred)",
        "typical": "Typical (Medusa)",
        "topk": "Top k",
        "margin": "Margin (MARS)",
        "kl": "KL limit",
        "judge": "Judge head (outcome-labelled)",
    },
    "drafter": {
        "model": "Draft model",
        "lookup": "Prompt lookup",
        "model+lookup": "Model + lookup",
        "model+phrases": "Model + phrases",
        "features": "EAGLE-3 head",
    },
    "length": {
        "fixed": "Fixed length",
        "pacer": "PACER",
        "confidence": "Confidence",
        "entropy": "SVIP entropy",
        "heuristic": "Heuristic",
        "adaedl": "AdaEDL",
        "survival": "Survival",
        "throughput": "Throughput",
        "pacer-throughput": "PACER, by costs",
    },
    "entropy": {
        "normalized": "Normalized",
        "top3": "Top 3",
    },
    "statistic": {
        "mean": "Mean",
        "min": "Smallest",
        "product": "Product",
    },
    "schedule": {
        "serial": "In turn",
        "pearl": "Overlapped (PEARL)",
    },
}
GROUPS = {
    "verifying": "Verifying",
    "drafting": "Drafting",
    "writing": "Output",
}
UNITS = {
    "tokens": "tokens",
    "nats": "nats",
}

# What sentences and tables call the knobs, and their values.
WORDS = {
    "rule": "rule",
    "entropy": "measure",
    "theta": "θ",
    "window": "W",
    "window_includes_mismatch": "window includes the mismatch",
    "typical_epsilon": "epsilon",
    "typical_delta": "delta",
    "top_k": "k",
    "margin": "margin",
    "kl_limit": "KL limit",
    "kl_confidence": "KL confidence",
    "judge_threshold": "judge threshold",
    "judge_run": "judged in a row",
    "drafter": "drafter",
    "length": "length policy",
    "draft_length": "draft length K",
    "phrases": "phrases",
    "phrase_length": "phrase length",
    "phrase_window": "phrases made at once",
    "tree": "tree nodes",
    "tree_width": "tree width",
    "schedule": "schedule",
    "max_new_tokens": "budget",
    "temperature": "temperature",
    "seed": "seed",
    "raw_prompt": "raw prompt",
    "block_size": "block size",
    "threshold": "threshold",
    "growth": "growth",
    "statistic": "statistic",
    "least_draft": "least draft",
}
VALUES = {
    "fly": "FLy",
    "typical": "typical",
    "topk": "top k",
    "margin": "margin",
    "kl": "KL limit",
    "judge": "judge head",
    "exact": "exact",
    "autoregressive": "target alone",
    "normalized": "normalized",
    "top3": "top 3",
    "true": "yes",
    "false": "no",
}
