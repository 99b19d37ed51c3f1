"""The picture of a training: one SVG file that any viewer reads, with every axis labelled."""

from xml.etree import ElementTree

import pytest

from explorer.analysis.calibration import Bin
from explorer.training.common.svg_report import Bar, BarChart, Chart, Series, ticks, write_report
from explorer.training.pacer.report import is_log_of, report

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(path):
    return [node.text for node in ElementTree.parse(path).iter(f"{SVG}text")]


def test_every_chart_says_what_its_axes_are(tmp_path):
    series = [Series("training", [(0, 1.0), (1, 0.5)]), Series("held out", [(1, 0.6)], dots=True)]
    bars = [Bar("plain", 10.0), Bar("pacer", 22.0, "t = 0.7")]
    charts = [Chart("Loss <&>", "epochs", "nats", series), BarChart("Speed", "tokens per second", bars)]
    path = write_report(tmp_path, "A layer", charts)
    said = texts_of(path)
    for text in ("A layer", "Loss <&>", "epochs", "nats", "— training", "○ held out"):
        assert text in said
    for text in ("Speed", "tokens per second", "pacer", "t = 0.7", "22"):
        assert text in said
    lengths = [float(bar.get("width")) for bar in ElementTree.parse(path).iter(f"{SVG}rect")][1:]
    assert lengths[1] / lengths[0] == pytest.approx(2.2, rel=0.01)
    assert "prefers-color-scheme" in path.read_text()


def test_points_lie_where_their_values_say(tmp_path):
    """On a calibration chart the corner is 0, 0 and the diagonal is what was predicted."""
    series = [Series("s", [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)], dots=True)]
    path = write_report(tmp_path, "x", [Chart("c", "p", "a", series, diagonal=True)])
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in ElementTree.parse(path).iter(f"{SVG}circle")]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert (x1 - x0, y0 - y1) == pytest.approx((x2 - x1, y1 - y2), abs=0.2)
    assert x2 > x0
    assert y2 < y0


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.096, 3.0, [0, 1, 2, 3]),
        (0.355, 0.65, [0.3, 0.4, 0.5, 0.6, 0.7]),
        (-3, 1, [-3, -2, -1, 0, 1]),
        (2.0, 2.0, [1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6]),
    ],
)
def test_axes_are_marked_at_round_numbers(low, high, wanted):
    found = ticks(low, high)
    assert found == pytest.approx(wanted)
    assert found[0] <= low
    assert found[-1] >= high


def test_the_second_and_third_series_have_other_marks_than_the_first(tmp_path):
    series = [Series(name, [(0.2, 0.2)], dots=True) for name in "abc"]
    root = ElementTree.parse(write_report(tmp_path, "x", [Chart("c", "p", "a", series)]))
    first, second = root.iter(f"{SVG}circle")
    assert (first.get("fill-opacity"), second.get("fill-opacity")) == (None, "0")
    assert [path for path in root.iter(f"{SVG}path") if path.get("class") == "s2"]


@pytest.mark.parametrize("log", [[], [{"epoch": 1, "loss_held_out": 0.4}], [{"epoch": 0.5, "loss": 0.7}]])
def test_a_report_without_a_log_shows_the_rest(log, tmp_path):
    bins = {"the layer": [Bin(0.0, 0.1, 10, 0.05, 0.0)], "product": []}
    said = texts_of(report(tmp_path, log, bins, [{"policy": "plain", "setting": "-", "speed": 10.0}]))
    assert "Calibration on held-out texts" in said
    assert ("Loss (cross-entropy per drafted token)" in said) == bool(log)
    assert "plain" in said


def test_a_policy_is_named_once(tmp_path):
    replayed = [
        {"policy": "fixed", "setting": "fixed 4", "speed": 9.0},
        {"policy": "plain", "setting": "-", "speed": 3.0},
    ]
    said = texts_of(report(tmp_path, [], {}, replayed))
    assert {"fixed", "4", "plain"} <= set(said)
    assert "-" not in said


def test_the_curve_of_another_layer_is_not_drawn():
    """The work folder holds the last training, the layer at hand may be another."""
    log = [{"epoch": 0.5, "loss": 0.7}, {"epoch": 1, "loss_held_out": 0.4123}, {"epoch": 2, "loss_held_out": 0.5}]
    assert is_log_of({"epoch": 1, "loss_held_out": 0.41229, "auc": 0.9}, log)
    assert not is_log_of({"epoch": 1, "loss_held_out": 0.39}, log)
    assert not is_log_of({"epoch": 2, "loss_held_out": 0.41229}, log)
    assert not is_log_of({}, [])
