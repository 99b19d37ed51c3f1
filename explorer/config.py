"""DecodeConfig: every knob of a run once, with its range, default, unit and help text.

The command line, the page and links all read this one table, so a knob added here appears in each of them. What only verdicts
depend on comes with its rule (verdicts.py); what cannot go together stands in conflicts.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

from explorer.conflicts import EVERYTHING, LAYER_POLICIES, THRESHOLD_POLICIES, Offers, Use, refusals
from explorer.knobs import ABOVE_ZERO, ConfigError, Knob
from explorer.messages import Message
from explorer.verdicts import LOOSE_RULES, RULE_SETTINGS, RULES, RuleSettings

__all__ = ["ConfigError", "DecodeConfig", "Knob", "knobs"]

DTYPES = ("float32", "bfloat16", "float16")  # that a pair may be loaded in, by torch's names
ENTROPY_MAXIMUM = {"normalized": 1.0, "top3": math.log(3)}

_DRAFTS = ({"rule": tuple(rule for rule in RULES if rule != "autoregressive")},)


def _knob(kind: type, default: Any, label: str, help: str, **limits: Any) -> Any:
    return field(default=default, metadata={"kind": kind, "label": label, "help": help, **limits})


@dataclass(frozen=True, slots=True)
class DecodeConfig(RuleSettings):
    """The settings of one run: those of the rule, then these. Frozen and checked: a DecodeConfig that exists is valid."""

    drafter: str = _knob(
        str, "model", "Drafter", "Where drafted tokens come from.",
        choices=("model", "lookup", "model+lookup", "model+phrases", "features"),
        relevant_when=_DRAFTS,
        choice_help={
            "model": "The draft model writes them, one after the other.",
            "lookup": "No model: the latest words are looked up in the text so far, and what followed them there is drafted.",
            "model+lookup": "The draft model confirms looked-up tokens, several in one forward: its own draft, sooner.",
            "model+phrases": "As Ouroboros: the draft model confirms phrases that it made itself on the way. Greedy only.",
            "features": "An EAGLE-3 head, fed with the target's own states, drafts a chain, or a tree of continuations.",
        },
    )  # fmt: skip
    length: str = _knob(
        str, "fixed", "Length policy", "When drafting stops, after K tokens at the latest.",
        choices=("fixed", "pacer", "confidence", "entropy", "heuristic", "adaedl", "survival", "throughput", "pacer-throughput"),
        relevant_when=_DRAFTS,
        choice_help={
            "fixed": "Always after K tokens.",
            "pacer": "When a small trained layer predicts for a block of tokens that too few would be kept.",
            "confidence": "After a token to which the draft gives a low probability.",
            "entropy": "As SVIP: after a token where the draft's own entropy is high.",
            "heuristic": "After as many as last time and 2 more if all of those were kept, else 1 less.",
            "adaedl": "After a token whose entropy bounds its acceptance below a threshold that follows the rounds.",
            "survival": "As SpecDec++: when PACER's layer finds it likely that a token drafted so far is refused.",
            "throughput": "When one more token costs more time, as measured here, than it is likely to save.",
            "pacer-throughput": "PACER, with the threshold that the measured costs ask for in place of t.",
        },
    )  # fmt: skip
    draft_length: int = _knob(
        int,
        8,
        "Draft length K",
        "Tokens drafted per round, at most.",
        low=1,
        high=64,
        step=1,
        unit="tokens",
        relevant_when=_DRAFTS,
    )
    block_size: int = _knob(
        int, 4, "Block size b", "Tokens drafted between two of the layer's decisions.", low=1, high=16, step=1, unit="tokens",
        relevant_when=(*_DRAFTS, {"length": LAYER_POLICIES}),
    )  # fmt: skip
    threshold: float = _knob(
        float, 0.5, "Threshold t", "What the length policy goes on by.",
        low=0.0, high=1.0, step=0.01,
        choice_help_of="length",
        relevant_when=(*_DRAFTS, {"length": THRESHOLD_POLICIES}),
        choice_help={
            "pacer": "Predicted acceptance that the first block needs.",
            "confidence": "Least probability of a token to go on.",
            "entropy": "Largest square root of 0.15 times a token's entropy in nats to go on.",
            "adaedl": "Least acceptance to go on, at first.",
            "survival": "Largest chance to go on that a token so far is refused.",
        },
    )  # fmt: skip
    growth: float = _knob(
        float, 1.05, "Growth rho", "Every passing block multiplies the threshold by this; 1 keeps it.",
        low=1.0, high=2.0, step=0.01, relevant_when=(*_DRAFTS, {"length": ("pacer",)}),
    )  # fmt: skip
    statistic: str = _knob(
        str, "mean", "Block statistic", "What of a block's scores PACER compares with the threshold.",
        choices=("mean", "min", "product"), relevant_when=(*_DRAFTS, {"length": ("pacer",)}),
    )  # fmt: skip
    least_draft: int = _knob(
        int, 0, "Least draft length",
        "Drafts are not ended before this many tokens. FLy can defer nothing in a draft of W tokens or fewer.",
        low=0, high=64, step=1, unit="tokens", relevant_when=(*_DRAFTS, {"length": LAYER_POLICIES}),
    )  # fmt: skip
    phrases: int = _knob(
        int, 0, "Candidate phrases",
        "As Ouroboros: phrases from a pool that are tried behind the draft, all in the same target pass; 0 tries none.",
        low=0, high=8, step=1, relevant_when=_DRAFTS,
    )  # fmt: skip
    phrase_length: int = _knob(
        int, 6, "Phrase length", "Tokens of a candidate phrase, at most.", low=1, high=16, step=1, unit="tokens",
        relevant_when=(*_DRAFTS, {"phrases": ABOVE_ZERO, "drafter": ("model+phrases",)}),
    )  # fmt: skip
    phrase_window: int = _knob(
        int, 5, "Phrases made at once",
        "How many new phrases each draft forward works on, and how many known ones it tries.",
        low=1, high=20, step=1, relevant_when=(*_DRAFTS, {"drafter": ("model+phrases",)}),
    )  # fmt: skip
    tree: int = _knob(
        int, 0, "Tree nodes N",
        "The likeliest tokens of a tree of continuations, all verified in one pass, as in EAGLE-2; K levels deep at most. 0 drafts a chain; 8 suit a CPU, "
        "the paper has 60.",
        low=0, high=64, step=1, relevant_when=(*_DRAFTS, {"drafter": ("features",)}),
    )  # fmt: skip
    tree_width: int = _knob(
        int, 4, "Tree width k",
        "Continuations of a node that are considered, and nodes of a level that get any.",
        low=1, high=16, step=1, relevant_when=(*_DRAFTS, {"drafter": ("features",)}, {"tree": ABOVE_ZERO}),
    )  # fmt: skip
    schedule: str = _knob(
        str, "serial", "Schedule", "Whether draft and target wait for each other.",
        choices=("serial", "pearl"),
        relevant_when=_DRAFTS,
        choice_help={
            "serial": "Draft, then verify.",
            "pearl": "The draft goes on while the target verifies. Run one after the other here, the time of both at once is modelled. "
            "Rule exact and a fixed length only.",
        },
    )  # fmt: skip
    max_new_tokens: int = _knob(
        int, 128, "Budget", "Most tokens to generate; the text ends there.", low=1, high=4096, step=1, unit="tokens"
    )
    temperature: float = _knob(
        float, 0.0, "Temperature", "0 is greedy. Above 0 both models sample.", low=0.0, high=2.0, step=0.05
    )
    seed: int = _knob(
        int,
        0,
        "Seed",
        "Random seed; used only above temperature 0.",
        low=0,
        high=2**31 - 1,
        step=1,
        relevant_when=({"temperature": ABOVE_ZERO},),
    )
    raw_prompt: bool = _knob(bool, False, "Raw prompt", "Feed the text as it is, without the target's chat template.")
    stop_strings: tuple[str, ...] = _knob(tuple, (), "Stop strings", "The text ends before the first of these.")

    def __post_init__(self) -> None:
        for knob in knobs():
            knob.check(getattr(self, knob.name))
        self.check_with(EVERYTHING)

    def check_with(self, offers: Offers, use: Use = "run") -> None:
        """Raise ConfigError where a pair that offers this cannot follow these settings, or a sweep cannot share their rounds."""
        for message in refusals(self, offers, use):
            raise ConfigError(message.code, **message.values)

    @property
    def drafts(self) -> bool:
        """Whether anything is drafted at all."""
        return self.rule != "autoregressive"

    @property
    def needs_layer(self) -> bool:
        """Whether the length policy reads the scores of a trained pre-verification layer."""
        return self.drafts and self.length in LAYER_POLICIES

    @property
    def decides_per_token(self) -> bool:
        """Whether the length policy looks at every drafted token before the next."""
        return self.length in ("confidence", "entropy", "adaedl", "throughput") or (
            self.needs_layer and self.block_size == 1
        )

    @property
    def drafts_trees(self) -> bool:
        """Whether a round drafts several continuations at once, of which the target's pass chooses one."""
        return self.drafts and self.drafter == "features" and self.tree > 0

    @property
    def theta_is_never(self) -> bool:
        """True where no entropy can reach theta, so that FLy keeps what the exact rule keeps."""
        return self.theta > ENTROPY_MAXIMUM[self.entropy]

    @property
    def notes(self) -> tuple[Message, ...]:
        """Allowed settings that do not do what one may expect."""
        longest = self.draft_length + (self.phrase_length if self.phrases else 0)
        per_token = self.drafts and self.drafter in ("model+lookup", "model+phrases") and self.decides_per_token
        found = {
            "note.window_too_long": self.rule == "fly" and self.window >= longest,
            "note.theta_is_never": self.rule == "fly" and self.theta_is_never,
            "note.decides_per_token": per_token,
            "note.tree_unused": self.tree > 0 and self.drafter != "features",
            "note.top_one": self.rule == "topk" and self.top_k == 1,
            "note.judged_never": self.rule == "judge" and self.judge_run == 0,
        }
        values = {
            "note.window_too_long": {"window": self.window, "longest": longest},
            "note.decides_per_token": {"length": self.length},
        }
        return tuple(Message(code, values.get(code, {})) for code, holds in found.items() if holds)

    def with_preset(self, name: str) -> DecodeConfig:
        """The same run under the named preset of the loose rule (PRESETS)."""
        return replace(self, rule="fly", **PRESETS[name].settings)


