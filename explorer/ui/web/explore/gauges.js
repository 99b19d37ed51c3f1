// Every disagreement by the target's entropy there, once for each measure; on the one in use, theta is a line to drag.

import { disc, niceTop } from "../core/charts.js";
import { button, make, makeMemo, onWidth, say } from "../core/dom.js";
import { short } from "../core/numbers.js";
import { svg, svgText } from "../core/svg.js";
import { ENTROPY_MAXIMUM } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { allDisagreements } from "./figures.js";

const PLOT_HEIGHT = 118;
// A shape for each verdict, as a path around (x, y) of a size: never by colour alone.
const SHAPES = {
  deferred: (x, y, d) => disc(x, y, d * 0.42),
  relaxed: (x, y, d) => `M${x} ${y - d * 0.46}l${d * 0.46} ${d * 0.46}l${-d * 0.46} ${d * 0.46}l${-d * 0.46} ${-d * 0.46}z`,
  "rejected:gate": (x, y, d) => disc(x, y, d * 0.35),
  "rejected:window": (x, y, d) => `M${x - d * 0.32} ${y - d * 0.32}l${d * 0.64} ${d * 0.64}m0 ${-d * 0.64}l${-d * 0.64} ${d * 0.64}`,
  "rejected:edge": (x, y, d) => `M${x - d * 0.34} ${y - d * 0.36}h${d * 0.68}m${-d * 0.34} 0v${d * 0.74}`,
  "rejected:limit": (x, y, d) => `M${x} ${y - d * 0.38}l${d * 0.38} ${d * 0.38}l${-d * 0.38} ${d * 0.38}l${-d * 0.38} ${-d * 0.38}z`,
  "rejected:stop": (x, y, d) => `M${x - d * 0.3} ${y - d * 0.3}h${d * 0.6}v${d * 0.6}h${-d * 0.6}z`,
  rejected: (x, y, d) => `M${x - d * 0.35} ${y}h${d * 0.7}`,
  discarded: (x, y, d) => disc(x, y, d * 0.17),
};
const dotSize = (count) => (count <= 40 ? 14 : count <= 160 ? 11 : 8); // px

// onPick(round, position), onTheta(theta), onMeasure(measure).
export function makeGauges({ onPick, onTheta, onMeasure }) {
  const words = TEXT.gauges;
  const root = make("section", "gauges");
  root.setAttribute("aria-label", words.title);
  const heading = make("h3", "", words.title);
  const lead = make("p", "quiet lead");
  const key = make("ul", "shape-key");
  const plots = Object.fromEntries(Object.keys(ENTROPY_MAXIMUM).map((measure) =>
    [measure, makeDotPlot(measure, { onPick, onTheta, onMeasure })]));
  const why = make("details", "why", make("summary", "", words.why), make("p", "", words.why_text), flatCurves(), make("p", "quiet", words.why_axis));
  root.append(heading, lead, make("div", "plots", ...Object.values(plots).map((plot) => plot.root)), key, why);
  const drawn = makeMemo();
  const clear = () => { root.hidden = true; drawn(); };

  // outcome: of the replay whose judgements are shown, if one is. While it stays, only the cut line moves.
  function draw(run, judgedOf, settings, at, outcome) {
    if (drawn(run.head.run, run.rounds.length, outcome, settings.rule, settings.entropy, at.round, at.position)) {
      for (const plot of Object.values(plots)) plot.cut(settings);
      return;
    }
    const all = allDisagreements(run, judgedOf);
    root.hidden = !all.length;
    if (!all.length) return;
    lead.textContent = say(words.lead, { count: all.length }) + (settings.rule === "fly" ? " " + words.drag : "");
    const counts = {};
    for (const { verdict } of all) counts[verdict] = (counts[verdict] ?? 0) + 1;
    key.replaceChildren(...Object.keys(SHAPES).filter((verdict) => counts[verdict]).map((verdict) =>
      make("li", "", sampleOf(verdict), make("b", "", String(counts[verdict])), " " + words.outcomes[verdict])));
    for (const plot of Object.values(plots)) plot.draw(all, settings, at);
  }

  clear();
  return { root, clear, draw };
}

