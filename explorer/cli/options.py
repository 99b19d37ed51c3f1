"""Options of the command line that several commands share: pairs, knobs, and readers of values whose errors name the range.

What the command line says of a knob (range, unit, default, when it has an effect) is made here from the table of knobs.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from explorer.config import DTYPES, POLICY_DEFAULTS, THETA_OF_MEASURE, DecodeConfig, Knob, knobs
from explorer.conflicts import LAYER_POLICIES, Offers

DEVICES = ("cpu", "cuda", "auto")
PAIR_HELP = "a name that `python -m explorer pairs` lists, or TARGET,DRAFT"
DEVICE_HELP = "default: cuda if present, else cpu"


class Parser(argparse.ArgumentParser):
    """One line per mistake, no usage block; option names are never guessed from a prefix."""

    def __init__(self, **options: Any):
        super().__init__(**options, allow_abbrev=False)

    def parse_known_args(self, *arguments: Any, **options: Any) -> tuple[argparse.Namespace, list[str]]:
        """What a command does not know is its own to refuse: its help lists what there is."""
        args, unknown = super().parse_known_args(*arguments, **options)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)[:200]}")
        return args, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_pair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pair",
        metavar="P",
        type=named,
        help=f"{PAIR_HELP}: hub ids or local folders; DRAFT may be an EAGLE-3 head of the target; "
        "TARGET,DRAFT,cross-tokenizer for two vocabularies (default: the default pair of this machine)",
    )
    parser.add_argument(
        "--device",
        metavar="D",
        type=device,
        help=f"{DEVICE_HELP}; auto spreads a large target over all GPUs, memory and disk",
    )
    parser.add_argument(
        "--dtype",
        metavar="T",
        type=dtype,
        help=f"one of {', '.join(DTYPES)}: transformers' own modules; default: bfloat16 on cuda; on a cpu what --target-form says",
    )
    parser.add_argument(
        "--target-form",
        choices=("float32", "int8", "int4"),
        help="of the target on a cpu: float32 for reference; int8, exact to the bit and fast with several rows; int4, the levels of a "
        "4-bit GGUF (default: what the pair names, int8 for one that is named here)",
    )


def offers_of(name: str, args: argparse.Namespace) -> Offers:
    """What the pair of that name offers, as far as it is known before it is loaded; raises UnknownPair."""
    from explorer.engine.models.registry import find_pair

    offers = find_pair(name).offers
    return replace(offers, pacer_layer=True) if args.pacer_layer else offers


def add_layer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pacer-layer",
        metavar="FOLDER",
        type=Path,
        help=f"a layer trained by `python -m explorer pacer` [only with --length {listed(LAYER_POLICIES)}; default: what ships for the pair]",
    )


def add_collecting(
    parser: argparse.ArgumentParser,
    *,
    files: int,
    rows: int,
    of: str,
    tokens: int,
    seed: int,
    exclude: Collection[Path],
) -> None:
    """The options of a step that collects data in numbered files. files, rows (`of` what, in a file), tokens and seed: defaults;
    exclude: files of prompts to keep away from."""
    named_files = ", ".join(path.name for path in exclude)
    parser.add_argument(
        "--shards",
        type=shards,
        default=range(files),
        metavar="START:STOP",
        help=f"numbers of the files (default: 0:{files})",
    )
    parser.add_argument("--rows", type=count, default=rows, metavar="N", help=f"{of} per shard (default: %(default)s)")
    parser.add_argument(
        "--max-new-tokens", type=knob_number("max_new_tokens"), default=tokens, metavar="N",
        help="tokens of an answer, at most (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=knob_number("seed"), default=seed, metavar="N", help="of the prompts (default: %(default)s)"
    )
    parser.add_argument(
        "--exclude", type=Path, nargs="*", default=list(exclude), metavar="F",
        help=f'JSON lines with a "prompt": prompts close to these are dropped (default: {named_files} of the examples)',
    )  # fmt: skip


def add_knob(
    parser: argparse.ArgumentParser, knob: Knob, never: Collection[str] = (), base: DecodeConfig | None = None
) -> None:
    """The option of one knob. never: choices of it that the command does not take; base: where its defaults come from, None for a
    record that is not read yet.

    The parser gets no default: what was not given keeps the value it would have had.
    """
    choices = tuple(choice for choice in knob.choices if choice not in never)
    options: dict[str, Any] = {
        "dest": knob.name,
        "default": argparse.SUPPRESS,
        "help": f"{_help(knob, choices)} [{'; '.join(_facts(knob, base))}]".replace("%", "%%"),
    }
    if knob.kind is bool:
        parser.add_argument(flag(knob.name), action=Switch, **options)
    elif knob.kind is tuple:
        parser.add_argument(flag(knob.name), action="append", type=stop_text, metavar="TEXT", **options)
    elif choices:
        parser.add_argument(flag(knob.name), choices=choices, **options)
    else:
        parser.add_argument(flag(knob.name), type=number(knob), metavar="N" if knob.kind is int else "X", **options)


def add_switch(parser: argparse.ArgumentParser, option: str, help: str, on: bool = False) -> None:
    """An option with its opposite, --no-...; on: what holds without either."""
    help += f" (default: {'on' if on else 'off'})"
    parser.add_argument(option, action=Switch, default=on, help=help)


class Switch(argparse.BooleanOptionalAction):
    """An option with its opposite, whose help stays as it is given."""

    def __init__(self, option_strings: list[str], dest: str, *, help: str, **options: Any):
        super().__init__(option_strings, dest, **options)
        self.help = help


def flag(name: str) -> str:
    """The option of a knob."""
    return "--stop" if name == "stop_strings" else f"--{name.replace('_', '-')}"


def _help(knob: Knob, choices: Collection[str]) -> str:
    lines = (
        f"{choice}: {line}" for choice, line in knob.choice_help.items() if knob.choice_help_of or choice in choices
    )
    return " ".join([knob.help, *lines])


def _facts(knob: Knob, base: DecodeConfig | None) -> list[str]:
    """When a knob has an effect, its range with the unit, its default."""
    needs = [
        need for need in knob.relevant_when if "rule" not in need or len(knob.relevant_when) == 1
    ]  # that there is a draft goes without saying
    facts = [f"only with {' and '.join(map(need_text, needs))}"] if needs else []
    if not knob.choices and knob.kind in (int, float):
        facts.append(f"{knob.range_text}{f' {knob.unit}' if knob.unit else ''}")
    if knob.kind is tuple:
        return [*facts, "may be repeated", "default: none"]
    return [*facts, f"default: {', '.join(_defaults(knob, base))}"]


def _defaults(knob: Knob, base: DecodeConfig | None) -> list[str]:
    if base is None:
        return ["as recorded"]
    value = getattr(base, knob.name)
    if knob.kind is bool:
        return ["on" if value else "off"]
    others = [
        (name, settings[knob.name], "length") for name, settings in POLICY_DEFAULTS.items() if knob.name in settings
    ]
    if knob.name == "theta":
        others += [(measure, theta, "entropy") for measure, theta in THETA_OF_MEASURE.items()]
    shown = f"{value:g}" if knob.kind is float else f"{value}"
    return [shown, *(f"{other} with {flag(by)} {name}" for name, other, by in others if other != value)]


def need_text(need: Mapping[str, tuple[str, ...]]) -> str:
    """One need of a knob in options: `--drafter features`, or `--tree above 0`."""
    parts = []
    for name, choices in need.items():
        others = [choice for choice in _BY_NAME[name].choices if choice not in choices]
        if choices and len(others) == 1:
            parts.append(f"a {flag(name)} other than {others[0]}")
        else:
            parts.append(f"{flag(name)} {listed(choices) if choices else 'above 0'}")
    return " or ".join(parts)


def listed(choices: Collection[str]) -> str:
    """`a, b or c`."""
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last


def without_effect(given: Collection[str], config: DecodeConfig) -> list[str]:
    """A sentence for each option that was given for nothing. given: names of knobs, and of other options of the command."""
    found = []
    for knob in knobs():
        if knob.name in given and (need := knob.unmet(config)):
            found.append(f"{flag(knob.name)} has no effect here: it needs {need_text(need)}")
    if "pacer_layer" in given and not config.needs_layer:
        found.append(f"--pacer-layer has no effect here: it needs {need_text({'length': LAYER_POLICIES})}")
    if "preset" in given and config.rule != "fly":
        found.append("--preset has no effect here: it needs --rule fly")
    return found


def as_options(message: str) -> str:
    """A refusal or a note with knobs by their options, where it has the page's labels."""
    for knob in sorted(knobs(), key=lambda knob: -len(knob.label)):
        message = re.sub(rf"(?<![\w-]){re.escape(knob.label)}(?!\w)", flag(knob.name), message)
    return message


