// Every disagreement of a run by one measure of the target's entropy there: a dot each, stacked where they meet.

import { niceTop } from "../core/charts.js";
import { button, make, makeMemo, onWidth } from "../core/dom.js";
import { svg, svgText } from "../core/svg.js";
import { ENTROPY_MAXIMUM } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { makeCutHandle } from "./cut_handle.js";
import { SHAPES, shapeClass } from "./shapes.js";

const PLOT_HEIGHT = 118, AXIS_HEIGHT = 20; // px
const PICK_DISTANCE = 14; // px
const dotSize = (count) => (count <= 40 ? 14 : count <= 160 ? 11 : 8); // px

// onPick(round, position), onTheta(theta), onMeasure(measure).
export function makeDotPlot(measure, { onPick, onTheta, onMeasure }) {
  const words = TEXT.gauges;
  const below = svg("rect", { class: "below", x: 0, y: 0, height: PLOT_HEIGHT }), axis = svg("g", { class: "axis" });
  const dots = makeDots(measure);
  const picture = svg("svg", { height: PLOT_HEIGHT + AXIS_HEIGHT, "aria-hidden": "true" }, below, axis, ...dots.nodes);
  const handle = makeCutHandle(measure, picture, onTheta);
  const sides = make("p", "sides"), use = button("use-measure", words.use, () => onMeasure(measure));
  const root = make("div", "plot", make("h4", "", TEXT.card[measure], use), sides, make("div", "plot-stage", picture, handle.root));
  let width = 0, last = null;
  let scale = null; // {top, size, x(value)}: of the run's, so that it stands still while theta moves
  onWidth(root, (found) => { width = found; if (last) draw(...last); });

  function draw(all, settings, at) {
    last = [all, settings, at];
    if (!width) return;
    scale = scaleOf(all, measure, width);
    dots.draw(all, at, width, scale);
    drawAxis(axis, width, scale);
    picture.setAttribute("width", width);
    cut(settings);
  }

  function cut(settings) {
    if (!last || !width) return;
    const [all] = last, { theta } = settings, used = settings.rule === "fly" && settings.entropy === measure;
    last[1] = settings;
    root.classList.toggle("used", used);
    use.hidden = used;
    handle.root.hidden = !used;
    below.setAttribute("width", used ? scale.x(theta) : 0);
    if (!used) { sides.replaceChildren(make("span", "quiet", words.not_used)); return; }
    const sure = all.filter((mismatch) => mismatch[measure] < theta).length, unsure = all.length - sure;
    handle.place(theta, width, scale, { sure, unsure });
    const side = (count, label) => make("span", "", make("b", "", String(count)), " " + label);
    sides.replaceChildren(side(sure, words.sure), side(unsure, words.unsure));
  }

  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect(), nearest = dots.nearest(event.clientX - box.left, event.clientY - box.top);
    if (nearest !== null) onPick(last[0][nearest].round, last[0][nearest].position);
  });
  return { root, draw, cut };
}

function scaleOf(all, measure, width) {
  const top = Math.min(niceTop(Math.max(...all.map((mismatch) => mismatch[measure]))), ENTROPY_MAXIMUM[measure]), size = dotSize(all.length);
  return { top, size, x: (value) => Math.min(1, value / top) * (width - size) + size / 2 };
}

function drawAxis(axis, width, { top, x }) {
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * top);
  axis.replaceChildren(svg("path", { d: `M0 ${PLOT_HEIGHT}H${width}` }), ...ticks.map((value, index) =>
    svgText(x(value), PLOT_HEIGHT + 15, String(+value.toPrecision(3)), { "text-anchor": index === 0 ? "start" : index === 4 ? "end" : "middle" })));
}

// The dots, one path for each verdict, and a ring around the one on show.
function makeDots(measure) {
  const layers = Object.fromEntries(Object.keys(SHAPES).reverse().map((verdict) => [verdict, svg("path", { class: shapeClass(verdict) })]));
  const ring = svg("circle", { class: "here", r: 6.5 });
  const laid = makeMemo();
  let dots = [];

  function draw(all, at, width, scale) {
    const { size, top } = scale;
    if (!laid(all.length, all[0].round, width, top, all[0][measure], all[all.length - 1][measure])) dots = layDots(all, measure, width, scale);
    const paths = Object.fromEntries(Object.keys(layers).map((verdict) => [verdict, []]));
    dots.forEach((dot, index) => { const { verdict } = all[index]; paths[verdict].push(SHAPES[verdict](dot.x, dot.y, size)); });
    for (const [verdict, path] of Object.entries(layers)) path.setAttribute("d", paths[verdict].join(""));
    const here = at ? all.findIndex((mismatch) => mismatch.round === at.round && mismatch.position === at.position) : -1;
    ring.style.display = here < 0 ? "none" : "";
    if (here >= 0) { ring.setAttribute("cx", dots[here].x); ring.setAttribute("cy", dots[here].y); ring.setAttribute("r", size * 0.75); }
  }

  // The index of the dot nearest to a point, null where none is near.
  function nearest(x, y) {
    let best = null;
    dots.forEach((dot, index) => {
      const distance = Math.hypot(dot.x - x, dot.y - y);
      if (distance < PICK_DISTANCE && (best === null || distance < best.distance)) best = { index, distance };
    });
    return best && best.index;
  }

  return { nodes: [...Object.values(layers), ring], draw, nearest };
}

// Where the dots stand: in columns as wide as a dot, which close up where one is too high.
function layDots(all, measure, width, { size, x }) {
  const heights = new Map(), bins = all.map((mismatch) => Math.round(x(mismatch[measure]) / size));
  for (const bin of bins) heights.set(bin, (heights.get(bin) ?? 0) + 1);
  const rise = Math.min(size, (PLOT_HEIGHT - 22) / Math.max(...heights.values()));
  heights.clear();
  return bins.map((bin) => {
    const level = heights.get(bin) ?? 0;
    heights.set(bin, level + 1);
    return { x: Math.min(width - size / 2, Math.max(size / 2, bin * size)), y: PLOT_HEIGHT - size / 2 - 2 - level * rise };
  });
}
