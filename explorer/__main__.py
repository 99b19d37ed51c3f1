"""The command line: `python -m explorer COMMAND`. Exit code 0, 2 for bad arguments or input, 1 for a failure."""

from __future__ import annotations

import signal

if __name__ == "__main__":  # until main() stands ready, Ctrl-C ends the program without a word
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import io
import os
import sys
from dataclasses import replace
from pathlib import Path

from explorer import cases
from explorer.analysis.differences import table as differences_table
from explorer.analysis.loosened import loosened, loosened_table
from explorer.analysis.metrics import summarize
from explorer.analysis.replay import first_change, replay, spans
from explorer.cli import distill, pacer, terminal
from explorer.cli import judge_head as judging
from explorer.cli.options import (
    Parser,
    add_knob,
    add_layer,
    add_pair,
    as_options,
    config_of,
    count,
    given_knobs,
    knob_number,
    named,
    nats,
    numbers,
    whole,
    without_effect,
)
from explorer.config import PRESETS, RULE_KNOBS, ConfigError, DecodeConfig, knobs
from explorer.errors import UserError, is_out_of_memory, not_installed
from explorer.files import write_whole
from explorer.pieces import text_of
from explorer.prompts import HELD_OUT, check_prompt_text, read_prompts
from explorer.trace import Baseline, Trace
from explorer.verdicts import LOOSE_RULES

# Knobs of `sweep` that all its points share.
SWEPT_ALIKE = ("entropy", "window_includes_mismatch", "drafter", "length", "block_size", "threshold", "growth", "statistic",
               "least_draft", "tree", "tree_width", "max_new_tokens", "stop_strings", "raw_prompt")  # fmt: skip
SWEPT_DRAFTERS = ("model", "lookup", "model+lookup", "features")  # those whose rounds do not depend on earlier ones
JUDGED_AGAIN = ("exact", *LOOSE_RULES)
SWEPT = replace(DecodeConfig(), max_new_tokens=64)