_BY_NAME = {knob.name: knob for knob in knobs()}


# Readers of values ----------------------------------------------------------------------------------------------------


def number(knob: Knob) -> Callable[[str], float]:
    """A reader of the knob's numbers whose error names the range."""

    def read(text: str) -> float:
        try:
            value = knob.kind(text)
            knob.check(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {knob.range_text}, got {text[:60]!r}") from None
        return value

    return read


def knob_named(name: str) -> Knob:
    """The knob of that name."""
    return _BY_NAME[name]


def knob_number(name: str) -> Callable[[str], float]:
    """A reader of the numbers of the knob of that name."""
    return number(_BY_NAME[name])


def numbers(knob: Knob) -> Callable[[str], list[float]]:
    """A reader of several of the knob's numbers, separated by commas."""
    return lambda text: [number(knob)(part.strip()) for part in text.split(",")]


def within(kind: type, low: float, high: float = math.inf, above: bool = False) -> Callable[[str], float]:
    """A reader of numbers from low to high, both allowed; above: low itself is not."""
    words = f"{'above' if above else 'from'} {low:g}" + (f" to {high:g}" if high < math.inf else "")

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high or value == math.inf or (above and value == low):
            a_number = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"must be {a_number} {words}, got {text[:60]!r}")
        return value

    return read


