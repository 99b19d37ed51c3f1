"""Damaged and hostile input, at random but with fixed seeds: `python tests/tools/fuzz.py` (or `make fuzz`) prints what was tried.

Every reader of something that comes from outside either returns or refuses with its own error. The suite runs a few hundred
inputs of each kind (tests/trust/test_fuzz.py), the command as many as asked for; it ends with an error at the first input that
does anything else, takes too long or too much memory, and says its seed.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[2]
for folder in (ROOT / "tests" / "support", ROOT):
    sys.path.insert(0, str(folder))

from load import shared  # noqa: E402

from explorer.errors import UserError  # noqa: E402

SECONDS = 20  # one input may take
MEGABYTES = 600  # more than before all inputs of a kind
LARGEST = 130_000  # bytes of a recorded run that is damaged: larger ones only take longer

JUNK = [
    None, True, False, -1, 0, 1, 2**53, 2**70, 1.5, -0.0, 1e308, -1e308, "", "x", "\ud800", "<img src=x onerror=alert(1)>", "=1+1",
    "../../etc/passwd", "9" * 5000, "x" * 100_000, [], {}, [[]], [None] * 1000, {"hex": "ff"}, {"hex": "zz"}, {"__class__": "os"}, "exact",
]  # fmt: skip
BYTES = [b"NaN", b"1e999", b"-Infinity", b"null", b"[", b"{", b'"', b"\\ud800", b"-", b"9" * 40, b"\x00", b"\xff\xfe", b"[" * 3000, b"\x80\x02cos\nsystem\n"]  # fmt: skip


@dataclass
class Tally:
    """What became of the inputs of one kind."""

    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0
    grown: float = 0.0  # MB of the process's peak

    @property
    def inputs(self) -> int:
        return self.accepted + self.refused


# Damage --------------------------------------------------------------------------------------------------------------


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, lost, doubled, cut off or replaced by what a parser trips over."""
    data = bytearray(raw)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 20])):
        at = rng.randrange(len(data)) if data else 0
        match rng.randrange(6):
            case 0 if data:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randrange(1, 200)]
            case 2:
                data[at:at] = data[at : at + rng.randrange(1, 200)]
            case 3:
                data[at : at + 1] = rng.choice(BYTES)
            case 4 if rng.random() < 0.2:
                del data[at:]
            case _ if data:
                data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def swapped(data: Any, rng: random.Random) -> Any:
    """Well-formed data with a wrong value, a lost or a doubled one somewhere."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice([1, 1, 2])):
        place = data
        while True:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            key = rng.choice(list(keys))
            if not (isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.85):
                break
            place = place[key]
        match rng.randrange(4):
            case 0:
                del place[key]
                if not place:
                    return data
            case 1 if isinstance(place, list):
                place.insert(key, copy.deepcopy(place[key]))
            case _:
                place[key] = copy.deepcopy(rng.choice(JUNK))
        if not data:
            break
    return data


# What reads from outside ---------------------------------------------------------------------------------------------

Case = Callable[[random.Random], None]  # raises UserError or PageRefusal where the input is refused


@contextmanager
def kinds() -> Iterator[dict[str, Case]]:
    """Every reader by name; each call makes one input and gives it to the reader."""
    import gradio as gr
    import torch
    from explore import ExploreHandlers
    from safetensors.torch import save_file
    from scripted import STORY, ScriptedBackend, ScriptedPair, make_trace
    from transformers import LlamaConfig

    from explorer.analysis.metrics import summarize
    from explorer.cases import judge_line
    from explorer.config import DecodeConfig
    from explorer.engine.drafters.eagle import Eagle3Head, read_head
    from explorer.engine.drafters.pacer import card as cards
    from explorer.engine.drafters.pacer.layer import PreVerificationLayer
    from explorer.prompts import PromptItem, typed_prompts
    from explorer.schema import parse_json
    from explorer.stops import Stop
    from explorer.sweep.points import points_of
    from explorer.sweep.record import PromptRuns, Sweep
    from explorer.trace import Trace
    from explorer.training.pacer.data import BRANCH, DraftedText, read_shard, write_shard
    from explorer.ui.compare.handlers import CompareHandlers
    from explorer.ui.compare.request import CompareSession, side_knobs
    from explorer.ui.explore.session import ExploreSession
    from explorer.ui.exports import page, rounds_csv
    from explorer.ui.page_knobs import page_knobs
    from explorer.ui.tune.handlers import TuneHandlers
    from explorer.ui.tune.session import TuneSession

    suite = shared()
    config = DecodeConfig(theta=0.3, window=1, draft_length=3, max_new_tokens=16)
    one = suite.hand_round(3, [4, 5, 6], [4, 7, 6, 8], config)
    made = [make_trace(blocks=True), suite.hand_trace([one], config, Stop("user"))]
    texts = [json.dumps(trace.to_json(), ensure_ascii=False).encode() for trace in made]
    recorded = (ROOT / "examples" / "runs").glob("*.json")
    texts += [path.read_bytes() for path in sorted(recorded) if path.stat().st_size < LARGEST]
    trees = [json.loads(text) for text in texts]
    backend = ScriptedBackend(STORY)
    handlers, tune, compare = ExploreHandlers(backend), TuneHandlers(backend), CompareHandlers(backend)
    knobs = [knob.default for knob in page_knobs()]

    def small_text() -> DraftedText:
        ids, one = torch.tensor([3, 4, 5, 6]), torch.zeros(1, BRANCH)
        choices = torch.tensor([5, 7]).int()  # the second is not the target's: a branch leaves there
        return DraftedText(
            ids, 2, choices, torch.ones(2), torch.zeros(2, 4).half(), torch.zeros(2, 2), one.int(), one, torch.zeros(1, BRANCH, 4).half(),
            one.int(), torch.zeros(1, BRANCH, 2),
        )  # fmt: skip

    def shown(trace: Trace) -> None:
        """What becomes of a trace that was let in."""
        summarize(trace)
        rounds_csv(trace)
        page(trace)

    def trace_bytes(rng: random.Random) -> None:
        shown(Trace.from_json(parse_json(damaged(rng.choice(texts), rng))))

    def trace_values(rng: random.Random) -> None:
        shown(Trace.from_json(swapped(rng.choice(trees), rng)))

    def imported(rng: random.Random) -> None:
        text = damaged(rng.choice(texts), rng).decode("utf-8", "surrogateescape")
        event = SimpleNamespace(text=rng.choice([text, text, text, *JUNK]), name=rng.choice(["f.json", *JUNK]))
        handlers.open_file(ExploreSession(), event)

    def judged(rng: random.Random) -> None:
        line = b'{"match": [true, false], "entropy": [0.1, 0.5], "theta": 0.3, "window": 0, "rule": "fly", "protected": null}'
        judge_line(damaged(line, rng))

    def prompts(rng: random.Random) -> None:
        text = (
            b'{"prompt": "Hi", "answer": "4", "check": "number"}\n{"question": "How many?", "answer": "So: #### 4"}\n'
        )
        typed_prompts(damaged(text, rng).decode("utf-8", "replace"))

    def formed(rng: random.Random) -> None:
        """The Explore form as a browser, or whoever speaks like one, may send it."""
        form = ["go", "scripted", False, *knobs]
        for _ in range(rng.choice([1, 1, 3])):
            form[rng.randrange(len(form))] = rng.choice(JUNK)
        handlers.prepare(ExploreSession(), *form)

    def tuned(rng: random.Random) -> None:
        form = [0.1, 0, "scripted", "own", 6, "go", "normalized", "0.05", "1", "8", 24, "model", "fixed", False]
        for _ in range(rng.choice([1, 1, 3])):
            form[rng.randrange(len(form))] = rng.choice(JUNK)
        tune.expected(*form[2:])
        tune.prepare(TuneSession(), *form)

    def compared(rng: random.Random) -> None:
        sides = [knob.default for knob in side_knobs()] * 2
        form = ["go", "scripted", 24, False, *sides]
        for _ in range(rng.choice([1, 1, 3])):
            form[rng.randrange(len(form))] = rng.choice(JUNK)
        compare.prepare(CompareSession(), *form)

    def picked(rng: random.Random) -> None:
        """Events of the view: what a link names, a rerun, a point of a sweep."""
        junk = rng.choice(JUNK)
        session = ExploreSession()
        handlers.open_run(session, junk)
        handlers.open_linked(session, SimpleNamespace(run=junk))
        handlers.prompt_and_pair(SimpleNamespace(prompt=junk, pair=rng.choice(JUNK)))
        tune.choose(TuneSession(), junk, rng.choice(JUNK))
        with suppress(gr.Error):  # nothing is swept yet
            tune.prepare_measure(TuneSession(), SimpleNamespace(point=junk))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layer = PreVerificationLayer.beside(suite.tiny_pair("llama").oracle_draft)
        from explorer.training.pacer.train import LayerRecipe

        card = cards.Card(
            "tiny", {"target": "t", "draft": "d"}, {"target": "float32", "draft": "float32"}, layer.shape,
            cards.Rule("exact", 0.05, 3, "normalized"), {"texts": 1}, LayerRecipe().numbers, {"auc": 0.9}, {},
        )  # fmt: skip
        cards.save(folder, layer, card)
        weights, described = (folder / cards.WEIGHTS).read_bytes(), (folder / cards.CARD).read_bytes()
        header = 8 + int.from_bytes(weights[:8], "little")
        shard = folder / "shard-00000.safetensors"
        write_shard(shard, [small_text()])
        whole = shard.read_bytes()
        length = 8 + int.from_bytes(whole[:8], "little")

        def tensors(rng: random.Random) -> None:
            # Most of the damage goes to the header: the rest is numbers, which are what they are.
            begin = header if rng.random() < 0.8 else len(weights)
            spoilt = damaged(weights[:begin], rng) + weights[begin:]
            (folder / cards.CARD).write_bytes(described)
            (folder / cards.WEIGHTS).write_bytes(spoilt)
            cards.load(folder)

        def carded(rng: random.Random) -> None:
            (folder / cards.WEIGHTS).write_bytes(weights)
            (folder / cards.CARD).write_bytes(damaged(described, rng))
            cards.load(folder)

        def sharded(rng: random.Random) -> None:
            begin = length if rng.random() < 0.8 else len(whole)
            shard.write_bytes(damaged(whole[:begin], rng) + whole[begin:])
            read_shard(shard)

        path, pair = folder / "sweep.json", ScriptedPair("scripted", STORY)
        points = backend.points(DecodeConfig(max_new_tokens=12), [0.05, 0.5], [1], [8])
        steps = backend.sweep(pair, [PromptItem("go", answer="tower")], points)
        done = tuple(one for one in steps if isinstance(one, PromptRuns))
        Sweep(pair.provenance(), points, done).save(path)
        sweep = path.read_bytes()

        def swept(rng: random.Random) -> None:
            path.write_bytes(damaged(sweep, rng))
            points_of(Sweep.load(path))

        target, heads = suite.tiny_model("llama", 0, num_hidden_layers=6), folder / "head"
        settings = {
            "architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4,
            "num_key_value_heads": 2, "num_hidden_layers": 1, "rms_norm_eps": 1e-5, "vocab_size": 267, "draft_vocab_size": 97,
            "rope_theta": 10000.0, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 3, 3]},
        }  # fmt: skip
        tables = Eagle3Head(LlamaConfig.from_dict(settings)).state_dict()
        heads.mkdir()
        save_file({name: tensor.contiguous() for name, tensor in tables.items()}, heads / "model.safetensors")
        head_weights = (heads / "model.safetensors").read_bytes()
        border = 8 + int.from_bytes(head_weights[:8], "little")

        def headed(rng: random.Random) -> None:
            values, spoilt = settings, head_weights
            if rng.random() < 0.6:
                values = swapped(settings, rng)
            else:
                spoilt = damaged(head_weights[:border], rng) + head_weights[border:]
            (heads / "config.json").write_text(json.dumps(values), encoding="utf-8")
            (heads / "model.safetensors").write_bytes(spoilt)
            read_head(heads, target)

        readers = {
            "trace, bytes": trace_bytes, "trace, values": trace_values, "trace, imported": imported, "judge line": judged,
            "prompt set": prompts, "Explore form": formed, "Tune form": tuned, "Compare form": compared, "events of the view": picked,
            "layer, safetensors": tensors, "layer, card": carded, "shard, safetensors": sharded, "EAGLE-3 head": headed,
            "sweep file": swept,
        }  # fmt: skip
        yield {name: _refusing(reader, gr.Error) for name, reader in readers.items()}


class PageRefusal(Exception):
    """The page refuses an input."""


def _refusing(reader: Case, error: type[Exception]) -> Case:
    """The page refuses with Gradio's error: one kind of refusal for the tally."""

    def case(rng: random.Random) -> None:
        try:
            reader(rng)
        except error as refused:
            raise PageRefusal(str(refused)) from None

    return case


