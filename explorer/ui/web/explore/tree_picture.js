// The drawing of a tree: its nodes at their places, and lines between them as thick as the drafter was sure.

import { make } from "../core/dom.js";
import { svg } from "../core/svg.js";
import { TEXT } from "../given/texts.js";
import { treeLayout } from "./tree_layout.js";
import { nodeClasses, treeNode } from "./tree_node.js";

const SIZE = { root: 66, step: 152, box: 120, row: 34 }; // px

export function makeTreePicture() {
  const lines = svg("svg", { "aria-hidden": "true" }), root = make("div", "tree-room");
  root.setAttribute("role", "tree");
  root.setAttribute("aria-label", TEXT.tree.title);
  let layout = null, parts = [];

  // at: as for the panel.
  function draw(at) {
    const { tree } = at.round;
    layout = treeLayout(tree, at.judgement.accepted);
    const place = placesOf(layout), { width, height } = place;
    parts = layout.nodes.map(({ depth }, index) => {
      const node = treeNode(at, index);
      node.style.transform = `translate(${place.x(index)}px, ${place.y(index) - SIZE.row / 2}px)`;
      node.setAttribute("aria-level", depth);
      return node;
    });
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) lines.setAttribute(name, value);
    lines.replaceChildren(...layout.nodes.map(({ parent }, index) => {
      const from = place.x(parent) + (parent < 0 ? 0 : SIZE.box), to = place.x(index), half = (to - from) / 2, up = place.y(parent), down = place.y(index);
      const line = svg("path", { class: `tree-line ${nodeClasses(at, index).join(" ")}`, d: `M${from} ${up}C${from + half} ${up} ${to - half} ${down} ${to} ${down}` });
      line.style.strokeWidth = `${1 + 4 * (tree[index]?.prob ?? 0.25)}px`;
      return line;
    }));
    root.style.width = `${width}px`;
    root.style.height = `${height}px`;
    const start = make("span", "tree-root", TEXT.tree.root);
    start.setAttribute("aria-hidden", "true");
    root.replaceChildren(lines, start, ...layout.order.map((index) => parts[index]));
  }

  function select(index) {
    parts.forEach((part, other) => {
      part.tabIndex = other === index ? 0 : -1;
      part.setAttribute("aria-selected", String(other === index));
    });
  }

  function focus(index) {
    parts[index].focus({ preventScroll: true });
    parts[index].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // The node that a key leads to from another; undefined for keys that lead nowhere.
  function neighbour(from, key) {
    const { order, nodes } = layout, at = order.indexOf(from);
    if (key === "ArrowRight") return order[at + 1] !== undefined && nodes[order[at + 1]].parent === from ? order[at + 1] : from;
    if (key === "ArrowLeft") return Math.max(nodes[from].parent, -1) < 0 ? from : nodes[from].parent;
    const place = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: order.length - 1 }[key];
    return place === undefined ? undefined : order[Math.max(0, Math.min(order.length - 1, place))];
  }

  return { root, draw, select, focus, neighbour };
}

// Where the nodes stand; an index below 0 is what the tree starts from.
function placesOf(layout) {
  const x = (index) => (index < 0 ? SIZE.root - (SIZE.step - SIZE.box) : SIZE.root + (layout.nodes[index].depth - 1) * SIZE.step);
  const y = (index) => (index < 0 ? 0.5 : layout.nodes[index].row + 0.5) * SIZE.row;
  return { x, y, width: Math.max(...layout.nodes.map((_, index) => x(index))) + SIZE.box, height: layout.rows * SIZE.row };
}