OUT_OF_MEMORY = (
    "not enough memory: lower --max-new-tokens or --draft-length, shorten the prompt, or take a smaller pair"
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; user errors become one line on stderr."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("stdout", "stderr"):  # closed by who started the program: nothing is shown, the work is done
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open as long as the program is)
    args = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a narrow terminal shows what it can instead of failing
        sys.stdout.reconfigure(errors="replace")
    try:
        code = args.command(args)
        sys.stdout.flush()  # a full disk is told here, not while the program ends
        return code
    except BrokenPipeError:  # the reader of a pipe has had enough
        _write_no_more()
        return 0
    except ConfigError as error:
        return _refuse(as_options(str(error)))
    except UserError as error:
        return _refuse(str(error))
    except ModuleNotFoundError as error:
        return _refuse(not_installed(error))
    except OSError as error:
        if error.filename is None:
            _write_no_more()
        return _refuse(f"{error.filename or 'standard input or output'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return 130
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _refuse(OUT_OF_MEMORY)
        return 1


def _refuse(message: str) -> int:
    print(f"explorer: {message}", file=sys.stderr)
    return 2


def _write_no_more() -> None:
    """Nothing more may go to stdout, not even what is held back until the program ends."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m explorer", description="See speculative decoding: run, judge, replay and compare.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    run = commands.add_parser("run", help="decode one prompt, its tokens marked by verdict, and tell the figures")
    prompt = run.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="what to answer, put into the target's chat template")
    prompt.add_argument("--prompt-file", metavar="F", type=Path, help="the same from a file of UTF-8 text")
    add_pair(run)
    presets = "; ".join(f"{name}: {preset.source}" for name, preset in PRESETS.items())
    run.add_argument(
        "--preset", choices=PRESETS, help=f"rule fly at a named point; single options override it. {presets}"
    )
    for knob in knobs():
        add_knob(run, knob, base=DecodeConfig())
    add_layer(run)
    run.add_argument("--baseline", action="store_true", help="also decode plainly, with the target alone")
    run.add_argument("--rounds", action="store_true", help="also print every round's verdicts, as replay does")
    run.add_argument("--out", metavar="TRACE.json", type=Path, help="write the record of the run")
    run.add_argument("--quiet", action="store_true", help="only the text, no summary")
    run.set_defaults(command=_run)

    judge = commands.add_parser("judge", help="judge drafts given as JSON lines", epilog=cases.FIELDS)
    judge.add_argument(
        "file", metavar="FILE", nargs="?", default="-",
        help="JSON lines, like examples/drafts.jsonl; - or nothing reads stdin",
    )  # fmt: skip
    judge.set_defaults(command=_judge)

    again = commands.add_parser("replay", help="what changes in a recorded run under other thresholds, round by round")
    again.add_argument("trace", metavar="TRACE.json", type=Path, help="as `run --out` or the page writes it")
    for knob in knobs():
        if knob.name in RULE_KNOBS:
            add_knob(again, knob, JUDGED_AGAIN if knob.name == "rule" else ())
    again.set_defaults(command=_replay)

    deferred = commands.add_parser(
        "deferred", help="the tokens that a loose rule kept in recorded runs, in context, to judge by eye"
    )
    deferred.add_argument(
        "traces", metavar="TRACE.json", type=Path, nargs="+", help="recorded runs, like examples/runs/*"
    )
    deferred.set_defaults(command=_deferred)

    counted = commands.add_parser(
        "differences", help="what the differences between FLy's paper and its code amount to in recorded runs"
    )
    counted.add_argument(
        "traces", metavar="TRACE.json", type=Path, nargs="+", help="recorded runs, like examples/runs/*"
    )
    counted.set_defaults(command=_differences)

    export = commands.add_parser("export", help="a recorded run as one page that needs no server, or as a table")
    export.add_argument("trace", metavar="TRACE.json", type=Path, help="as `run --out` or the page writes it")
    export.add_argument(
        "--html", metavar="F.html", type=Path, help="write a page: strip, lanes and what-if, opened from a file"
    )
    export.add_argument("--csv", metavar="F.csv", type=Path, help="write one row per round")
    export.set_defaults(command=_export)

    pairs = commands.add_parser("pairs", help="known pairs, whether their weights are here, sizes")
    pairs.set_defaults(command=_pairs)

    bench = commands.add_parser("bench", help="this engine beside transformers' own, one run")
    add_pair(bench)
    bench.add_argument(
        "--prompts",
        metavar="F",
        type=Path,
        default=HELD_OUT,
        help="JSON lines with a prompt each (default: the held-out prompts)",
    )
    bench.add_argument("--limit", metavar="N", type=count, help="only the first N prompts")
    bench.add_argument(
        "--rows", metavar="TEXT", action="append", type=named,
        help="only plain greedy and rows whose name holds this; may be repeated (default: all rows, which takes long)",
    )  # fmt: skip
    bench.add_argument(
        "--row", metavar="TEXT", action="append", default=[],
        help="one more row beside those of --rows, like 'exact length=pacer threshold=0.6 drafter=model+lookup'; may be repeated",
    )  # fmt: skip
    add_layer(bench)
    bench.add_argument("--passes", metavar="N", type=count, default=3, help="times all prompts are run (default: 3)")
    bench.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=knob_number("max_new_tokens"),
        default=64,
        help="tokens per prompt (default: 64)",
    )
    bench.add_argument(
        "--draft-length",
        metavar="K",
        type=knob_number("draft_length"),
        action="append",
        help="drafted tokens per round (default: 8); may be repeated",
    )
    bench.add_argument(
        "--synthetic",
        metavar="SHAPE",
        help="instead: forward times of random weights of TARGET+DRAFT, like 7b+0.5b, or sizes like 896x24x14x2x4864+576x2x9x3",
    )
    bench.add_argument(
        "--trace",
        metavar="TRACE.json",
        type=Path,
        action="append",
        help="with --synthetic: a recorded run whose acceptance is modelled (default: those in examples/runs); may be repeated",
    )
    bench.add_argument("--out", metavar="F.json", type=Path, help="also write the figures as JSON")
    bench.set_defaults(command=_bench)

    checking = commands.add_parser(
        "gpu-check", help="the CUDA path against the CPU's, and graphs against eager: one report"
    )
    checking.add_argument("--prompts", metavar="N", type=count, default=3, help="of the examples (default: 3)")
    checking.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=knob_number("max_new_tokens"),
        default=64,
        help="tokens per run (default: 64)",
    )
    checking.add_argument(
        "--synthetic", metavar="SHAPE", help="as of bench (default: 7b+0.5b; without a GPU small models)"
    )
    checking.add_argument("--run", metavar="TRACE.json", type=Path, help="write a run recorded on the GPU")
    checking.add_argument("--out", metavar="F.md", type=Path, help="also write the report")
    checking.set_defaults(command=_gpu_check)

    sweep = commands.add_parser(
        "sweep", help="theta x W over a set of prompts: speed against fidelity, and the point to choose"
    )
    add_pair(sweep)
    sweep.add_argument(
        "--prompts", metavar="F", type=Path, required=True,
        help='JSON lines: "prompt", and where it can be checked "answer" and how ("check"), like examples/checkable.jsonl',
    )  # fmt: skip
    sweep.add_argument("--limit", metavar="N", type=count, help="only the first N prompts")
    for name, knob_name in (("thetas", "theta"), ("windows", "window"), ("draft_lengths", "draft_length")):
        knob = next(knob for knob in knobs() if knob.name == knob_name)
        sweep.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="A,B,..",
            type=numbers(knob),
            required=name != "draft_lengths",
            help=f"{knob.help} [each {knob.range_text}{f' {knob.unit}' if knob.unit else ''}]",
        )
    for knob in knobs():
        if knob.name in SWEPT_ALIKE:
            add_knob(sweep, knob, SWEPT_DRAFTERS if knob.name == "drafter" else (), base=SWEPT)
    add_layer(sweep)
    sweep.add_argument(
        "--limit-nats",
        metavar="X",
        type=nats,
        default=0.10,
        help="choose a point at most this far below plain greedy in mean target log-probability per token (default: 0.1)",
    )
    sweep.add_argument(
        "--limit-lost",
        metavar="N",
        type=whole,
        default=0,
        help="choose a point that loses at most so many right answers (default: 0)",
    )
    sweep.add_argument("--out", metavar="F.csv", type=Path, required=True, help="the points; everything goes to F.json")
    sweep.set_defaults(command=_sweep)

    distilling = commands.add_parser("distill", help="make the draft of the embedded pair")
    distill.add_arguments(distilling)
    distilling.set_defaults(command=distill.main)

    pacing = commands.add_parser("pacer", help="collect for, train and evaluate PACER's pre-verification layer")
    pacer.add_arguments(pacing)
    pacing.set_defaults(command=pacer.main)

    heading = commands.add_parser(
        "judge-head", help="collect labels for, train and evaluate the judge head of a target"
    )
    judging.add_arguments(heading)
    heading.set_defaults(command=judging.main)

    return parser


def _run(args: argparse.Namespace) -> int:
    config = config_of(args, DecodeConfig().with_preset(args.preset) if args.preset else DecodeConfig())
    text = args.prompt if args.prompt is not None else _read_text(args.prompt_file)
    check_prompt_text(text)
    _check_writable(args.out)
    from explorer.engine.models.registry import default_pair, find_pair

    name = args.pair or default_pair(args.device)
    find_pair(name)  # an unknown one is refused before the long imports
    from explorer.engine.decode import decode
    from explorer.engine.load_pair import load_pair
    from explorer.engine.recorder import Recorder, plain

    def say(message: str) -> None:
        if not args.quiet:
            print(message, file=sys.stderr)

    for sentence in without_effect([name for name, value in vars(args).items() if value is not None], config):
        say(f"note: {sentence}")
    pair = load_pair(name, args.device, args.dtype, progress=say)
    prompt = pair.encode(text, config.raw_prompt)
    if config.needs_layer:
        from explorer.engine.drafters.pacer.shipped import card_for, with_choice

        if args.pacer_layer:
            pair = pair.with_pacer_layer(args.pacer_layer)
        config = with_choice(config, pair.cards, vars(args))
        if (card := card_for(pair.cards, config.rule)) and (warning := card.warning(pair.fingerprints)):
            say(f"warning: {warning}")
    for note in config.notes:
        say(f"note: {as_options(note)}")
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


def _judge(args: argparse.Namespace) -> int:
    if args.file == "-" and sys.stdin is None:
        raise UserError("there is no standard input: name a file of JSON lines")
    with sys.stdin.buffer if args.file == "-" else open(args.file, "rb") as lines:  # as bytes: only newlines end a line
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    print(cases.judge_line(line))
                except UserError as error:
                    raise UserError(f"line {number}: {error}") from None
    return 0


def _load_trace(path: Path) -> Trace:
    try:
        return Trace.load(path)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _deferred(args: argparse.Namespace) -> int:
    tokens = [token for path in args.traces for token in loosened(_load_trace(path))]
    print(loosened_table(tokens) if tokens else "no token was kept against the target's choice")
    return 0


def _differences(args: argparse.Namespace) -> int:
    print(differences_table([_load_trace(path) for path in args.traces]))
    return 0


def _replay(args: argparse.Namespace) -> int:
    trace = _load_trace(args.trace)
    if not any(round_.drafted for round_ in trace.rounds):
        raise UserError(f"{args.trace} has no drafts (rule {trace.config.rule}): there is nothing to judge again")
    config = config_of(args, trace.config)
    for sentence in without_effect(given_knobs(args), config):
        print(f"note: {sentence}", file=sys.stderr)
    rounds = replay(trace, config)
    for round_, recorded in zip(rounds, trace.rounds):
        before, after = (terminal.letters(judgement.verdicts) for judgement in (round_.before, round_.after))
        line = f"round {round_.index + 1}: {before}"
        if before != after:
            line += f" -> {after}  kept {round_.before.kept} -> {round_.after.kept}"
        if round_.changed:
            line += f"  {text_of(round_.committed(recorded), trace.vocabulary)!r}"
        print(line + ("  (counterfactual)" if round_.counterfactual else ""))
    shown = {verdict for one in rounds for judgement in (one.before, one.after) for verdict in judgement.verdicts}
    print(terminal.letter_key(shown), file=sys.stderr)
    changed = first_change(rounds)
    print(
        "no round commits other tokens: the run would be the same"
        if changed is None
        else f"replayed: exact up to and including round {changed + 1}, the first to commit other tokens; "
        "after it conditional on the recorded text",
        file=sys.stderr,
    )
    for name, span in zip(("exact", "counterfactual"), spans(rounds, trace)):
        if span.passes:
            print(
                f"replayed per round, {name}: rounds {span.passes}, tau {span.tau:.2f}, {terminal.counts_text(span.counts, ', ')}",
                file=sys.stderr,
            )
    return 0


def _export(args: argparse.Namespace) -> int:
    if not args.html and not args.csv:
        raise UserError("name a file to write: --html F.html, --csv F.csv, or both")
    for path in (args.html, args.csv):
        _check_writable(path)
    from explorer.ui.exports import page, rounds_csv

    trace = _load_trace(args.trace)
    if args.html:
        write_whole(args.html, page(trace))
    if args.csv:
        write_whole(args.csv, rounds_csv(trace), "utf-8-sig")  # marked, so that spreadsheets read it right
    return 0


def _pairs(args: argparse.Namespace) -> int:
    from explorer.engine.models.registry import known_pairs

    width = max(len(pair.name) for pair in known_pairs())
    for pair in known_pairs():
        here = "here" if pair.is_here else "fetched on first use" if pair.is_embedded else "not here"
        print(f"{pair.name:{width}} {here:21} {pair.download_gb:6.1f} GB  {pair.suits:31} {pair.title}")
    print("Any other pair: --pair TARGET,DRAFT as hub ids or local folders (safetensors or GGUF).")
    return 0


def _bench(args: argparse.Namespace) -> int:
    _check_writable(args.out)
    if args.trace and not args.synthetic:
        raise UserError("--trace is for --synthetic: name a shape with it, like --synthetic 7b+0.5b")
    if args.synthetic:
        from explorer.bench import synthetic

        return synthetic.main(args)
    items = read_prompts(args.prompts)[: args.limit]
    from explorer import bench

    return bench.main(args, items)


def _gpu_check(args: argparse.Namespace) -> int:
    _check_writable(args.out)
    _check_writable(args.run)
    from explorer.bench import gpu_check

    return gpu_check.main(args)


def _sweep(args: argparse.Namespace) -> int:
    _check_writable(args.out)
    if args.out.suffix == ".json":
        raise UserError("--out names the CSV file; the JSON file is written beside it")
    base = config_of(args, SWEPT)
    given = [*given_knobs(args), *(["pacer_layer"] if args.pacer_layer else [])]
    for sentence in without_effect(given, base):
        print(f"note: {sentence}", file=sys.stderr)
    items = read_prompts(args.prompts)[: args.limit]
    from explorer.cli import sweep

    return sweep.main(args, base, items)


def _check_writable(path: Path | None) -> None:
    """Before minutes of work, not after them."""
    if not path:
        return
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent} to write {path.name} into")
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file in it")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"{path} may not be written")


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text") from None


if __name__ == "__main__":
    sys.exit(main())