def tried(case: Case, count: int, seed: int) -> Tally:
    """Give so many inputs to one reader; raises whatever it raises that is no refusal, with the seed of the input as a note."""
    tally, before = Tally(), _peak()
    for number in range(seed, seed + count):
        begin = time.perf_counter()
        try:
            case(random.Random(number))
            tally.accepted += 1
        except (UserError, PageRefusal):
            tally.refused += 1
        except BaseException as error:
            error.add_note(f"input of seed {number}")
            raise
        tally.slowest = max(tally.slowest, time.perf_counter() - begin)
    tally.grown = _peak() - before
    return tally


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description="Give damaged input to every reader and print what became of it.")
    parser.add_argument("--inputs", type=int, default=2000, help="of each kind (default 2000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", help="only kinds whose name holds this; may be repeated")
    args = parser.parse_args()

    def hung(*_: Any) -> None:
        raise TimeoutError(f"one input took more than {SECONDS} s")

    signal.signal(signal.SIGALRM, hung)
    print(
        "| kind | inputs | let in | refused | slowest, s | peak memory grew, MB |\n| --- | --- | --- | --- | --- | --- |"
    )
    with kinds() as readers:
        for name, case in readers.items():
            if args.kind and not any(kind in name for kind in args.kind):
                continue

            def timed(rng: random.Random, case: Case = case) -> None:
                signal.alarm(SECONDS)
                try:
                    case(rng)
                finally:
                    signal.alarm(0)

            tally = tried(timed, args.inputs, args.seed)
            print(
                f"| {name} | {tally.inputs} | {tally.accepted} | {tally.refused} | {tally.slowest:.2f} | {tally.grown:.0f} |",
                flush=True,
            )
            if tally.grown > MEGABYTES:
                print(f"{name}: more memory than {MEGABYTES} MB", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
