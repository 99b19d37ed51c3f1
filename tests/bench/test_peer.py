"""llama.cpp as a row, with a stand-in for its package: the shipped script and the program that starts it are the real ones."""

import json
import shutil

import pytest

from explorer.bench import comparison, peer
from explorer.bench.lines import pooled
from explorer.bench.measured import LLAMA_CPP, PLAIN
from explorer.bench.peer import Peer, PeerFailed, PeerMissing, find_package
from explorer.cli.main import main

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

# Counts up from the last id of the prompt. Says what it was given by how it does that: it fails on settings that are not greedy,
# and where the context is too small for the text.
STAND_IN = """
import { readFileSync } from "node:fs";
export async function getLlama({ gpu, build, maxThreads }) {
  console.log("a library says hello");
  if (gpu || build !== "never" || maxThreads !== 3) throw new Error("other settings");
  const loadModel = async ({ modelPath }) => {
    if (readFileSync(modelPath, "utf8") !== "weights") throw new Error(`${modelPath} holds no weights`);
    return { createContext: async ({ contextSize, threads }) => {
      if (threads !== 3) throw new Error("other threads");
      return { dispose: async () => {}, getSequence: () => ({
        evaluate: async function* (ids, { temperature, yieldEogToken }) {
          if (temperature !== 0 || !yieldEogToken) throw new Error("not greedy");
          for (let token = ids.at(-1) + 1; ; token += 1) {
            if (token > 260) throw new Error("no such token");
            if (ids.length + token - ids.at(-1) > contextSize) throw new Error("context is full");
            yield token;
          }
        },
      }) };
    } };
  };
  return { llamaCppRelease: { release: "b1" }, loadModel };
}
"""


@pytest.fixture
def installed(tmp_path):
    """A folder below one with the package, and a file of weights."""
    package = tmp_path / "node_modules" / "node-llama-cpp"
    package.mkdir(parents=True)
    about = {"name": "node-llama-cpp", "version": "9.8.7", "type": "module", "main": "./index.js"}
    (package / "package.json").write_text(json.dumps(about), encoding="utf-8")
    (package / "index.js").write_text(STAND_IN, encoding="utf-8")
    (tmp_path / "model.gguf").write_text("weights", encoding="utf-8")
    (tmp_path / "below").mkdir()
    return tmp_path / "below"


@pytest.fixture
def gguf(installed):
    return installed.parent / "model.gguf"


def test_texts_are_greedy_up_to_a_stop_or_the_budget(installed, gguf):
    with Peer(gguf, 3, installed) as llama:
        assert llama.about == {
            "program": "llama.cpp b1",
            "package": "node-llama-cpp 9.8.7",
            "gguf": "model.gguf",
            "threads": 3,
        }
        for prompt, stop, budget, expected in (
            ([5, 1], [], 3, (2, 3, 4)),
            ([5, 1], [3], 3, (2, 3)),
            ([7, 8, 9], [200, 11], 9, (10, 11)),
        ):
            one = llama.decode(prompt, stop, budget)
            assert (one.ids, one.passes, one.rounds) == (expected, len(expected), ())
            assert one.wall > 0
        process = llama._process
    assert process.poll() is not None, "it ends with the block"


def test_its_last_words_are_the_reason(installed, gguf):
    with Peer(gguf, 3, installed) as llama:
        with pytest.raises(PeerFailed, match="no such token"):
            llama.decode([259], [], 9)
        with pytest.raises(PeerFailed, match="no such token"):  # nor does it come back
            llama.decode([1], [], 2)
    gguf.write_text("something else", encoding="utf-8")
    with pytest.raises(PeerFailed, match="holds no weights"):
        Peer(gguf, 3, installed)


def test_what_is_missing_is_said_with_how_to_get_it(installed, gguf, tmp_path_factory, monkeypatch):
    assert find_package(installed) == installed.parent / "node_modules" / "node-llama-cpp"
    with pytest.raises(PeerMissing, match="npm install --ignore-scripts node-llama-cpp"):
        find_package(tmp_path_factory.mktemp("elsewhere"))
    monkeypatch.setattr(peer.shutil, "which", lambda program: None)
    with pytest.raises(PeerMissing, match="needs node 20"):
        Peer(gguf, 3, installed)


# The command --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def bench(make_pair, monkeypatch, tmp_path, capsys):
    """The command on a tiny pair: what it printed and what it wrote."""
    pair = make_pair("packed-llama")
    monkeypatch.setattr(comparison, "load_pair", lambda *_, **__: pair)
    monkeypatch.setattr(comparison.torch, "get_num_threads", lambda: 3)

    def run(*options):
        options = [
            "--passes",
            "1",
            "--limit",
            "1",
            "--max-new-tokens",
            "4",
            "--rows",
            "exact, K",
            "--peer",
            "llama.cpp",
            *options,
        ]
        assert main(["bench", *options, "--out", str(tmp_path / "out.json")]) == 0
        return capsys.readouterr().out, json.loads((tmp_path / "out.json").read_text())

    return run


def test_the_command_has_its_row(bench, installed, gguf):
    printed, record = bench("--gguf", str(gguf), "--peer-path", str(installed))
    rows = {line["row"]: line for line in record["lines"]}
    assert list(rows)[:2] == [PLAIN, LLAMA_CPP]
    one = rows[LLAMA_CPP]
    assert (one["tau"], one["same_ids"], one["prompts"]) == (1, 0, 1)
    assert one["fidelity"] < 0, "the target is asked what it thinks of the text"
    assert "llama.cpp, plain greedy: llama.cpp b1 by node-llama-cpp 9.8.7, file model.gguf, 3 threads." in printed
    assert record["peer"]["program"] == "llama.cpp b1"


@pytest.mark.parametrize(
    ("gguf_of", "reason"),
    [
        (lambda *_: None, "name one of the same model with --gguf"),
        (None, "npm install --ignore-scripts node-llama-cpp"),
    ],
)
def test_a_peer_that_cannot_run_is_one_sentence(bench, gguf, tmp_path_factory, monkeypatch, gguf_of, reason):
    if gguf_of:
        monkeypatch.setattr(comparison, "gguf_of", gguf_of)
    named = [] if gguf_of else ["--gguf", str(gguf)]
    printed, record = bench(*named, "--peer-path", str(tmp_path_factory.mktemp("elsewhere")))
    (sentence,) = [line for line in printed.splitlines() if line.startswith(LLAMA_CPP)]
    assert "not run here" in sentence
    assert reason in sentence
    assert record["peer"] is None
    assert [line["row"] for line in record["lines"]] == [PLAIN, "exact, K = 8"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--gguf", "x.gguf"], "are for a peer"),
        (["--peer-path", "x"], "are for a peer"),
        (["--peer", "llama.cpp", "--gguf", "no-such.gguf"], "there is no such file"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_at_once(options, reason, capsys):
    assert main(["bench", *options]) == 2
    assert reason in capsys.readouterr().err


def test_the_peer_counts_as_a_plain_row_of_the_target():
    """A user would otherwise run it, so `x fastest` is against it where it is the fastest."""
    from explorer.bench.measured import Measured

    measured = {
        row: [Measured((1, 2), wall, 2)] for row, wall in ((PLAIN, 4.0), (LLAMA_CPP, 1.0), ("exact, K = 8", 2.0))
    }
    assert [line.times_fastest for line in pooled([measured], ["code"])] == [0.25, 1, 0.5]
