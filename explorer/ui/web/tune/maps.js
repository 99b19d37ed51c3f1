// The maps: every figure over theta and W, for one draft length at a time.

import { button, fill, make, say } from "../core/dom.js";
import { number, shortPercent, signed } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { makeHeatMap } from "./heat_map.js";

// limit: of what may be lost, [nats, answers].
const FIGURES = [
  { name: "tau", tone: "good", form: (value) => number(value), scale: spreadOf },
  { name: "times_plain_modelled", tone: "good", form: (value) => number(value) + "×", scale: spreadOf },
  { name: "loosened_share", tone: "loose", form: shortPercent, scale: (values) => [0, Math.max(...values)] },
  { name: "nats_per_token", tone: "far", form: (value) => signed(value, 3), scale: (values, limit) => [0, Math.min(-limit[0], ...values)] },
  { name: "right", tone: "good", form: (value) => String(value), scale: spreadOf },
];

// From the least to the most, but never over less than a fifth of the most: what is nearly level looks level.
function spreadOf(values) {
  const most = Math.max(...values);
  return [Math.min(...values, most * 0.8), most];
}

// onPick(point), onLength(length): of the drafts whose points are to be on show.
export function makeMaps({ onPick, onLength }) {
  const lengths = make("div", "tune-lengths");
  lengths.setAttribute("role", "group");
  lengths.setAttribute("aria-label", TEXT.lengths);
  const maps = FIGURES.map((figure) => ({ figure, ...makeHeatMap({ ...figure, title: TEXT.figures[figure.name] }, { onPick }) }));
  const key = make("p", "quiet heat-key"), lead = make("p", "quiet lead", TEXT.maps_lead);
  const root = make("section", "tune-maps", make("h3", "", TEXT.maps), lead, lengths,
    make("div", "heat-maps", ...maps.map((map) => map.root)), key);

  function offer(head) {
    lengths.hidden = head.lengths.length < 2;
    lengths.replaceChildren(...head.lengths.map((length) => {
      const node = button("", say(TEXT.length, { length }), () => onLength(length));
      node.dataset.length = length;
      return node;
    }));
  }

  function shape(head, length) {
    const points = new Map();
    head.points.forEach(({ settings }, index) => {
      if (settings.rule === "fly" && settings.draft_length === length) points.set(`${settings.theta} ${settings.window}`, index);
    });
    for (const map of maps) map.shape(head.thetas, head.windows, points);
    for (const node of lengths.children) node.setAttribute("aria-pressed", String(+node.dataset.length === length));
  }

  function draw({ figures, choice, through, head }, point) {
    for (const { figure, root: node, draw: paint } of maps) {
      node.hidden = figure.name === "right" && !figures[0].checkable;
      paint({ values: figures.map((ofPoint) => ofPoint[figure.name]), chosen: choice.choice, picked: point, outside: choice.outside, limit: choice.limit });
    }
    key.replaceChildren(...fill(through < head.prompts.length ? TEXT.key_partial : TEXT.key, { done: through, all: head.prompts.length }));
  }

  return { root, offer, shape, draw, lead(text) { lead.textContent = text; } };
}
