"""DecodeConfig: every knob of a run once, with its range, default, unit and help text.

The command line, the page and the link all read this one table, so a knob added here appears in each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from explorer.errors import UserError
from explorer.verdicts import LOOSE_RULES, Rule

DTYPES = ("float32", "bfloat16", "float16")  # that a pair may be loaded in, by torch's names
ENTROPY_MEASURES = ("normalized", "top3")
ENTROPY_MAXIMUM = {"normalized": 1.0, "top3": math.log(3)}


class ConfigError(UserError):
    """A knob out of its range: the message names the knob and the range, in words for a person."""


@dataclass(frozen=True, slots=True)
class Knob:
    """What one field of DecodeConfig is: how to ask for it, check it and explain it."""

    name: str
    kind: type
    default: Any
    label: str
    help: str
    low: float | None = None
    high: float | None = None
    step: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    # What it means under each choice of `by`, a knob with choices: of itself where none is named.
    lines: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    # When it has an effect at all: every entry must hold. An entry holds where one of its knobs has one of the choices that
    # stand there, or, where none stand there, any value but 0.
    needs: tuple[Mapping[str, tuple[str, ...]], ...] = ()

    @property
    def full_help(self) -> str:
        """The help with what every choice means, the unit and the needs, for where only one text can stand."""
        said = [self.help, *(f"{choice}: {line}" for choice, line in self.lines.items())]
        said += [f"In {self.unit}."] if self.unit else []
        for need in self.needs:
            if need not in _DRAFTS:
                holds = (f"{name} {', '.join(choices) or 'above 0'}" for name, choices in need.items())
                said.append(f"Only with {' or '.join(holds)}.")
        return " ".join(said)

    @property
    def range_text(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        if self.kind is tuple:
            return "a list of texts that are not empty"
        if self.kind is int:
            return f"a whole number from {self.low} to {self.high}"
        return f"a number from {self.low:g} to {self.high:g}"

    def unmet(self, config: DecodeConfig) -> Mapping[str, tuple[str, ...]] | None:
        """The first of its needs that does not hold under a configuration; None where the knob has an effect."""

        def holds(name: str, choices: tuple[str, ...]) -> bool:
            value = getattr(config, name)
            return value in choices if choices else bool(value)

        return next((need for need in self.needs if not any(holds(*one) for one in need.items())), None)

    def check(self, value: Any) -> None:
        """Raise ConfigError unless value has this knob's type and lies in its range (NaN never does)."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        good = {
            bool: lambda: isinstance(value, bool),
            str: lambda: value in self.choices,
            int: lambda: number and isinstance(value, int) and self.low <= value <= self.high,
            float: lambda: number and self.low <= value <= self.high,
            tuple: lambda: isinstance(value, tuple) and all(isinstance(item, str) and is_text(item) for item in value),
        }[self.kind]()
        if not good:
            raise ConfigError(f"{self.label} must be {self.range_text}, got {repr(value)[:60]}")


def is_text(value: str) -> bool:
    """Whether there is any text, and it can be written as UTF-8: bytes of a command line may come in as half characters."""
    return bool(value) and not any("\ud800" <= character <= "\udfff" for character in value)


LAYER_POLICIES = ("pacer", "survival")  # length policies that read the scores of a trained pre-verification layer
_DRAFTS = ({"rule": tuple(rule for rule in get_args(Rule) if rule != "autoregressive")},)


