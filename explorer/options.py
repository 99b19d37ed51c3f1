"""Options of the command line that several commands share: pairs, knobs, and readers of numbers whose errors name the range."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from explorer.config import POLICY_DEFAULTS, THETA_OF_MEASURE, DecodeConfig, Knob, knobs


class Parser(argparse.ArgumentParser):
    """One line per mistake, no usage block; option names are never guessed from a prefix."""

    def __init__(self, **options: Any):
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_pair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pair",
        metavar="P",
        help="a name of `explorer pairs`, or TARGET,DRAFT: hub ids or local folders; DRAFT may be an EAGLE-3 head of the target; "
        "TARGET,DRAFT,cross-tokenizer for two vocabularies",
    )
    parser.add_argument(
        "--device",
        metavar="D",
        help="default: cuda if present, else cpu; auto spreads a large target over all GPUs, memory and disk",
    )
    parser.add_argument(
        "--dtype",
        metavar="T",
        help="default: bfloat16 on cuda; on a cpu packed float32 with a quantized draft; float32 is the plain oracle",
    )


def add_layer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pacer-layer",
        metavar="FOLDER",
        type=Path,
        help="a layer trained by `explorer pacer` (default: what ships for the pair)",
    )


def add_knob(parser: argparse.ArgumentParser, knob: Knob) -> None:
    """The option of one knob. No default here: what was not given keeps the value it would have had."""
    flag = "--stop" if knob.kind is tuple else f"--{knob.name.replace('_', '-')}"
    options: dict[str, Any] = {
        "dest": knob.name,
        "default": argparse.SUPPRESS,
        "help": knob.full_help.replace("%", "%%"),
    }
    if knob.kind is bool:
        parser.add_argument(flag, action="store_true", **options)
    elif knob.kind is tuple:
        parser.add_argument(flag, action="append", metavar="TEXT", **options)
    elif knob.choices:
        parser.add_argument(flag, choices=knob.choices, **options)
    else:
        parser.add_argument(flag, type=number(knob), metavar="N" if knob.kind is int else "X", **options)


def number(knob: Knob) -> Callable[[str], float]:
    """A reader of the knob's numbers whose error names the range."""

    def read(text: str) -> float:
        try:
            value = knob.kind(text)
            knob.check(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {knob.range_text}, got {text!r}") from None
        return value

    return read


def numbers(knob: Knob) -> Callable[[str], list[float]]:
    """A reader of several of the knob's numbers, separated by commas."""
    return lambda text: [number(knob)(part.strip()) for part in text.split(",")]


def nats(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number from 0, got {text!r}")
    return value


def whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, got {text!r}")
    return int(text)


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)


def config_of(args: argparse.Namespace, base: DecodeConfig) -> DecodeConfig:
    """`base` with the options that were given; a measure brings its own theta, a length policy its own thresholds."""
    given = {knob.name: getattr(args, knob.name) for knob in knobs() if hasattr(args, knob.name)}
    if "stop_strings" in given:
        given["stop_strings"] = tuple(given["stop_strings"])
    if given.get("entropy", base.entropy) != base.entropy and "theta" not in given:
        given["theta"] = THETA_OF_MEASURE[given["entropy"]]
    if given.get("length", base.length) != base.length:
        given = POLICY_DEFAULTS[given["length"]] | given
    return replace(base, **given)


def shards(text: str) -> range:
    """START:STOP of files of data, by their numbers."""
    start, stop = text.split(":")
    return range(int(start), int(stop))
