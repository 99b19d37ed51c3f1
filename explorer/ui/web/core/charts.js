// The parts that charts of several views share.

import { make } from "./dom.js";
import { svg } from "./svg.js";

// One flat bar of labelled parts, widths by share; the figures stand in the list below it, so the bar itself is decoration.
export function stackedBar(parts) {
  const total = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  const bar = make("div", "bar");
  bar.setAttribute("aria-hidden", "true");
  const list = make("ul", "bar-key");
  for (const part of parts) {
    const piece = make("span", `bar-part ${part.tone}`);
    piece.style.flexGrow = part.value / total;
    bar.append(piece);
    list.append(make("li", "", make("span", `bar-dot ${part.tone}`), make("b", "", part.figure), " " + part.label));
  }
  return [bar, list];
}

// The path of a disc.
export const disc = (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;

// The two axes of a chart.
export const axes = (left, top, right, bottom) => svg("path", { d: `M${left} ${top}V${bottom}H${right}`, class: "trade-axis" });

// Columns with a title above each; parts are drawn over each other, largest first.
export function columnChart(columns, most) {
  const chart = make("div", "bar-columns");
  chart.setAttribute("aria-hidden", "true");
  for (const { name, title, parts } of columns) {
    const room = make("span", "bar-room-wide", ...parts.map(({ value, tone }) => {
      const part = make("span", `bar-part-of ${tone}`);
      part.style.height = (most ? value / most : 0) * 100 + "%";
      return part;
    }));
    const high = Math.max(...parts.map((part) => part.value)) / (most || 1);
    const label = make("span", "bar-title", title);
    label.style.bottom = high * 100 + "%";
    room.append(label);
    chart.append(make("span", "bar-column", room, make("span", "bar-name", name)));
  }
  return chart;
}

// The top of an axis for values up to this: the next of some numbers whose quarters can be read. Nothing at all ends at 1.
export function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 4.8, 6, 8, 10].map((digits) => +(digits * power).toPrecision(3)).find((top) => top >= value) ?? value;
}
