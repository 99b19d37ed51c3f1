"""The page builds, keeps to itself, and opens before the models."""

import inspect
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from scripted import STORY, ScriptedBackend

from explorer.analysis.cost_files import shipped_profiles
from explorer.ui.catalogue import en
from explorer.ui.compare import layout as compare
from explorer.ui.page import build_page
from explorer.ui.recordings import recordings
from explorer.ui.scripts import STYLES, WEB, script
from explorer.ui.tune import layout as tune

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "GRADIO_ANALYTICS_ENABLED": "False"}


@pytest.fixture(scope="module")
def page():
    return build_page(ScriptedBackend(STORY), recorded=())


def test_only_run_and_judge_are_public_endpoints(page):
    assert {fn.api_name for fn in page.fns.values() if fn.api_visibility == "public"} == {"run", "judge"}


def test_runs_share_one_queue_with_a_limit(page):
    model = [fn for fn in page.fns.values() if fn.concurrency_id == "model"]
    assert (
        len(model) == 6
    )  # Run, a rerun of the run on show, the endpoint, a comparison, a sweep, a point of it measured
    assert {fn.concurrency_limit for fn in model} == {1}
    streams = [fn for fn in model if fn.api_name != "run"]
    assert all(inspect.isgeneratorfunction(fn.fn) for fn in streams), "else Gradio takes what it returns for a value"


def test_no_text_of_the_page_is_a_template_for_model_text(page):
    views = [block for block in page.blocks.values() if block.elem_id in ("run-view", "tune-view", "compare-view")]
    assert [view.html_template for view in views] == [""] * 3


def test_scripts_never_parse_markup():
    """Guards the one habit that keeps model text harmless: it enters as textContent or an attribute."""
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
    scripts = sorted(WEB.rglob("*.js"))
    assert len(scripts) > 20
    texts = {path.name: path.read_text(encoding="utf-8") for path in scripts}
    assert [(name, word) for name, text in texts.items() for word in forbidden if word in text] == []


def test_nothing_is_fetched_from_elsewhere():
    names = ("http://www.w3.org/2000/svg", 'HUB = "https://huggingface.co"')  # a namespace, and whom a message is for
    sources = {profile.url for profile in shipped_profiles().values()}  # links that a reader may follow
    code = script()
    for name in names:
        code = code.replace(name, "")
    for text in [
        code,
        tune.script().replace(names[0], ""),
        compare.script().replace(names[0], ""),
        *(path.read_text(encoding="utf-8") for path in STYLES),
    ]:
        assert "http://" not in text
        for source in sources:
            text = text.replace(source, "")
        assert "https://" not in text
        assert "@import" not in text


def test_the_page_opens_without_torch():
    code = "import sys, app; sys.exit(int('torch' in sys.modules or 'transformers' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments", [["--port", "many"], ["--port", "99999999"], ["--prt", "1"], ["--root-path", "explorer"]]
)
def test_bad_arguments_are_one_line(arguments, monkeypatch, capsys):
    import app

    monkeypatch.setattr(sys, "argv", ["app.py", *arguments])
    with pytest.raises(SystemExit) as stopped:
        app.main()
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("host", "mine"), [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False), ("192.168.1.5", False)]
)
def test_folders_may_be_typed_only_where_no_stranger_comes(host, mine, monkeypatch):
    import app

    class Page:
        def launch(self, **_):
            raise OSError("not served in a test")

    made = []
    monkeypatch.setattr(app, "ON_SPACE", False)
    monkeypatch.setattr(app, "demo", Page())
    monkeypatch.setattr(app, "build_page", lambda **options: made.append(options) or Page())
    monkeypatch.setattr(sys, "argv", ["app.py", "--host", host])
    assert app.main() == 2
    assert [options["local_folders"] for options in made] == ([] if mine else [False])


def test_a_busy_port_is_one_line():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "app.py", "--port", port], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True
        )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert port in done.stderr


def test_texts_have_a_reason_for_every_way_to_be_refused():
    from explorer.verdicts import Verdict

    assert {str(verdict) for verdict in Verdict if verdict.is_rejected} <= set(en.explore.VIEW["reasons"])
    assert {str(verdict) for verdict in Verdict} == set(en.explore.VIEW["summary"]["counts"])
    kinds = {str(verdict) for verdict in Verdict} | {"correction", "bonus"}
    assert kinds == set(en.explore.VIEW["kinds"]) | set(en.explore.VIEW["others"])


def test_the_page_opens_on_the_first_recorded_run(hand, tmp_path):
    hand.valid().save(tmp_path / "a.json")
    recorded = recordings({}, folder=tmp_path)
    blocks = {block.elem_id: block for block in build_page(ScriptedBackend(STORY), recorded=recorded).blocks.values()}
    assert blocks["run-view"].value == recorded[0].text
    assert blocks["prompt"].value == "abc"
    assert (blocks["knob-theta"].value, blocks["knob-window"].value) == (0.3, 1)