def _knob(kind: type, default: Any, label: str, help: str, **limits: Any) -> Any:
    return field(default=default, metadata={"kind": kind, "label": label, "help": help, **limits})


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    """The settings of one run. Frozen and checked: a DecodeConfig that exists is valid."""

    rule: str = _knob(
        str, "fly", "Rule", "How the target verifies drafted tokens.",
        choices=get_args(Rule),
        lines={
            "autoregressive": "No drafts: the target writes every token itself, one per pass.",
            "exact": "A drafted token stays only where it is the target's own choice, so the text is the target's own.",
            "fly": "Also keeps a mismatch where the target is unsure and the next drafted tokens all match: the verdict is deferred to them.",
            "typical": "As Medusa: keeps a mismatch that the target finds likely enough. Greedy only.",
            "topk": "Keeps a mismatch among the target's k likeliest tokens. Greedy only.",
            "margin": "As MARS: keeps the target's second choice where it is close behind the first. Greedy only.",
            "kl": "Keeps a mismatch where draft and target think nearly alike. Greedy only.",
            "judge": "Keeps a mismatch where a head that was trained on outcomes finds that it does not matter. Greedy only.",
        },
    )  # fmt: skip
    theta: float = _knob(
        float, 0.05, "Theta", "A mismatch may be deferred where the target's entropy is at least this.",
        low=0.0, high=1.2, step=0.005,
    )  # fmt: skip
    window: int = _knob(
        int, 3, "Window W", "How many drafted tokens after a deferred mismatch must all match.",
        low=0, high=32, step=1, unit="tokens",
    )  # fmt: skip
    entropy: str = _knob(
        str, "normalized", "Entropy measure", "How the target's doubt is measured.",
        choices=ENTROPY_MEASURES,
        lines={
            "normalized": "Over the full vocabulary, divided by ln V: 0 to 1. The paper's text.",
            "top3": "Partial sum over the three likeliest tokens, in nats: 0 to 1.099. The released code.",
        },
    )  # fmt: skip
    window_includes_mismatch: bool = _knob(
        bool, False, "Window includes the mismatch", "The released code's counting: W - 1 tokens must follow, not W."
    )
    typical_epsilon: float = _knob(
        float, 0.09, "Typical epsilon", "A mismatch is kept above this probability, whatever the entropy.",
        low=0.0, high=1.0, step=0.01,
    )  # fmt: skip
    typical_delta: float = _knob(
        float, 0.3, "Typical delta",
        "A mismatch is kept also above this times exp(-entropy in nats), where that is less than typical epsilon.",
        low=0.0, high=1.0, step=0.01,
    )  # fmt: skip
    top_k: int = _knob(
        int, 2, "Top k", "A mismatch is kept among the target's k likeliest tokens; 1 keeps none.", low=1, high=8, step=1
    )  # fmt: skip
    margin: float = _knob(
        float, 1.0, "Margin", "The target's second choice is kept at most this far behind its first, in log-probability.",
        low=0.0, high=10.0, step=0.05, unit="nats",
    )  # fmt: skip
    kl_limit: float = _knob(
        float, 0.3, "KL limit", "A mismatch is kept where KL(target || draft) is below this.",
        low=0.0, high=10.0, step=0.05, unit="nats",
    )  # fmt: skip
    kl_confidence: float = _knob(
        float, 0.9, "KL confidence", "Nothing is kept where the target's likeliest token is more probable than this.",
        low=0.0, high=1.0, step=0.01,
    )  # fmt: skip
    judge_threshold: float = _knob(
        float, 0.5, "Judge threshold",
        "A mismatch is kept where the judge head gives it at least this; 0.5 is the point chosen for the head.",
        low=0.0, high=1.0, step=0.01,
    )  # fmt: skip
    judge_run: int = _knob(
        int, 1, "Judged in a row", "At most so many mismatches one after the other are kept; 0 keeps none.",
        low=0, high=16, step=1, unit="tokens",
    )  # fmt: skip
    drafter: str = _knob(
        str, "model", "Drafter", "Where drafted tokens come from.",
        choices=("model", "lookup", "model+lookup", "model+phrases", "features"),
        needs=_DRAFTS,
        lines={
            "model": "The draft model writes them, one after the other.",
            "lookup": "No model: the latest words are looked up in the text so far, and what followed them there is drafted.",
            "model+lookup": "The draft model confirms looked-up tokens, several in one forward: its own draft, sooner.",
            "model+phrases": "As Ouroboros: the draft model confirms phrases that it made itself on the way. Greedy only.",
            "features": "An EAGLE-3 head, fed with the target's own states, drafts a chain, or a tree of continuations.",
        },
    )  # fmt: skip
    length: str = _knob(
        str, "fixed", "Length policy", "When drafting stops, after K tokens at the latest.",
        choices=("fixed", "pacer", "confidence", "entropy", "heuristic", "adaedl", "survival"),
        needs=_DRAFTS,
        lines={
            "fixed": "Always after K tokens.",
            "pacer": "When a small trained layer predicts for a block of tokens that too few would be kept.",
            "confidence": "After a token to which the draft gives a low probability.",
            "entropy": "As SVIP: after a token where the draft's own entropy is high.",
            "heuristic": "After as many as last time and 2 more if all of those were kept, else 1 less.",
            "adaedl": "After a token whose entropy bounds its acceptance below a threshold that follows the rounds.",
            "survival": "As SpecDec++: when PACER's layer finds it likely that a token drafted so far is refused.",
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
        needs=_DRAFTS,
    )
    block_size: int = _knob(
        int, 4, "Block size b", "Tokens drafted between two of the layer's decisions.", low=1, high=16, step=1, unit="tokens",
        needs=(*_DRAFTS, {"length": LAYER_POLICIES}),
    )  # fmt: skip
    threshold: float = _knob(
        float, 0.5, "Threshold t", "What the length policy goes on by.",
        low=0.0, high=1.0, step=0.01,
        by="length",
        needs=(*_DRAFTS, {"length": ("pacer", "confidence", "entropy", "adaedl", "survival")}),
        lines={
            "pacer": "Predicted acceptance that the first block needs.",
            "confidence": "Least probability of a token to go on.",
            "entropy": "Largest square root of 0.15 times a token's entropy in nats to go on.",
            "adaedl": "Least acceptance to go on, at first.",
            "survival": "Largest chance to go on that a token so far is refused.",
        },
    )  # fmt: skip
    growth: float = _knob(
        float, 1.05, "Growth rho", "Every passing block multiplies the threshold by this; 1 keeps it.",
        low=1.0, high=2.0, step=0.01, needs=(*_DRAFTS, {"length": ("pacer",)}),
    )  # fmt: skip
    statistic: str = _knob(
        str, "mean", "Block statistic", "What of a block's scores PACER compares with the threshold.",
        choices=("mean", "min", "product"), needs=(*_DRAFTS, {"length": ("pacer",)}),
    )  # fmt: skip
    least_draft: int = _knob(
        int, 0, "Least draft length",
        "Drafts are not ended before this many tokens. FLy can defer nothing in a draft of W tokens or fewer.",
        low=0, high=64, step=1, unit="tokens", needs=(*_DRAFTS, {"length": LAYER_POLICIES}),
    )  # fmt: skip
    phrases: int = _knob(
        int, 0, "Candidate phrases",
        "As Ouroboros: phrases from a pool that are tried behind the draft, all in the same target pass; 0 tries none.",
        low=0, high=8, step=1, needs=_DRAFTS,
    )  # fmt: skip
    phrase_length: int = _knob(
        int, 6, "Phrase length", "Tokens of a candidate phrase, at most.", low=1, high=16, step=1, unit="tokens",
        needs=(*_DRAFTS, {"phrases": (), "drafter": ("model+phrases",)}),
    )  # fmt: skip
    phrase_window: int = _knob(
        int, 5, "Phrases made at once",
        "How many new phrases each draft forward works on, and how many known ones it tries.",
        low=1, high=20, step=1, needs=(*_DRAFTS, {"drafter": ("model+phrases",)}),
    )  # fmt: skip
    tree: int = _knob(
        int, 0, "Tree nodes N",
        "The likeliest tokens of a tree of continuations, all verified in one pass, as in EAGLE-2; K levels deep at most. 0 drafts a chain; 8 suit a CPU, "
        "the paper has 60.",
        low=0, high=64, step=1, needs=(*_DRAFTS, {"drafter": ("features",)}),
    )  # fmt: skip
    tree_width: int = _knob(
        int, 4, "Tree width k",
        "Continuations of a node that are considered, and nodes of a level that get any.",
        low=1, high=16, step=1, needs=(*_DRAFTS, {"drafter": ("features",)}, {"tree": ()}),
    )  # fmt: skip
    schedule: str = _knob(
        str, "serial", "Schedule", "Whether draft and target wait for each other.",
        choices=("serial", "pearl"),
        needs=_DRAFTS,
        lines={
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
        needs=({"temperature": ()},),
    )
    raw_prompt: bool = _knob(bool, False, "Raw prompt", "Feed the text as it is, without the target's chat template.")
    stop_strings: tuple[str, ...] = _knob(tuple, (), "Stop strings", "The text ends before the first of these.")

    def __post_init__(self) -> None:
        for knob in knobs():
            knob.check(getattr(self, knob.name))
        if not self.drafts:
            return  # what a draft would be has no effect, so no combination of it is wrong
        if self.rule == "fly" and self.window == 0 and self.window_includes_mismatch:
            raise ConfigError("Window W must be at least 1 when the window includes the mismatch")
        if self.drafter == "lookup" and self.length not in ("fixed", "heuristic"):
            raise ConfigError(
                f"Length policy {self.length} needs a draft model, prompt lookup alone has none: choose the drafter model or model+lookup"
            )
        if self.drafter == "features" and (self.needs_layer or self.rule == "kl"):
            raise ConfigError(
                f"{f'Length policy {self.length}' if self.needs_layer else 'Rule kl'} reads a draft model, a feature-fed head is none: "
                "choose another one, or the drafter model"
            )
        if self.temperature and self.rule in LOOSE_RULES and LOOSE_RULES[self.rule].greedy_only:
            raise ConfigError(
                f"Rule {self.rule} is defined for greedy decoding only: set the temperature to 0, or choose fly or exact"
            )
        if self.drafter == "lookup" and self.rule == "kl":
            raise ConfigError(
                "Rule kl compares the draft model's distribution with the target's, and prompt lookup alone has none: choose the drafter model or model+lookup"
            )
        if self.phrases and self.temperature:
            raise ConfigError(
                "Candidate phrases need temperature 0: a phrase is chosen by the target's own choices, which a draw would favour"
            )
        if self.phrases and self.rule == "kl":
            raise ConfigError(
                "Rule kl compares the draft model's distribution with the target's, and a phrase has none: set Candidate phrases to 0"
            )
        if self.drafter == "features" and (self.phrases or self.schedule == "pearl"):
            # A phrase would have to go on from a state that no pass has left yet, and so would what is drafted ahead.
            raise ConfigError(
                "A feature-fed head drafts from the target's states of one plain pass: set Candidate phrases to 0 and the schedule to serial"
            )
        if self.drafts_trees and (self.length != "fixed" or self.temperature):
            raise ConfigError(
                f"A tree is grown to its {self.tree} likeliest nodes and its path chosen by the target's own choices: it needs "
                "Length policy fixed and Temperature 0, or set Tree nodes N to 0"
            )
        if self.drafter == "model+phrases" and self.temperature:
            raise ConfigError(
                "Drafter model+phrases needs temperature 0: it confirms phrases by the draft model's own choices"
            )
        if self.schedule == "pearl":
            self._check_pearl()

    def _check_pearl(self) -> None:
        for knob, needed in (("length", "fixed"), ("phrases", 0), ("temperature", 0)):
            if getattr(self, knob) != needed:
                label = next(known.label for known in knobs() if known.name == knob)
                raise ConfigError(f"Schedule pearl is a fixed schedule of greedy rounds: it needs {label} {needed}")
        if self.rule != "exact":
            raise ConfigError(
                "Schedule pearl verifies by the rule exact alone: choose the rule exact, or the schedule serial"
            )

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
        return self.length in ("confidence", "entropy", "adaedl") or (self.needs_layer and self.block_size == 1)

    @property
    def drafts_trees(self) -> bool:
        """Whether a round drafts several continuations at once, of which the target's pass chooses one."""
        return self.drafts and self.drafter == "features" and self.tree > 0

    @property
    def theta_is_never(self) -> bool:
        """True where no entropy can reach theta, so that FLy keeps what the exact rule keeps."""
        return self.theta > ENTROPY_MAXIMUM[self.entropy]

    @property
    def notes(self) -> tuple[str, ...]:
        """Allowed settings that do not do what one may expect, in words for a person."""
        notes = []
        longest = self.draft_length + (self.phrase_length if self.phrases else 0)
        if self.rule == "fly" and self.window >= longest:
            notes.append(
                f"W = {self.window} does not fit in a draft of {longest}: nothing can be deferred, FLy equals the exact rule."
            )
        if self.rule == "fly" and self.theta_is_never:
            notes.append("Theta is above the largest possible entropy: no mismatch is ever deferred.")
        if self.drafts and self.drafter in ("model+lookup", "model+phrases") and self.decides_per_token:
            notes.append(
                f"Length policy {self.length} decides after every token, so the draft model never confirms several at once: "
                "the drafter works like the draft model alone."
            )
        if self.tree and self.drafter != "features":
            notes.append("Only the drafter features drafts trees: Tree nodes N is not used.")
        if self.rule == "topk" and self.top_k == 1:
            notes.append("The target's likeliest token alone: topk with k = 1 equals the exact rule.")
        if self.rule == "judge" and self.judge_run == 0:
            notes.append("With 0 in a row no mismatch is ever kept: judge equals the exact rule.")
        return tuple(notes)

    def with_preset(self, name: str) -> DecodeConfig:
        """The same run under the named preset of the loose rule (PRESETS)."""
        return replace(self, rule="fly", **PRESETS[name].settings)


def knobs() -> tuple[Knob, ...]:
    """The table of all knobs, in the order of the fields."""
    return _KNOBS


def _of_rules(name: str) -> dict[str, Any]:
    """The needs of a knob that only loose rules read."""
    rules = tuple(rule for rule, loose in LOOSE_RULES.items() if name in loose.knobs)
    return {"needs": ({"rule": rules},)} if rules else {}


_KNOBS = tuple(Knob(name=f.name, default=f.default, **_of_rules(f.name), **f.metadata) for f in fields(DecodeConfig))


@dataclass(frozen=True, slots=True)
class Preset:
    """A named point of the loose rule, with where it comes from."""

    label: str
    source: str
    settings: dict[str, Any]


def _preset(label: str, source: str, entropy: str, theta: float, window: int, includes: bool) -> Preset:
    settings = {"entropy": entropy, "theta": theta, "window": window, "window_includes_mismatch": includes}
    return Preset(label, source, settings)


# The rule and every knob that only verdicts depend on: what a recorded run can be judged again under.
RULE_KNOBS = ("rule", *dict.fromkeys(name for rule in LOOSE_RULES.values() for name in rule.knobs))

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
    "survival": {"draft_length": 20, "threshold": 0.3, "block_size": 1, "least_draft": 2},
}

# The two measures are not interchangeable, so switching the measure switches theta to a value made for it.
THETA_OF_MEASURE = {"normalized": PRESETS["explorer"].settings["theta"], "top3": PRESETS["released"].settings["theta"]}
