// One figure over theta and W as a grid of cells: colour by value, the value in figures, a mark on the recommended point,
// hatching beyond the limit. Arrow keys move from cell to cell; where the focus is, is what the page shows.

import { make, onWidth, say } from "../core/dom.js";
import { short } from "../core/numbers.js";
import { svg, svgText } from "../core/svg.js";
import { TEXT } from "../given/texts.js";

const CELL_HEIGHT = 40, CELL_GAP = 2, ROW_LABELS = 30, COLUMN_LABELS = 22; // px
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
let heatMaps = 0;

// figure: {name, title, tone, form(value), scale(values, limit)}: from which value to which the colour deepens. onPick(point index).
export function makeHeatMap(figure, { onPick }) {
  const words = TEXT.map;
  const hatch = `hatch-${(heatMaps += 1)}-${Math.random().toString(36).slice(2)}`;
  const picture = svg("svg", { role: "group", class: `heat tone-${figure.tone}` });
  picture.setAttribute("aria-label", say(words.label, { figure: figure.title }));
  const range = make("span", "quiet heat-range");
  const root = make("div", "heat-map", make("h4", "", figure.title, " ", range), picture);
  let width = 0, grid = null, cells = new Map(), last = null;
  onWidth(root, (found) => { width = found; lay(); });

  // thetas, windows: the axes; points: by "theta window" the index of the point.
  function shape(thetas, windows, points) {
    grid = { thetas, windows, points };
    lay();
  }

  function lay() {
    if (!grid || !width) return;
    const { thetas, windows, points } = grid, across = (width - ROW_LABELS) / thetas.length;
    picture.setAttribute("width", width);
    picture.setAttribute("height", windows.length * CELL_HEIGHT + COLUMN_LABELS);
    const all = windows.flatMap((window, row) => thetas.map((theta, column) =>
      heatCell({ theta, window, row, column, point: points.get(`${theta} ${window}`) }, across, hatch)));
    cells = new Map(all.map((cell) => [cell.point, cell]));
    for (const cell of all) {
      cell.node.addEventListener("click", () => pick(cell));
      cell.node.addEventListener("keydown", (event) => move(event, cell));
    }
    picture.replaceChildren(hatching(hatch), ...axisLabels(grid, across), ...all.map((cell) => cell.node));
    if (last) draw(last);
  }

  function pick(cell) {
    onPick(cell.point);
    cell.node.focus();
  }

  function move(event, cell) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(cell); return; }
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const next = [...cells.values()].find(({ row, column }) => row === cell.row + step[0] && column === cell.column + step[1]);
    if (next) pick(next);
  }

  // state: values (by point, null: none), chosen, picked (indices of points), outside (a set of them), limit: as the figure's scale
  // takes it.
  function draw(state) {
    last = state;
    if (!cells.size) return;
    const shown = [...cells.keys()].map((point) => state.values[point]).filter((value) => value !== null && value !== undefined);
    const least = Math.min(...shown), most = Math.max(...shown), scale = figure.scale(shown, state.limit);
    range.textContent = !shown.length ? "" : least === most ? words.same : say(words.range, { low: figure.form(least), high: figure.form(most) });
    const entry = cells.has(state.picked) ? state.picked : cells.keys().next().value;
    for (const cell of cells.values()) drawCell(cell, state, { figure, scale, entry });
  }

  return { root, shape, draw };
}

const hatching = (id) => svg("defs", {}, svg("pattern", { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("path", { d: "M0 0V7", class: "heat-hatch" })));

function axisLabels({ thetas, windows }, across) {
  const text = (x, y, value, anchor) => svgText(x, y, String(value), { "text-anchor": anchor, class: "heat-axis", "aria-hidden": "true" });
  return [
    ...windows.map((window, row) => text(0, row * CELL_HEIGHT + CELL_HEIGHT / 2 + 4, window, "start")),
    ...thetas.map((theta, column) => text(ROW_LABELS + (column + 0.5) * across, windows.length * CELL_HEIGHT + COLUMN_LABELS - 5, theta, "middle")),
  ];
}

// place: {theta, window, row, column, point}; across: px from column to column. Returns place with its parts.
function heatCell(place, across, hatch) {
  const x = ROW_LABELS + place.column * across, y = place.row * CELL_HEIGHT, w = across - CELL_GAP, h = CELL_HEIGHT - CELL_GAP;
  const box = { x, y, width: w, height: h, rx: 4 };
  const parts = {
    fill: svg("rect", { ...box, class: "heat-cell" }), hatch: svg("rect", { ...box, fill: `url(#${hatch})`, class: "heat-beyond" }),
    value: svg("text", { x: x + w / 2, y: y + h / 2 + 4.5, "text-anchor": "middle", class: "heat-value" }),
    mark: svg("path", { d: `M${x + w - 14} ${y + 5}h9v9z`, class: "heat-mark" }),
    ring: svg("rect", { x: x + 1.5, y: y + 1.5, width: w - 3, height: h - 3, rx: 3, class: "heat-ring" }),
  };
  return { ...place, ...parts, node: svg("g", { role: "button", tabindex: -1 }, ...Object.values(parts)) };
}

// scale: the values from which to which the colour deepens; entry: the point of the cell in the tab order.
function drawCell(cell, { values, chosen, picked, outside }, { figure, scale: [from, to], entry }) {
  const words = TEXT.map, { point } = cell, value = values[point], known = value !== null && value !== undefined;
  const share = from === to ? 0 : Math.max(0, Math.min(1, (value - from) / (to - from)));
  const show = (part, on) => { part.style.display = on ? "" : "none"; };
  cell.fill.style.setProperty("--depth", known ? 0.06 + 0.94 * share : 0);
  cell.value.textContent = known ? figure.form(value) : "";
  show(cell.hatch, outside.has(point));
  show(cell.mark, chosen === point);
  show(cell.ring, picked === point);
  cell.node.setAttribute("tabindex", point === entry ? 0 : -1);
  cell.node.setAttribute("aria-pressed", String(picked === point));
  const notes = [chosen === point && words.chosen, outside.has(point) && words.outside].filter(Boolean);
  cell.node.setAttribute("aria-label", [say(words.cell, { theta: short(cell.theta), window: cell.window }),
    known ? `${figure.title} ${figure.form(value)}` : words.nothing, ...notes].join(", "));
}