def knobs() -> tuple[Knob, ...]:
    """The table of all knobs, in the order of the fields."""
    return _KNOBS


def full_help(knob: Knob) -> str:
    """The help with what every choice means, the unit and when it has an effect, for where only one text can stand."""
    said = [knob.help, *(f"{choice}: {line}" for choice, line in knob.choice_help.items())]
    said += [f"In {knob.unit}."] if knob.unit else []
    for condition in knob.relevant_when:
        if condition not in _DRAFTS:
            holds = (f"{name} {', '.join(choices) or 'above 0'}" for name, choices in condition.items())
            said.append(f"Only with {' or '.join(holds)}.")
    return " ".join(said)


RULE_KNOBS = tuple(knob.name for knob in RULE_SETTINGS)

_OF_RULES = {
    knob.name: replace(knob, relevant_when=({"rule": (name,)},))
    for name, rule in LOOSE_RULES.items()
    for knob in rule.settings
} | {"rule": RULE_SETTINGS[0]}
_KNOBS = tuple(
    _OF_RULES.get(f.name) or Knob(name=f.name, default=f.default, **f.metadata) for f in fields(DecodeConfig)
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A named point of the loose rule, with where it comes from."""

    label: str
    source: str
    settings: dict[str, Any]


def _preset(label: str, source: str, entropy: str, theta: float, window: int, includes: bool) -> Preset:
    settings = {"entropy": entropy, "theta": theta, "window": window, "window_includes_mismatch": includes}
    return Preset(label, source, settings)


PRESETS = {
    "explorer": _preset(
        "Explorer",
        "our default; on the sweep of docs/bench.md level with the point it recommends",
        "normalized",
        0.05,
        3,
        False,
    ),
    "paper": _preset("Paper text", "arXiv 2511.22972, section 3: full entropy over ln V", "normalized", 0.3, 6, False),
    "released": _preset(
        "Released code", "AMD-AGI/FLy: top-3 entropy in nats, W counts the mismatch", "top3", 0.3, 6, True
    ),
    "vllm": _preset(
        "vLLM port", "the authors' vLLM port: top-3 entropy in nats, W following tokens", "top3", 0.3, 6, False
    ),
}

# What a length policy starts from: thresholds of one mean nothing to another, and only a policy that stops early can afford a large K.
POLICY_DEFAULTS: dict[str, dict[str, Any]] = {
    "fixed": {"draft_length": 8},
    "pacer": {"draft_length": 24, "threshold": 0.5, "growth": 1.05, "block_size": 4, "least_draft": 0},
    "confidence": {
        "draft_length": 20,
        "threshold": 0.4,
    },  # transformers' assistant_confidence_threshold, num_assistant_tokens
    "entropy": {"draft_length": 24, "threshold": 0.3},  # SVIP, arXiv 2411.18462: sqrt(c H) > h with c 0.15, h 0.3
    "heuristic": {"draft_length": 20},  # transformers' num_assistant_tokens_schedule
    "adaedl": {"draft_length": 24, "threshold": 0.4},  # arXiv 2410.18351; K and the first threshold are ours
    # SpecDec++, arXiv 2405.19715: every token is decided on, drafts have 2 to 20 of them
    "throughput": {"draft_length": 16},
    "pacer-throughput": {"draft_length": 24, "block_size": 4, "least_draft": 0},
    "survival": {"draft_length": 20, "threshold": 0.3, "block_size": 1, "least_draft": 2},
}

# The two measures are not interchangeable, so switching the measure switches theta to a value made for it.
THETA_OF_MEASURE = {"normalized": PRESETS["explorer"].settings["theta"], "top3": PRESETS["released"].settings["theta"]}
