"""The report of a training as one SVG file: a few line charts below each other, readable on a light and on a dark page.

Written by hand, because the project has no library that draws a picture without a browser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from explorer.files import write_whole

NAME = "report.svg"
WIDTH, HEIGHT = 640, 260  # of one chart, title and axes included
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 44, 46
COLOURS = ("#2563b8", "#b45309", "#0f766e", "#7c3aed")
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#374151}.title{font-size:14px;font-weight:600}.axis{stroke:#9ca3af}"
    ".grid{stroke:#e5e7eb}.page{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#d1d5db}.grid{stroke:#374151}.page{fill:#111827}}"
)


@dataclass(frozen=True, slots=True)
class Series:
    """Points (x, y) under one name; dots: drawn as discs instead of a line."""

    name: str
    points: Sequence[tuple[float, float]]
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: x and y are the labels of its axes, with units; diagonal: draw the line where both are equal."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars: a label and a value each; x: label of the axis, with its unit."""

    title: str
    x: str
    bars: Sequence[tuple[str, float]]


def write_report(folder: Path, heading: str, charts: Sequence[Chart | Bars]) -> Path:
    """Write report.svg into a folder; returns its path. Charts without a point are left out."""
    drawn = [
        chart for chart in charts if (chart.bars if isinstance(chart, Bars) else any(s.points for s in chart.series))
    ]
    parts, top = [], 40
    for chart in drawn:
        body, height = _bars(chart) if isinstance(chart, Bars) else (_chart(chart), HEIGHT)
        parts.append(f'<g transform="translate(0 {top})">{body}</g>')
        top += height
    path = folder / NAME
    write_whole(
        path,
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" aria-label="{escape(heading)}">'
        f'<style>{STYLE}</style><rect class="page" width="{WIDTH}" height="{top}"/>'
        f'<text class="title" x="16" y="26">{escape(heading)}</text>{"".join(parts)}</svg>\n',
    )
    return path


def _chart(chart: Chart) -> str:
    points = [point for series in chart.series for point in series.points]
    (x_low, x_high), (y_low, y_high) = _range([x for x, _ in points]), _range([y for _, y in points])
    if chart.diagonal:
        x_low, x_high, y_low, y_high = 0.0, 1.0, 0.0, 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text class="title" x="{LEFT}" y="20">{escape(chart.title)}</text>']
    for value in _ticks(y_low, y_high):
        _, y = place(x_low, value)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    for value in _ticks(x_low, x_high):
        x, _ = place(value, y_low)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:.3g}</text>')
    parts.append(f'<path class="axis" fill="none" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    if chart.diagonal:
        (x0, y0), (x1, y1) = place(0, 0), place(1, 1)
        parts.append(f'<path class="axis" stroke-dasharray="4 4" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"/>')
    for number, series in enumerate(chart.series):
        parts.append(
            _series(series, COLOURS[number % len(COLOURS)], [place(*point) for point in series.points], number)
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(chart.x)}</text>'
    )
    parts.append(
        f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{escape(chart.y)}</text>'
    )
    return "".join(parts)


def _series(series: Series, colour: str, places: Sequence[tuple[float, float]], number: int) -> str:
    key = f'<text x="{WIDTH - RIGHT}" y="{20 + 15 * number}" text-anchor="end" style="fill:{colour}">{escape(series.name)}</text>'
    if series.dots:
        return key + "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in places)
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return key + (f'<path fill="none" stroke="{colour}" stroke-width="1.6" d="M{line}"/>' if places else "")


def _bars(chart: Bars) -> tuple[str, int]:
    """The chart, and its height."""
    left, step = 220, 24
    most = max(value for _, value in chart.bars) or 1.0
    parts = [f'<text class="title" x="{LEFT}" y="20">{escape(chart.title)}</text>']
    for row, (label, value) in enumerate(chart.bars):
        y, length = 36 + row * step, value / most * (WIDTH - left - 80)
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{max(length, 1):.1f}" height="17" rx="2" fill="{COLOURS[0]}"/>')
        parts.append(f'<text x="{left + length + 6:.1f}" y="{y + 13}">{value:.3g}</text>')
    height = 36 + len(chart.bars) * step + 34
    parts.append(f'<text x="{left}" y="{height - 18}">{escape(chart.x)}</text>')
    return "".join(parts), height


def _range(values: Sequence[float]) -> tuple[float, float]:
    """From the least to the largest, never empty."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float) -> list[float]:
    """Five values from end to end."""
    return [low + (high - low) * share / 4 for share in range(5)]
