"""The picture of a training: one SVG file that any viewer reads, with every axis labelled."""

from xml.etree import ElementTree

import pytest

from explorer.analysis.calibration import Bin
from explorer.training.common.report import Bars, Chart, Series, write_report
from explorer.training.pacer.report import report

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(path):
    return [node.text for node in ElementTree.parse(path).iter(f"{SVG}text")]


def test_every_chart_says_what_its_axes_are(tmp_path):
    charts = [
        Chart(
            "Loss <&>",
            "epochs",
            "nats",
            [Series("training", [(0, 1.0), (1, 0.5)]), Series("held out", [(1, 0.6)], dots=True)],
        ),
        Bars("Speed", "tokens per second", [("plain", 10.0), ("pacer", 22.0)]),
    ]
    path = write_report(tmp_path, "A layer", charts)
    said = texts_of(path)
    for text in (
        "A layer",
        "Loss <&>",
        "epochs",
        "nats",
        "training",
        "held out",
        "Speed",
        "tokens per second",
        "pacer",
    ):
        assert text in said
    lengths = [float(bar.get("width")) for bar in ElementTree.parse(path).iter(f"{SVG}rect")][1:]
    assert lengths[1] / lengths[0] == pytest.approx(2.2, rel=0.01)
    assert "prefers-color-scheme" in path.read_text()


def test_points_lie_where_their_values_say(tmp_path):
    """On a calibration chart the corner is 0, 0 and the diagonal is what was predicted."""
    path = write_report(
        tmp_path,
        "x",
        [Chart("c", "p", "a", [Series("s", [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)], dots=True)], diagonal=True)],
    )
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in ElementTree.parse(path).iter(f"{SVG}circle")]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert (x1 - x0, y0 - y1) == pytest.approx((x2 - x1, y1 - y2), abs=0.2)
    assert x2 > x0
    assert y2 < y0


@pytest.mark.parametrize("log", [[], [{"epoch": 1, "loss_held_out": 0.4}], [{"epoch": 0.5, "loss": 0.7}]])
def test_a_report_without_a_log_shows_the_rest(log, tmp_path):
    bins = {"the layer": [Bin(0.0, 0.1, 10, 0.05, 0.0)], "product": []}
    said = texts_of(report(tmp_path, log, bins, [{"policy": "plain", "setting": "-", "speed": 10.0}]))
    assert "Calibration on held-out texts" in said
    assert ("Loss (cross-entropy per drafted token)" in said) == bool(log)
    assert "plain" in said