const shapeClass = (verdict) => "shape-" + verdict.replace(":", "-");

function sampleOf(verdict) {
  return svg("svg", { width: 14, height: 14, class: "sample", "aria-hidden": "true" }, svg("path", { d: SHAPES[verdict](7, 7, 13), class: shapeClass(verdict) }));
}

function makeDotPlot(measure, { onPick, onTheta, onMeasure }) {
  const words = TEXT.gauges;
  const layers = Object.fromEntries(Object.keys(SHAPES).reverse().map((verdict) => [verdict, svg("path", { class: shapeClass(verdict) })]));
  const below = svg("rect", { class: "below", x: 0, y: 0, height: PLOT_HEIGHT });
  const axis = svg("g", { class: "axis" });
  const ring = svg("circle", { class: "here", r: 6.5 });
  const picture = svg("svg", { height: PLOT_HEIGHT + 20, "aria-hidden": "true" }, below, axis, ...Object.values(layers), ring);
  const handle = make("span", "cut", make("span", "cut-grip", "θ"));
  handle.setAttribute("role", "slider");
  handle.setAttribute("aria-label", say(words.handle, { measure: TEXT.card[measure] }));
  handle.setAttribute("aria-valuemin", 0);
  handle.tabIndex = 0;
  const stage = make("div", "plot-stage", picture, handle);
  const sides = make("p", "sides");
  const use = button("use-measure", words.use, () => onMeasure(measure));
  const root = make("div", "plot", make("h4", "", TEXT.card[measure], use), sides, stage);
  let width = 0, top = 1, last = null, dots = [], theta = 0, size = dotSize(0);
  onWidth(root, (found) => { width = found; if (last) draw(...last); });
  const x = (value) => Math.min(1, value / top) * (width - size) + size / 2;

  function draw(all, settings, at) {
    last = [all, settings, at];
    if (!width) return;
    // The scale is the run's, so that it stands still while theta moves.
    top = Math.min(niceTop(Math.max(...all.map((one) => one[measure]))), ENTROPY_MAXIMUM[measure]);
    size = dotSize(all.length);
    place(all);
    const paths = Object.fromEntries(Object.keys(layers).map((verdict) => [verdict, []]));
    dots.forEach((dot, index) => { const { verdict } = all[index]; paths[verdict].push(SHAPES[verdict](dot.x, dot.y, size)); });
    for (const [verdict, path] of Object.entries(layers)) path.setAttribute("d", paths[verdict].join(""));
    const here = at ? all.findIndex((one) => one.round === at.round && one.position === at.position) : -1;
    ring.style.display = here < 0 ? "none" : "";
    if (here >= 0) { ring.setAttribute("cx", dots[here].x); ring.setAttribute("cy", dots[here].y); ring.setAttribute("r", size * 0.75); }
    picture.setAttribute("width", width);
    cut(settings);
  }

  function cut(settings) {
    if (!last || !width) return;
    const [all] = last, used = settings.rule === "fly" && settings.entropy === measure;
    last[1] = settings;
    root.classList.toggle("used", used);
    use.hidden = used;
    handle.hidden = !used;
    theta = settings.theta;
    below.setAttribute("width", used ? x(theta) : 0);
    if (used) {
      const sure = all.filter((one) => one[measure] < theta).length;
      handle.style.left = x(theta) + "px";
      handle.classList.toggle("beyond", theta > top);
      handle.setAttribute("aria-valuemax", ENTROPY_MAXIMUM[measure].toFixed(3));
      handle.setAttribute("aria-valuenow", theta);
      handle.setAttribute("aria-valuetext", say(words.value, { theta: short(theta), sure, unsure: all.length - sure }));
      sides.replaceChildren(make("span", "", make("b", "", String(sure)), " " + words.sure), make("span", "", make("b", "", String(all.length - sure)), " " + words.unsure));
    } else sides.replaceChildren(make("span", "quiet", words.not_used));
  }

  let placed = null; // what the dots were laid out for
  function place(all) {
    const key = `${all.length} ${all[0]?.round} ${width} ${top}`;
    if (placed?.key === key && placed.first === all[0]?.[measure] && placed.last === all[all.length - 1]?.[measure]) return;
    placed = { key, first: all[0]?.[measure], last: all[all.length - 1]?.[measure] };
    const heights = new Map();
    const bins = all.map((one) => Math.round(x(one[measure]) / size));
    const most = Math.max(...bins.map((bin) => { heights.set(bin, (heights.get(bin) ?? 0) + 1); return heights.get(bin); }));
    const rise = Math.min(size, (PLOT_HEIGHT - 22) / most);
    heights.clear();
    dots = bins.map((bin) => {
      const level = heights.get(bin) ?? 0;
      heights.set(bin, level + 1);
      return { x: Math.min(width - size / 2, Math.max(size / 2, bin * size)), y: PLOT_HEIGHT - size / 2 - 2 - level * rise };
    });
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * top);
    axis.replaceChildren(svg("path", { d: `M0 ${PLOT_HEIGHT}H${width}` }), ...ticks.map((value, index) => {
      const text = svg("text", { x: x(value), y: PLOT_HEIGHT + 15, "text-anchor": index === 0 ? "start" : index === 4 ? "end" : "middle" });
      text.textContent = String(+value.toPrecision(3));
      return text;
    }));
  }

  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    let best = null;
    dots.forEach((dot, index) => {
      const distance = Math.hypot(dot.x - px, dot.y - py);
      if (distance < 14 && (best === null || distance < best.distance)) best = { index, distance };
    });
    if (best) onPick(last[0][best.index].round, last[0][best.index].position);
  });

  const settle = (value) => {
    theta = +Math.max(0, Math.min(ENTROPY_MAXIMUM[measure], value)).toFixed(3); // at once: the next key may come before the next frame
    onTheta(theta);
  };
  handle.addEventListener("pointerdown", (event) => { handle.setPointerCapture(event.pointerId); handle.focus(); event.preventDefault(); });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    settle(((event.clientX - picture.getBoundingClientRect().left - size / 2) / (width - size)) * top);
  });
  handle.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 0.005, ArrowUp: 0.005, ArrowLeft: -0.005, ArrowDown: -0.005, PageUp: 0.05, PageDown: -0.05 }[event.key];
    if (step === undefined && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    event.stopPropagation();
    settle(event.key === "Home" ? 0 : event.key === "End" ? ENTROPY_MAXIMUM[measure] : theta + step);
  });
  return { root, draw, cut };
}

