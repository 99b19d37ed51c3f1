"""DecodeConfig: every knob of a run once, with its range, default, unit and help text.

The command line, the page and the link all read this one table, so a knob added here appears in each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from explorer.errors import UserError
from explorer.verdicts import LOOSE_RULES, Rule

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

    @property
    def range_text(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        if self.kind is tuple:
            return "a list of texts"
        return f"{'a whole number' if self.kind is int else 'a number'} from {self.low:g} to {self.high:g}"

    def check(self, value: Any) -> None:
        """Raise ConfigError unless value has this knob's type and lies in its range (NaN never does)."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        good = {
            bool: lambda: isinstance(value, bool),
            str: lambda: value in self.choices,
            int: lambda: number and isinstance(value, int) and self.low <= value <= self.high,
            float: lambda: number and self.low <= value <= self.high,
            tuple: lambda: isinstance(value, tuple) and all(isinstance(item, str) and item for item in value),
        }[self.kind]()
        if not good:
            raise ConfigError(f"{self.label} must be {self.range_text}, got {repr(value)[:60]}")


def _knob(kind: type, default: Any, label: str, help: str, **limits: Any) -> Any:
    return field(default=default, metadata={"kind": kind, "label": label, "help": help, **limits})


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    """The settings of one run. Frozen and checked: a DecodeConfig that exists is valid."""

    rule: str = _knob(
        str, "fly", "Rule",
        "How the target verifies: alone, exact match, or a loose rule. fly: keeps a mismatch where the target is unsure and the draft "
        "goes on well. Greedy only: typical (Medusa): where the target finds the token likely enough; topk: among its k likeliest; "
        "margin (as MARS): its close runner-up; kl: where draft and target think alike.",
        choices=get_args(Rule),
    )  # fmt: skip
    theta: float = _knob(
        float, 0.05, "Theta", "A mismatch may be deferred where the target's entropy is at least this.",
        low=0.0, high=1.2, step=0.005,
    )  # fmt: skip
    window: int = _knob(
        int, 3, "Window W", "How many draft tokens after a deferred mismatch must all match.", low=0, high=32, step=1
    )
    entropy: str = _knob(
        str, "normalized", "Entropy measure",
        "normalized: full vocabulary, divided by ln V (0 to 1). top3: partial sum over the three likeliest tokens, in nats (0 to 1.099).",
        choices=ENTROPY_MEASURES,
    )  # fmt: skip
    window_includes_mismatch: bool = _knob(
        bool, False, "Window includes the mismatch", "The released code's counting: W - 1 tokens must follow, not W."
    )
    typical_epsilon: float = _knob(
        float, 0.09, "Typical epsilon", "typical: a mismatch is kept above this probability, whatever the entropy.",
        low=0.0, high=1.0, step=0.01,
    )  # fmt: skip
    typical_delta: float = _knob(
        float, 0.3, "Typical delta", "typical: or above this times exp(-entropy in nats), where that is less.",
        low=0.0, high=1.0, step=0.01,
    )  # fmt: skip
    top_k: int = _knob(
        int, 2, "Top k", "topk: a mismatch is kept among the target's k likeliest tokens; 1 keeps none.", low=1, high=8, step=1
    )  # fmt: skip
    margin: float = _knob(
        float, 1.0, "Margin", "margin: the target's second choice is kept at most this many nats behind its first.",
        low=0.0, high=10.0, step=0.05,
    )  # fmt: skip
    kl_limit: float = _knob(
        float, 0.3, "KL limit", "kl: a mismatch is kept where KL(target || draft) is below this, in nats.",
        low=0.0, high=10.0, step=0.05,
    )  # fmt: skip
    kl_confidence: float = _knob(
        float, 0.9, "KL confidence", "kl: nothing is kept where the target's likeliest token is more probable than this.",
        low=0.0, high=1.0, step=0.01,
    )  # fmt: skip
    drafter: str = _knob(
        str,
        "model",
        "Drafter",
        "Where drafted tokens come from: the draft model, prompt lookup alone, the draft model accelerated by lookup or by phrases "
        "that it makes itself (Ouroboros), or a head fed with the target's own states (EAGLE-3, a chain or a tree).",
        choices=("model", "lookup", "model+lookup", "model+phrases", "features"),
    )
    length: str = _knob(
        str,
        "fixed",
        "Length policy",
        "When drafting stops. fixed: after K tokens. pacer: when a block's predicted acceptance is below its threshold. "
        "confidence: after a token of low probability. entropy: after a token of high entropy. heuristic: K of the last round, "
        "plus 2 if all of it was kept, else minus 1. adaedl: after a token whose entropy bounds its acceptance below a threshold "
        "that follows the rounds. survival: when PACER's layer finds it likely that a token drafted so far is refused.",
        choices=("fixed", "pacer", "confidence", "entropy", "heuristic", "adaedl", "survival"),
    )
    draft_length: int = _knob(int, 8, "Draft length K", "Tokens drafted per round, at most.", low=1, high=64, step=1)
    block_size: int = _knob(
        int, 4, "Block size b", "PACER and survival: tokens drafted between two decisions.", low=1, high=16, step=1
    )
    threshold: float = _knob(
        float, 0.5, "Threshold t",
        "pacer: predicted acceptance that the first block needs. confidence: least probability of a token to go on. "
        "entropy: largest sqrt(0.15 * entropy in nats) of a token to go on. adaedl: least acceptance to go on, at first. "
        "survival: largest chance to go on that a token so far is refused.",
        low=0.0, high=1.0, step=0.01,
    )  # fmt: skip
    growth: float = _knob(
        float, 1.05, "Growth rho", "PACER: every passing block multiplies the threshold by this; 1 keeps it.",
        low=1.0, high=2.0, step=0.01,
    )  # fmt: skip
    statistic: str = _knob(
        str, "mean", "Block statistic", "PACER: what of a block's scores is compared with the threshold.",
        choices=("mean", "min", "product"),
    )  # fmt: skip
    least_draft: int = _knob(
        int, 0, "Least draft length",
        "PACER and survival: drafts are not ended before this many tokens. FLy can defer nothing in a draft of W tokens or fewer.",
        low=0, high=64, step=1,
    )  # fmt: skip
    phrases: int = _knob(
        int, 0, "Candidate phrases",
        "Ouroboros (suffixes): phrases from a pool that are tried behind the draft, all in the same target pass; 0 tries none.",
        low=0, high=8, step=1,
    )  # fmt: skip
    phrase_length: int = _knob(
        int, 6, "Phrase length", "Ouroboros (suffixes): tokens of a phrase, at most.", low=1, high=16, step=1
    )
    phrase_window: int = _knob(
        int, 5, "Phrases made at once",
        "Drafter model+phrases: how many new phrases each draft forward works on, and how many known ones it tries.",
        low=1, high=20, step=1,
    )  # fmt: skip
    tree: int = _knob(
        int, 0, "Tree nodes N",
        "Drafter features: the likeliest tokens of a tree of continuations, all verified in one pass, as in EAGLE-2; K levels deep at "
        "most. 0 drafts a chain; 8 suit a CPU, the paper has 60.",
        low=0, high=64, step=1,
    )  # fmt: skip
    tree_width: int = _knob(
        int, 4, "Tree width k",
        "Drafter features, trees: continuations of a node that are considered, and nodes of a level that get any.",
        low=1, high=16, step=1,
    )  # fmt: skip
    schedule: str = _knob(
        str, "serial", "Schedule",
        "serial: draft, then verify. pearl: the draft goes on while the target verifies (PEARL); run one after the other here, "
        "the time of both at once is modelled.",
        choices=("serial", "pearl"),
    )  # fmt: skip
    max_new_tokens: int = _knob(
        int, 128, "Budget", "Most tokens to generate; the text ends there.", low=1, high=4096, step=1
    )
    temperature: float = _knob(
        float, 0.0, "Temperature", "0 is greedy. Above 0 both models sample.", low=0.0, high=2.0, step=0.05
    )
    seed: int = _knob(int, 0, "Seed", "Random seed; used only above temperature 0.", low=0, high=2**31 - 1, step=1)
    raw_prompt: bool = _knob(bool, False, "Raw prompt", "Feed the text as it is, without the target's chat template.")
    stop_strings: tuple[str, ...] = _knob(tuple, (), "Stop strings", "The text ends before the first of these.")

    def __post_init__(self) -> None:
        for knob in knobs():
            knob.check(getattr(self, knob.name))
        if self.window == 0 and self.window_includes_mismatch:
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
        if self.rule not in ("exact", "autoregressive"):
            raise ConfigError(
                "Schedule pearl verifies by the rule exact alone: choose the rule exact, or the schedule serial"
            )

    @property
    def needs_layer(self) -> bool:
        """Whether the length policy reads the scores of a trained pre-verification layer."""
        return self.length in ("pacer", "survival")

    @property
    def drafts_trees(self) -> bool:
        """Whether a round drafts several continuations at once, of which the target's pass chooses one."""
        return self.drafter == "features" and self.tree > 0 and self.rule != "autoregressive"

    @property
    def theta_is_never(self) -> bool:
        """True where no entropy can reach theta, so that FLy keeps what the exact rule keeps."""
        return self.theta > ENTROPY_MAXIMUM[self.entropy]

    @property
    def notes(self) -> tuple[str, ...]:
        """Allowed settings that do not do what one may expect, in words for a person."""
        notes = []
        if self.rule == "fly" and self.window >= self.draft_length:
            notes.append(
                f"W = {self.window} does not fit in a draft of {self.draft_length}: nothing can be deferred, FLy equals the exact rule."
            )
        if self.rule == "fly" and self.theta_is_never:
            notes.append("Theta is above the largest possible entropy: no mismatch is ever deferred.")
        if self.tree and self.drafter != "features":
            notes.append("Only the drafter features drafts trees: Tree nodes N is not used.")
        if self.rule == "topk" and self.top_k == 1:
            notes.append("The target's likeliest token alone: topk with k = 1 equals the exact rule.")
        return tuple(notes)

    def with_preset(self, name: str) -> DecodeConfig:
        """The same run under the named preset of the loose rule (PRESETS)."""
        return replace(self, rule="fly", **PRESETS[name].settings)


def knobs() -> tuple[Knob, ...]:
    """The table of all knobs, in the order of the fields."""
    return _KNOBS


_KNOBS = tuple(Knob(name=f.name, default=f.default, **f.metadata) for f in fields(DecodeConfig))


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
        "Explorer", "our default for small pairs, until the sweep decides", "normalized", 0.05, 3, False
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
