"""What cannot go together: one table, read by DecodeConfig, the engine, the command line, the page, links and sweeps.

A row is data (values by knob, all of which must hold), so that the page's JavaScript reads the same rows
(explorer/ui/web/twins/conflicts.js). Its sentence is `conflict.CODE` in explorer/messages, with the knobs of the row as
gaps. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from explorer.knobs import ABOVE_ZERO, Condition, has_value
from explorer.messages import Message
from explorer.verdicts import LOOSE_RULES

LAYER_POLICIES = (
    "pacer",
    "survival",
    "pacer-throughput",
)  # length policies that read the scores of a trained pre-verification layer
THRESHOLD_POLICIES = ("pacer", "confidence", "entropy", "adaedl", "survival")  # those with a threshold to set
MODEL_POLICIES = (*THRESHOLD_POLICIES, "throughput", "pacer-throughput")  # those that read what a draft model computes
VARYING_POLICIES = ("heuristic", *MODEL_POLICIES)
MODEL_DRAFTERS = ("model", "model+lookup", "model+phrases")  # those with a draft model

GREEDY_RULES = tuple(name for name, rule in LOOSE_RULES.items() if rule.greedy_only)
DIVERGENCE_RULES = tuple(name for name, rule in LOOSE_RULES.items() if "divergence" in rule.reads)
JUDGED_RULES = tuple(name for name, rule in LOOSE_RULES.items() if "harmless" in rule.reads)


@dataclass(frozen=True, slots=True)
class Offers:
    """What a pair brings beside a draft and a target. The default brings everything: no pair is chosen, or nobody knows yet."""

    pacer_layer: bool = True  # a trained pre-verification layer
    head: bool = True  # an EAGLE-3 head of the target
    judge_head: bool = True  # a judge head of the target
    one_vocabulary: bool = True  # draft and target share one tokenizer
    branches: bool = True  # the target takes several continuations in one pass
    draft_branches: bool = True  # the draft does


EVERYTHING = Offers()

Use = Literal["run", "sweep", "replay"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Settings that cannot go together."""

    code: str  # of its sentence, after "conflict."
    when: Condition  # the settings: each knob has one of these values
    lacks: str = ""  # field of Offers: a conflict only on a pair without it
    use: Use = "run"  # where it holds: a run (and so everywhere), or only in a sweep or a replay