nats = within(float, 0)
whole = within(int, 0)
count = within(int, 1)


def named(text: str) -> str:
    """A text that names something."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def stop_text(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("a stop string must not be empty")
    return text


def device(text: str) -> str:
    """A device by torch's name, checked as far as that goes without torch."""
    if text not in DEVICES and not re.fullmatch(r"cuda:\d{1,3}", text):
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(DEVICES)}, or like cuda:1, got {text[:60]!r}")
    return text


def dtype(text: str) -> str:
    if text not in DTYPES:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(DTYPES)}, got {text[:60]!r}")
    return text


def shards(text: str) -> range:
    """START:STOP of files of data, by their numbers."""
    start, _, stop = text.partition(":")
    if not (start.isdecimal() and stop.isdecimal() and int(start) < int(stop)):
        raise argparse.ArgumentTypeError(
            f"must be START:STOP, the first number and the one behind the last, got {text[:60]!r}"
        )
    return range(int(start), int(stop))


def config_of(args: argparse.Namespace, base: DecodeConfig) -> DecodeConfig:
    """`base` with the options that were given; a measure brings its own theta, a length policy its own thresholds."""
    given = {name: getattr(args, name) for name in given_knobs(args)}
    if "stop_strings" in given:
        given["stop_strings"] = tuple(given["stop_strings"])
    if given.get("entropy", base.entropy) != base.entropy and "theta" not in given:
        given["theta"] = THETA_OF_MEASURE[given["entropy"]]
    if given.get("length", base.length) != base.length:
        given = POLICY_DEFAULTS[given["length"]] | given
    return replace(base, **given)


def given_knobs(args: argparse.Namespace) -> list[str]:
    """The knobs that were named on the command line."""
    return [knob.name for knob in knobs() if hasattr(args, knob.name)]
