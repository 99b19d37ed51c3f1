// Speed against fidelity: every point, the references, the limit.

import { axes, disc } from "../core/charts.js";
import { make, onWidth, say } from "../core/dom.js";
import { signed } from "../core/numbers.js";
import { svg, svgText } from "../core/svg.js";
import { TEXT } from "../given/texts.js";
import { settingsOf } from "./sweep.js";

const HEIGHT = 230, LEFT = 44, BOTTOM = 34, TOP = 12, RIGHT = 12; // px
const TICKS = [0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5];
const MARKS = {
  fly: (x, y) => disc(x, y, 5), exact: (x, y) => `M${x - 5} ${y - 5}h10v10h-10z`, lookup: (x, y) => `M${x} ${y - 6}l6 10h-12z`,
  autoregressive: (x, y) => `M${x} ${y - 6}l6 6l-6 6l-6 -6z`,
};

export function makeTrade() {
  const picture = svg("svg", { height: HEIGHT, "aria-hidden": "true", class: "trade" });
  const root = make("figure", "tune-trade chart", make("h4", "", TEXT.trade.title), picture, make("figcaption", "quiet", TEXT.trade.note));
  let width = 0, last = null;
  onWidth(root, (found) => { width = found; if (last !== null) draw(...last); });

  function draw(sweep, point) {
    last = [sweep, point];
    if (!width) return;
    picture.setAttribute("width", width);
    picture.replaceChildren(...drawn(sweep, point, width));
  }

  return { root, draw };
}

function drawn(sweep, point, width) {
  const { figures, choice } = sweep;
  const all = figures.map(({ nats_per_token: nats, times_plain_modelled: times }, index) => ({ index, nats, times, settings: settingsOf(sweep, index) }));
  const least = Math.min(-choice.limit[0] * 1.25, ...all.map(({ nats }) => nats)), most = Math.max(0.02, ...all.map(({ nats }) => nats)) * 1.1;
  const top = Math.max(1.2, ...all.map(({ times }) => times)) * 1.08;
  const x = (value) => LEFT + ((value - least * 1.04) / (most - least * 1.04)) * (width - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const label = (at, down, text, anchor = "middle") => svgText(at, down, text, { "text-anchor": anchor });
  const limit = x(-choice.limit[0]), kind = ({ settings }) => (settings.drafter === "lookup" ? "lookup" : settings.rule);
  return [
    svg("rect", { x: LEFT, y: TOP, width: Math.max(0, limit - LEFT), height: HEIGHT - BOTTOM - TOP, class: "trade-beyond" }),
    svg("path", { d: `M${limit} ${TOP}V${HEIGHT - BOTTOM}`, class: "trade-limit" }),
    svg("path", { d: `M${LEFT} ${y(1)}H${width - RIGHT}`, class: "trade-one" }),
    axes(LEFT, TOP, width - RIGHT, HEIGHT - BOTTOM),
    ...TICKS.filter((value) => value < top).map((value) => label(LEFT - 6, y(value) + 4, value + "×", "end")),
    ...[least, 0].map((value) => label(x(value), HEIGHT - BOTTOM + 15, signed(value, 2))),
    label(limit, HEIGHT - BOTTOM + 29, say(TEXT.trade.limit, { nats: choice.limit[0] })),
    ...all.map((mark) => svg("path", { d: MARKS[kind(mark)](x(mark.nats), y(mark.times)), class: `trade-${kind(mark)}${choice.outside.has(mark.index) ? " beyond" : ""}` })),
    ...all.filter(({ index }) => index === point).map(({ nats, times }) => svg("circle", { cx: x(nats), cy: y(times), r: 10, class: "trade-here" })),
  ];
}