CONFLICTS = (
    Conflict("empty_window", {"rule": ("fly",), "window": (0,), "window_includes_mismatch": (True,)}),
    Conflict("greedy_rule", {"rule": GREEDY_RULES, "temperature": ABOVE_ZERO}),
    # Prompt lookup and a head compute no distribution of a draft model.
    Conflict("lookup_length", {"drafter": ("lookup",), "length": MODEL_POLICIES}),
    Conflict("lookup_divergence", {"drafter": ("lookup",), "rule": DIVERGENCE_RULES}),
    Conflict("features_length", {"drafter": ("features",), "length": LAYER_POLICIES}),
    Conflict("features_divergence", {"drafter": ("features",), "rule": DIVERGENCE_RULES}),
    # A phrase would go on from a state that no pass has computed yet, and so would what PEARL drafts ahead.
    Conflict("features_phrases", {"drafter": ("features",), "phrases": ABOVE_ZERO}),
    Conflict("features_pearl", {"drafter": ("features",), "schedule": ("pearl",)}),
    Conflict("tree_length", {"drafter": ("features",), "tree": ABOVE_ZERO, "length": VARYING_POLICIES}),
    Conflict("tree_temperature", {"drafter": ("features",), "tree": ABOVE_ZERO, "temperature": ABOVE_ZERO}),
    Conflict("phrases_temperature", {"phrases": ABOVE_ZERO, "temperature": ABOVE_ZERO}),
    Conflict("phrases_divergence", {"phrases": ABOVE_ZERO, "rule": DIVERGENCE_RULES}),
    Conflict("phrase_drafter_temperature", {"drafter": ("model+phrases",), "temperature": ABOVE_ZERO}),
    Conflict("pearl_length", {"schedule": ("pearl",), "length": VARYING_POLICIES}),
    Conflict("pearl_phrases", {"schedule": ("pearl",), "phrases": ABOVE_ZERO}),
    Conflict("pearl_temperature", {"schedule": ("pearl",), "temperature": ABOVE_ZERO}),
    Conflict("pearl_rule", {"schedule": ("pearl",), "rule": tuple(LOOSE_RULES)}),
    # What a pair may lack.
    Conflict("no_pacer_layer", {"length": LAYER_POLICIES}, lacks="pacer_layer"),
    Conflict("no_head", {"drafter": ("features",)}, lacks="head"),
    Conflict("no_judge_head", {"rule": JUDGED_RULES}, lacks="judge_head"),
    Conflict(
        "cross_length", {"drafter": MODEL_DRAFTERS, "length": ("adaedl", *LAYER_POLICIES)}, lacks="one_vocabulary"
    ),
    Conflict("cross_divergence", {"drafter": MODEL_DRAFTERS, "rule": DIVERGENCE_RULES}, lacks="one_vocabulary"),
    Conflict("cross_phrases", {"drafter": ("model+phrases",)}, lacks="one_vocabulary"),
    Conflict("cross_pearl", {"drafter": MODEL_DRAFTERS, "schedule": ("pearl",)}, lacks="one_vocabulary"),
    Conflict("branches_phrases", {"phrases": ABOVE_ZERO}, lacks="branches"),
    Conflict("branches_tree", {"drafter": ("features",), "tree": ABOVE_ZERO}, lacks="branches"),
    Conflict("branches_phrase_drafter", {"drafter": ("model+phrases",)}, lacks="draft_branches"),
    # The points of a sweep share rounds, so none may be drawn or depend on earlier rounds.
    Conflict("sweep_temperature", {"temperature": ABOVE_ZERO}, use="sweep"),
    Conflict("sweep_phrases", {"phrases": ABOVE_ZERO}, use="sweep"),
    Conflict("sweep_phrase_drafter", {"drafter": ("model+phrases",)}, use="sweep"),
    Conflict("sweep_throughput", {"length": ("throughput", "pacer-throughput")}, use="sweep"),
    Conflict("sweep_pearl", {"schedule": ("pearl",)}, use="sweep"),
    Conflict("replay_rule", {"rule": ("autoregressive",)}, use="replay"),
)


def conflicts(settings: Any, offers: Offers = EVERYTHING, use: Use = "run") -> Iterator[Conflict]:
    """The rows that hold for the settings of a run on a pair; for a sweep or a replay those of any run and its own.

    In a run without drafts no setting of a draft has an effect, so none is in conflict.
    """
    for row in CONFLICTS:
        if settings.rule == "autoregressive" and row.use == "run":
            continue
        absent = not row.lacks or not getattr(offers, row.lacks)
        if row.use in ("run", use) and absent and all(has_value(settings, *one) for one in row.when.items()):
            yield row


def refusals(settings: Any, offers: Offers = EVERYTHING, use: Use = "run") -> list[Message]:
    """Why these settings cannot be used on a pair, a sentence for each row of the table that holds; empty where they can."""
    return [sentence(row, settings) for row in conflicts(settings, offers, use)]


def sentence(row: Conflict, settings: Any) -> Message:
    """Why the settings of a row cannot go together."""
    return Message(f"conflict.{row.code}", {knob: getattr(settings, knob) for knob in row.when})


def ruled_out(knob: str, use: Use) -> tuple[Any, ...]:
    """The values of a knob that a sweep or a replay never takes, whatever the other settings."""
    return tuple(value for row in CONFLICTS if row.use == use and [*row.when] == [knob] for value in row.when[knob])
