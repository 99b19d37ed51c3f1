"""Charts to zoom into and to export, of one finished run: a trace in, a Plotly figure out. Plotly is imported at the first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.trace import Trace
from explorer.ui import texts

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
TEXT_COLOUR, GRID_COLOUR = "#7b8594", "rgba(123, 133, 148, 0.25)"


def figure(trace: Trace) -> Figure:
    """Seconds of each round by phase, and every disagreement by both entropies."""
    from plotly.graph_objects import Bar, Scatter
    from plotly.subplots import make_subplots

    words = texts.CHARTS
    made = make_subplots(rows=2, cols=1, vertical_spacing=0.16, subplot_titles=(words["seconds"], words["entropies"]))
    rounds = list(range(1, len(trace.rounds) + 1))
    for phase, colour in PHASES.items():
        seconds = [getattr(round_.seconds, phase) for round_ in trace.rounds]
        if any(seconds):
            name = texts.VIEW["summary"]["times"][phase]
            made.add_trace(Bar(x=rounds, y=seconds, name=name, marker_color=colour), 1, 1)
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
                    text=[words["place"].format(round=index, position=position + 1) for index, position, _ in found],
                    name=texts.VIEW["gauges"]["outcomes"][verdict],
                    mode="markers",
                    marker={"color": colour, "symbol": symbol, "size": 5 if verdict == "discarded" else 9},
                ),
                2,
                1,
            )
    config = trace.config
    if config.rule == "fly" and not config.theta_is_never:
        add_line = made.add_vline if config.entropy == "normalized" else made.add_hline
        add_line(config.theta, line_dash="dash", line_color=TEXT_COLOUR, row=2, col=1)
    made.update_xaxes(title_text=words["round"], row=1, col=1)
    made.update_xaxes(title_text=words["normalized"], row=2, col=1)
    made.update_yaxes(title_text=words["top3"], row=2, col=1)
    made.update_xaxes(gridcolor=GRID_COLOUR, zerolinecolor=GRID_COLOUR, rangemode="tozero")
    made.update_yaxes(gridcolor=GRID_COLOUR, zerolinecolor=GRID_COLOUR, rangemode="tozero")
    made.update_layout(
        template="none",
        barmode="stack",
        height=760,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": TEXT_COLOUR, "size": 13},
        margin={"l": 60, "r": 16, "t": 40, "b": 50},
        legend={"orientation": "h", "y": -0.12},
    )
    return made
