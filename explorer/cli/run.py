"""`python -m explorer run`: decode one prompt, its tokens marked by verdict, and print the figures."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from explorer.analysis.metrics import summarize
from explorer.cli import terminal
from explorer.cli.files import check_writable, read_text
from explorer.cli.options import (
    add_knob,
    add_layer,
    add_pair,
    add_switch,
    as_options,
    config_of,
    offers_of,
    without_effect,
)
from explorer.config import PRESETS, DecodeConfig, knobs
from explorer.prompts import check_prompt_text
from explorer.trace import Baseline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="what to answer, put into the target's chat template")
    prompt.add_argument("--prompt-file", metavar="F", type=Path, help="the same from a file of UTF-8 text")
    add_pair(parser)
    presets = "; ".join(f"{name}: {preset.source}" for name, preset in PRESETS.items())
    parser.add_argument(
        "--preset", choices=PRESETS, help=f"rule fly at a named point; single options override it. {presets}"
    )
    for knob in knobs():
        add_knob(parser, knob, base=DecodeConfig())
    add_layer(parser)
    add_switch(parser, "--baseline", "also decode plainly, with the target alone")
    add_switch(parser, "--rounds", "also print every round's verdicts, as replay does")
    parser.add_argument("--out", metavar="TRACE.json", type=Path, help="write the record of the run")
    add_switch(parser, "--quiet", "only the text, no summary")


def main(args: argparse.Namespace) -> int:
    """Decode a prompt: its text on stdout, notes and figures on stderr."""
    config = config_of(args, DecodeConfig().with_preset(args.preset) if args.preset else DecodeConfig())
    text = args.prompt if args.prompt is not None else read_text(args.prompt_file)
    check_prompt_text(text)
    check_writable(args.out)
    from explorer.engine.models.registry import default_pair

    name = args.pair or default_pair(args.device)
    config.check_with(offers_of(name, args))  # refused before the long imports, as is an unknown pair
    from explorer.engine.decode import decode
    from explorer.engine.load_pair import load_pair
    from explorer.engine.recorder import Recorder, plain

    def say(message: str) -> None:
        if not args.quiet:
            print(message, file=sys.stderr)

    for sentence in without_effect([name for name, value in vars(args).items() if value is not None], config):
        say(f"note: {sentence}")
    pair = load_pair(name, args.device, args.dtype, args.target_form, say)
    prompt = pair.encode(text, config.raw_prompt)
    if config.needs_layer:
        from explorer.engine.drafters.pacer.shipped import card_for, with_choice

        if args.pacer_layer:
            pair = pair.with_pacer_layer(args.pacer_layer)
        config = with_choice(config, pair.cards, vars(args))
        if (card := card_for(pair.cards, config.rule)) and (warning := card.warning(pair.fingerprints)):
            say(f"warning: {warning}")
    for note in (*config.notes, *pair.provenance().notes):
        say(f"note: {as_options(str(note))}")
    recorder = Recorder(pair, prompt, config)
    styles = terminal.styles_for(sys.stdout, os.environ)
    printer = terminal.Printer(pair.vocabulary, pair.stop_ids, styles, config.stop_strings)
    rounds = decode(pair, list(prompt.ids), config)
    try:
        for round_ in rounds:
            recorder.add(round_)
            print(printer.text(round_), end="", flush=True)
    except KeyboardInterrupt:  # keep what is there: the trace is marked partial
        rounds.close()
    baseline = None
    if args.baseline and recorder.ended:
        try:
            baseline = Baseline.of(decode(pair, list(prompt.ids), plain(config)))
        except KeyboardInterrupt:  # the run itself is complete
            say("plain greedy was stopped: the record is without it")
    trace = recorder.trace(baseline)
    print(printer.rest(trace.stop.reason == "stop_string"), flush=True)
    if args.out:
        trace.save(args.out)
    if printer.key:
        say(printer.key)
    if args.rounds:
        say("\n" + "\n".join(terminal.round_lines(trace)))
    say("\n" + terminal.summary_text(summarize(trace), trace))
    return 0
