"""The command line: `python -m explorer COMMAND`. Exit code 0, 2 for bad arguments or input, 1 for a failure."""

from __future__ import annotations

import argparse
import io
import os
import sys
from dataclasses import replace
from pathlib import Path

from explorer import cases, distill, judging, pacer, terminal
from explorer.analysis.loosened import loosened, loosened_table
from explorer.analysis.metrics import summarize
from explorer.analysis.replay import first_change, replay, spans
from explorer.config import PRESETS, RULE_KNOBS, DecodeConfig, knobs
from explorer.errors import UserError, is_out_of_memory
from explorer.files import write_whole
from explorer.options import Parser, add_knob, add_layer, add_pair, config_of, count, nats, numbers, whole
from explorer.pieces import text_of
from explorer.prompts import HELD_OUT
from explorer.trace import Baseline, Trace
from explorer.verdicts import Verdict

# Knobs of `sweep` that all its points share.
SWEPT_ALIKE = ("entropy", "window_includes_mismatch", "drafter", "length", "block_size", "threshold", "growth", "statistic",
               "least_draft", "tree", "tree_width", "max_new_tokens", "stop_strings", "raw_prompt")  # fmt: skip


OUT_OF_MEMORY = (
    "not enough memory: lower --max-new-tokens or --draft-length, shorten the prompt, or take a smaller pair"
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; user errors become one line on stderr."""
    args = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a narrow terminal shows what it can instead of failing
        sys.stdout.reconfigure(errors="replace")
    try:
        return args.command(args)
    except BrokenPipeError:  # the reader of a pipe has had enough; nothing more may be written, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UserError as error:
        print(f"explorer: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"explorer: {error.filename or 'input'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        print(f"explorer: {OUT_OF_MEMORY}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m explorer", description="See speculative decoding: run, judge, replay and compare.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    run = commands.add_parser("run", help="decode one prompt and show every verdict")
    prompt = run.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT")
    prompt.add_argument("--prompt-file", metavar="F", type=Path)
    add_pair(run)
    run.add_argument("--preset", choices=PRESETS, help="a named point of the loose rule; single options override it")
    for knob in knobs():
        add_knob(run, knob)
    add_layer(run)
    run.add_argument("--baseline", action="store_true", help="also decode plainly, with the target alone")
    run.add_argument("--out", metavar="TRACE.json", type=Path, help="write the record of the run")
    run.add_argument("--quiet", action="store_true", help="only the text, no summary")
    run.set_defaults(command=_run)

    judge = commands.add_parser("judge", help="judge drafts given as JSON lines")
    judge.add_argument("file", metavar="FILE", nargs="?", default="-", help="JSON lines; - or nothing reads stdin")
    judge.set_defaults(command=_judge)

    again = commands.add_parser("replay", help="what changes in a recorded run under other thresholds, round by round")
    again.add_argument("trace", metavar="TRACE.json", type=Path)
    for knob in knobs():
        if knob.name in RULE_KNOBS:
            add_knob(again, knob)
    again.set_defaults(command=_replay)

    deferred = commands.add_parser(
        "deferred", help="the tokens that a loose rule kept in recorded runs, in context, to judge by eye"
    )
    deferred.add_argument("traces", metavar="TRACE.json", type=Path, nargs="+")
    deferred.set_defaults(command=_deferred)

    export = commands.add_parser("export", help="a recorded run as one page that needs no server, or as a table")
    export.add_argument("trace", metavar="TRACE.json", type=Path)
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
        "--prompts", metavar="F", type=Path, default=HELD_OUT, help="JSON lines; default: the held-out prompts"
    )
    bench.add_argument("--limit", metavar="N", type=count, help="only the first N prompts")
    bench.add_argument(
        "--rows", metavar="TEXT", action="append", help="only rows whose name holds this; may be repeated"
    )
    bench.add_argument(
        "--row", metavar="TEXT", action="append", default=[],
        help="one more row, like 'exact length=pacer threshold=0.6 drafter=model+lookup'; may be repeated",
    )  # fmt: skip
    add_layer(bench)
    bench.add_argument("--passes", metavar="N", type=count, default=3, help="times all prompts are run (default 3)")
    bench.add_argument("--max-new-tokens", metavar="N", type=count, default=64, help="tokens per prompt (default 64)")
    bench.add_argument(
        "--draft-length",
        metavar="K",
        type=count,
        action="append",
        help="drafted tokens per round (default 8); may be repeated",
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
    checking.add_argument("--prompts", metavar="N", type=count, default=3, help="of the examples (default 3)")
    checking.add_argument("--max-new-tokens", metavar="N", type=count, default=64, help="tokens per run (default 64)")
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
        "--prompts", metavar="F", type=Path, required=True, help="JSON lines, with answers where they can be checked"
    )
    sweep.add_argument("--limit", metavar="N", type=count, help="only the first N prompts")
    for name, knob_name in (("thetas", "theta"), ("windows", "window"), ("draft_lengths", "draft_length")):
        knob = next(knob for knob in knobs() if knob.name == knob_name)
        sweep.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="A,B,..",
            type=numbers(knob),
            required=name != "draft_lengths",
            help=f"{knob.label}: each {knob.range_text}",
        )
    for knob in knobs():
        if knob.name in SWEPT_ALIKE:
            add_knob(sweep, knob)
    add_layer(sweep)
    sweep.add_argument(
        "--limit-nats",
        metavar="X",
        type=nats,
        default=0.10,
        help="choose a point at most this far below plain greedy in mean target log-probability per token (default 0.1)",
    )
    sweep.add_argument(
        "--limit-lost",
        metavar="N",
        type=whole,
        default=0,
        help="choose a point that loses at most so many right answers (default 0)",
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
    _check_writable(args.out)
    from explorer.engine.decode import decode
    from explorer.engine.recorder import Recorder, plain
    from explorer.engine.registry import default_pair, load_pair

    def say(message: str) -> None:
        if not args.quiet:
            print(message, file=sys.stderr)

    pair = load_pair(args.pair or default_pair(args.device), args.device, args.dtype, progress=say)
    prompt = pair.encode(text, config.raw_prompt)
    if config.needs_layer:
        from explorer.pacer.shipped import attach, card_for, with_choice

        cards = attach(pair, args.pacer_layer)
        config = with_choice(config, cards, vars(args))
        if (card := card_for(cards, config.rule)) and (warning := card.warning(pair.fingerprints)):
            say(f"warning: {warning}")
    for note in config.notes:
        say(f"note: {note}")
    recorder = Recorder(pair, prompt, config)
    printer = terminal.Printer(pair.vocabulary, pair.stop_ids, sys.stdout.isatty(), config.stop_strings)
    rounds = decode(pair, list(prompt.ids), config)
    try:
        for round_ in rounds:
            recorder.add(round_)
            print(printer.text(round_), end="", flush=True)
    except KeyboardInterrupt:  # keep what is there: the trace is marked partial
        rounds.close()
    compared = args.baseline and recorder.ended
    trace = recorder.trace(Baseline.of(decode(pair, list(prompt.ids), plain(config))) if compared else None)
    print(printer.rest(trace.stop.reason == "stop_string"))
    if args.out:
        trace.save(args.out)
    say(terminal.summary_text(summarize(trace), trace))
    return 0


def _judge(args: argparse.Namespace) -> int:
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


def _replay(args: argparse.Namespace) -> int:
    trace = _load_trace(args.trace)
    config = config_of(args, trace.config)
    rounds = replay(trace, config)
    for round_, recorded in zip(rounds, trace.rounds):
        before, after = (
            "".join(terminal.LETTERS[verdict] for verdict in judgement.verdicts) or "-"
            for judgement in (round_.before, round_.after)
        )
        line = f"round {round_.index + 1}: {before}"
        if before != after:
            line += f" -> {after}  kept {round_.before.kept} -> {round_.after.kept}"
        if round_.changed:
            line += f"  {text_of(round_.committed(recorded), trace.vocabulary)!r}"
        print(line + ("  (counterfactual)" if round_.counterfactual else ""))
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
            refused = sum(count for verdict, count in span.counts.items() if verdict.is_rejected)
            print(
                f"replayed per round, {name}: rounds {span.passes}, tau {span.tau:.2f}, exact {span.counts[Verdict.EXACT]}, "
                f"{terminal.loosened_words(span.counts)}, rejected {refused}",
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
    from explorer.engine.registry import known_pairs

    for pair in known_pairs():
        here = "here" if pair.is_here else "fetched on first use" if pair.is_embedded else "not here"
        print(f"{pair.name:20} {here:21} {pair.download_gb:6.1f} GB  {pair.suits:31} {pair.title}")
    print("Any other pair: --pair TARGET,DRAFT as hub ids or local folders (safetensors or GGUF).")
    return 0


def _bench(args: argparse.Namespace) -> int:
    _check_writable(args.out)
    if args.synthetic:
        from explorer.bench import synthetic

        return synthetic.main(args)
    from explorer import bench

    return bench.main(args)


def _gpu_check(args: argparse.Namespace) -> int:
    _check_writable(args.out)
    _check_writable(args.run)
    from explorer import gpu_check

    return gpu_check.main(args)


def _sweep(args: argparse.Namespace) -> int:
    _check_writable(args.out)
    if args.out.suffix == ".json":
        raise UserError("--out names the CSV file; the JSON file is written beside it")
    base = config_of(args, replace(DecodeConfig(), max_new_tokens=64))
    from explorer import sweep

    return sweep.main(args, base)


def _check_writable(path: Path | None) -> None:
    """Before minutes of work, not after them."""
    if path and not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent} to write {path.name} into")


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text") from None


if __name__ == "__main__":
    sys.exit(main())