// Both measures of a probability spread evenly over 1 to 1000 tokens: one rises for ever, the other turns.
function flatCurves() {
  const W = 420, H = 130, V = 49152;
  const at = (n) => (Math.log(n) / Math.log(1000)) * (W - 60) + 30;
  const curve = (value) => Array.from({ length: 121 }, (_, i) => 1000 ** (i / 120)).map((n, i) => `${i ? "L" : "M"}${at(n).toFixed(1)} ${(H - 22 - value(n) * 90).toFixed(1)}`).join("");
  const top3 = (n) => (n < 3 ? Math.log(n) : (3 / n) * Math.log(n));
  const label = (x, y, text, name) => svgText(x, y, text, { class: name });
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "curves", role: "img", "aria-label": TEXT.gauges.why_axis },
    svg("path", { class: "axis", d: `M30 ${H - 22}H${W - 30}` }),
    svg("path", { class: "curve-top3", d: curve(top3) }), svg("path", { class: "curve-normalized", d: curve((n) => Math.log(n) / Math.log(V)) }),
    ...[1, 3, 10, 36, 100, 1000].map((n) => label(at(n) - 6, H - 6, String(n), "tick")),
    label(at(3.4), 14, TEXT.card.top3, "name"), label(at(150), H - 74, TEXT.card.normalized, "name"));
}
