"""Charts to zoom into and to export, of one finished run: a trace in, a Plotly figure out. Plotly is imported at the first use."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from explorer.analysis.calibration import calibration, predictions
from explorer.trace import Trace
from explorer.ui.messages import visitors_texts

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PHASES = {"draft": "#8793a5", "preverify": "#c08a1e", "verify": "#3f78b5", "other": "#b9c0ca"}
# Colour and shape, as everywhere; mid tones that can be read on light and dark.
MARKS = {
    "deferred": ("#d99a2b", "circle"),
    "relaxed": ("#d99a2b", "diamond"),
    "rejected:gate": ("#c4541a", "circle-open"),
    "rejected:window": ("#b0478a", "x-thin-open"),
    "rejected:edge": ("#b0478a", "triangle-down-open"),
    "rejected:limit": ("#c4541a", "diamond-open"),
    "rejected:stop": ("#b0478a", "square"),
    "rejected": ("#c4541a", "line-ew-open"),
    "discarded": ("#8d97a5", "circle"),
}
PREDICTED = "#3f78b5"
TEXT_COLOUR, GRID_COLOUR = "#7b8594", "rgba(123, 133, 148, 0.25)"


def figure(trace: Trace) -> Figure:
    """Seconds of each round by phase, every disagreement by both entropies, and of a run that PACER steered how long its drafts
    were and whether its predictions held.
    """
    from plotly.subplots import make_subplots

    labels = visitors_texts().explore.CHARTS
    panels = {"seconds": _seconds, "entropies": _entropies}
    if any(round_.blocks for round_ in trace.rounds):
        panels |= {"lengths": _lengths, "calibration": _calibration}
    count = len(panels)
    titles = [labels[name] for name in panels]
    made = make_subplots(rows=count, cols=1, vertical_spacing=0.32 / count, subplot_titles=titles)
    for row, draw in enumerate(panels.values(), 1):
        draw(made, {"row": row, "col": 1}, trace)
    made.update_xaxes(gridcolor=GRID_COLOUR, zerolinecolor=GRID_COLOUR, rangemode="tozero")
    made.update_yaxes(gridcolor=GRID_COLOUR, zerolinecolor=GRID_COLOUR, rangemode="tozero")
    made.update_layout(
        template="none",
        barmode="stack",
        height=380 * count,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": TEXT_COLOUR, "size": 13},
        margin={"l": 60, "r": 16, "t": 40, "b": 50},
        legend={"orientation": "h", "y": -0.24 / count},
    )
    return made


def _seconds(made: Figure, at: dict[str, int], trace: Trace) -> None:
    from plotly.graph_objects import Bar

    texts = visitors_texts().explore
    for phase, colour in PHASES.items():
        seconds = [getattr(round_.seconds, phase) for round_ in trace.rounds]
        if any(seconds):
            name = texts.VIEW["summary"]["times"][phase]
            made.add_trace(Bar(x=_numbers(trace), y=seconds, name=name, marker_color=colour), **at)
    made.update_xaxes(title_text=texts.CHARTS["round"], **at)


def _entropies(made: Figure, at: dict[str, int], trace: Trace) -> None:
    from plotly.graph_objects import Scatter

    texts = visitors_texts().explore
    labels = texts.CHARTS
    for verdict, (colour, symbol) in MARKS.items():
        found = [
            (index, position, round_.rows[position])
            for index, round_ in enumerate(trace.rounds, 1)
            for position, mine in enumerate(round_.verdicts)
            if mine == verdict and not round_.match[position]
        ]
        if found:
            made.add_trace(
                Scatter(
                    x=[row.entropy_normalized for *_, row in found],
                    y=[row.entropy_top3 for *_, row in found],
                    text=[labels["place"].format(round=index, position=position + 1) for index, position, _ in found],
                    name=texts.VIEW["gauges"]["outcomes"][verdict],
                    mode="markers",
                    marker={"color": colour, "symbol": symbol, "size": 5 if verdict == "discarded" else 9},
                ),
                **at,
            )
    config = trace.config
    if config.rule == "fly" and not config.theta_is_never:
        add_line = made.add_vline if config.entropy == "normalized" else made.add_hline
        add_line(config.theta, line_dash="dash", line_color=TEXT_COLOUR, **at)
    made.update_xaxes(title_text=labels["normalized"], **at)
    made.update_yaxes(title_text=labels["top3"], **at)


def _lengths(made: Figure, at: dict[str, int], trace: Trace) -> None:
    from plotly.graph_objects import Bar

    labels = visitors_texts().explore.CHARTS
    accepted = [round_.accepted for round_ in trace.rounds]
    rest = [len(round_.drafted) - round_.accepted for round_ in trace.rounds]
    for name, counts, colour in (("kept", accepted, "#2f8f83"), ("not_kept", rest, "#dfb39b")):
        made.add_trace(Bar(x=_numbers(trace), y=counts, name=labels[name], marker_color=colour), **at)
    made.update_xaxes(title_text=labels["round"], **at)
    made.update_yaxes(title_text=labels["tokens"], **at)


def _calibration(made: Figure, at: dict[str, int], trace: Trace) -> None:
    """A disc per bin of PACER's scores; its area says how many tokens, and on the diagonal predictions hold."""
    from plotly.graph_objects import Scatter

    labels = visitors_texts().explore.CHARTS
    bins = calibration(*predictions(trace.rounds))
    most = max((part.count for part in bins), default=1)
    made.add_trace(
        Scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": TEXT_COLOUR, "dash": "dot"}, name=labels["holds"]),
        **at,
    )
    made.add_trace(
        Scatter(
            x=[part.predicted for part in bins],
            y=[part.kept for part in bins],
            text=[labels["bin"].format(low=part.low, high=part.high, count=part.count) for part in bins],
            name=labels["scored"],
            mode="markers",
            marker={"color": PREDICTED, "size": [6 + 24 * sqrt(part.count / most) for part in bins]},
        ),
        **at,
    )
    made.update_xaxes(title_text=labels["predicted"], **at)
    made.update_yaxes(title_text=labels["kept_share"], **at)


def _numbers(trace: Trace) -> list[int]:
    return list(range(1, len(trace.rounds) + 1))
