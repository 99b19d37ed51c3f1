"""The report of a training as one SVG file: a few charts below each other, readable on a light and on a dark page.

Written by hand, because the project has no library that draws a picture without a browser.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from explorer.files import write_whole

NAME = "report.svg"
WIDTH, HEIGHT = 640, 260  # of one chart, title and axes included
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 52, 46  # margins of what lies between the axes
LABELS, ROW = 236, 36  # width of the labels beside bars, height of a bar with its two lines of label
TICKS = 5  # steps of an axis, about
LIGHT, DARK = ("#1d4ed8", "#b45309", "#0f766e"), ("#7fb0ff", "#f5b04c", "#4fd1c5")
MARKS = "●○◆"  # dots of the first, second and third series differ in more than their colour


def _colours(colours: Sequence[str]) -> str:
    return "".join(f".s{i}{{stroke:{one};fill:{one}}}" for i, one in enumerate(colours))


STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#374151;stroke:none}.title{font-size:14px;font-weight:600}"
    ".small{font-size:11px;fill:#6b7280}.axis{stroke:#9ca3af}.grid{stroke:#e5e7eb}.page{fill:#fff}"
    f".line{{stroke-width:1.6}}{_colours(LIGHT)}text.s0,text.s1,text.s2{{stroke:none}}"
    "@media(prefers-color-scheme:dark){text{fill:#d1d5db}.small{fill:#9ca3af}.grid{stroke:#374151}.page{fill:#111827}"
    f"{_colours(DARK)}text.s0,text.s1,text.s2{{stroke:none}}}}.line{{fill:none}}"
)


@dataclass(frozen=True, slots=True)
class Series:
    """Points (x, y) under one name; dots: drawn as marks instead of a line."""

    name: str
    points: Sequence[tuple[float, float]]
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of at most three series; x and y are the labels of its axes, with units; diagonal: both axes go from 0 to 1, and the
    line where both are equal is drawn."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    diagonal: bool = False

    @property
    def is_empty(self) -> bool:
        return not any(series.points for series in self.series)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; note: stands small below its label."""

    label: str
    value: float  # not negative
    note: str = ""


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars; x: label of their axis, with its unit."""

    title: str
    x: str
    bars: Sequence[Bar]

    @property
    def is_empty(self) -> bool:
        return not self.bars


def write_report(folder: Path, heading: str, charts: Sequence[Chart | BarChart]) -> Path:
    """Write report.svg into a folder; returns its path. Charts without a point are left out."""
    parts, top = [], 40
    for chart in charts:
        if chart.is_empty:
            continue
        body, height = _bar_chart(chart) if isinstance(chart, BarChart) else (_chart(chart), HEIGHT)
        parts.append(f'<g transform="translate(0 {top})">{body}</g>')
        top += height
    path = folder / NAME
    write_whole(
        path,
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" aria-label="{escape(heading)}">'
        f'<style>{STYLE}</style><rect class="page" width="{WIDTH}" height="{top}"/>'
        f"{_text(16, 26, heading, 'title')}{''.join(parts)}</svg>\n",
    )
    return path


def ticks(low: float, high: float) -> list[float]:
    """Round numbers (multiples of 1, 2 or 5 times a power of ten), a step apart, the first at most `low`, the last at least `high`."""
    if high <= low:
        low, high = low - 0.5, high + 0.5
    power = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step = next(power * size for size in (1, 2, 5, 10) if power * size * TICKS >= (high - low) * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _chart(chart: Chart) -> str:
    points = [point for series in chart.series for point in series.points]
    xs, ys = ([0, 1], [0, 1]) if chart.diagonal else zip(*points)
    across, up = ticks(min(xs), max(xs)), ticks(min(ys), max(ys))
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (x - across[0]) / (across[-1] - across[0]) * (right - LEFT),
            bottom - (y - up[0]) / (up[-1] - up[0]) * (bottom - TOP),
        )

    parts = [_text(LEFT, 20, chart.title, "title")]
    for value in up:
        _, y = place(across[0], value)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{value:g}", anchor="end"))
    for value in across:
        parts.append(_text(place(value, up[0])[0], bottom + 18, f"{value:g}", anchor="middle"))
    parts.append(f'<path class="axis" fill="none" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
    if chart.diagonal:
        parts.append(f'<path class="axis" stroke-dasharray="4 4" d="M{LEFT} {bottom}L{right} {TOP}"/>')
    for number, series in enumerate(chart.series):
        parts.append(_series(series, number, [place(*point) for point in series.points]))
    parts.append(_text((LEFT + right) / 2, HEIGHT - 8, chart.x, anchor="middle"))
    turned = f'transform="translate(14 {(TOP + bottom) / 2}) rotate(-90)"'
    return "".join(parts) + f'<text {turned} text-anchor="middle">{escape(chart.y)}</text>'


def _series(series: Series, number: int, places: Sequence[tuple[float, float]]) -> str:
    """A line or marks at `places`, and the entry of the key."""
    if not places:
        return ""
    colour, mark = f"s{number}", MARKS[number] if series.dots else "—"
    key = _text(WIDTH - RIGHT, 16 + 14 * number, f"{mark} {series.name}", colour, anchor="end")
    if not series.dots:
        return key + f'<path class="{colour} line" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in places)}"/>'
    return key + "".join(_mark(number, x, y) for x, y in places)


def _mark(number: int, x: float, y: float) -> str:
    mark = MARKS[number]
    if mark == "◆":
        return f'<path class="s{number}" d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"/>'
    hollow = ' fill-opacity="0" stroke-width="1.6"' if mark == "○" else ""
    return f'<circle class="s{number}" cx="{x:.1f}" cy="{y:.1f}" r="4"{hollow}/>'


def _bar_chart(chart: BarChart) -> tuple[str, int]:
    """The chart, and its height."""
    most = max(bar.value for bar in chart.bars) or 1.0
    parts = [_text(LEFT, 20, chart.title, "title")]
    for row, bar in enumerate(chart.bars):
        y, length = 34 + row * ROW, bar.value / most * (WIDTH - LABELS - 80)
        parts.append(_text(LABELS - 8, y + (12 if bar.note else 18), bar.label, anchor="end"))
        if bar.note:
            parts.append(_text(LABELS - 8, y + 26, bar.note, "small", anchor="end"))
        parts.append(f'<rect class="s0" x="{LABELS}" y="{y + 4}" width="{max(length, 1):.1f}" height="20" rx="2"/>')
        parts.append(_text(LABELS + length + 8, y + 18, f"{bar.value:.3g}"))
    height = 34 + len(chart.bars) * ROW + 34
    return "".join(parts) + _text(LABELS, height - 18, chart.x), height


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
