// The tree that a round's draft was chosen from: depth from left to right, what became of each node told by shape and letter, all
// of a node in words below. Arrow keys walk from node to node.

import { fill, make, makeMemo, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { percent } from "../core/numbers.js";
import { svg } from "../core/svg.js";
import { TEXT } from "../given/texts.js";
import { kindClass } from "./card.js";
import { treeLayout } from "./tree_layout.js";

const TREE = { root: 66, step: 152, box: 120, row: 34 }; // px

export function makeTree(onPick) {
  const words = TEXT.tree;
  const root = make("section", "tree");
  root.setAttribute("aria-label", words.title);
  const title = make("h4"), lines = svg("svg", { "aria-hidden": "true" });
  const room = make("div", "tree-room"), scroller = make("div", "tree-scroll", room);
  room.setAttribute("role", "tree");
  room.setAttribute("aria-label", words.title);
  const told = make("p", "tree-told");
  root.append(title, scroller, told, make("p", "quiet tree-key", words.key, " ", make("span", "tree-keys", words.keys)));
  const drawn = makeMemo();
  let shown = null, layout = null, parts = [], here = 0; // here: the node told below; the last one is the target's own token

  const clear = () => { root.hidden = true; drawn(); };

  // at: as for the lanes; the node told is that of the position on show, until another one is walked to.
  function draw(at) {
    const { run, round, judged, position } = at;
    root.hidden = !round.tree;
    if (!round.tree) { drawn(); return; }
    const moved = at.position !== shown?.position;
    shown = at;
    const same = drawn(run.head.run, round.index, judged.verdicts);
    if (!same) build(at);
    if (same && !moved) return;
    const place = round.tree.findIndex((node) => node.position === position);
    select(place < 0 ? round.tree.length : place);
  }

  function build({ run, round, judged, kinds }) {
    const { tree } = round, { root: left, step, box, row } = TREE;
    layout = treeLayout(tree, judged.kept);
    title.replaceChildren(words.title, make("small", "", say(words.counts,
      { nodes: tree.length, depth: Math.max(...tree.map((node) => node.depth)), kept: judged.kept })));
    const x = (index) => (index < 0 ? left - (step - box) : left + (layout.nodes[index].depth - 1) * step);
    const y = (index) => (index < 0 ? 0.5 : layout.nodes[index].row + 0.5) * row;
    const width = Math.max(...layout.nodes.map((_, index) => x(index))) + box, height = layout.rows * row;
    parts = layout.nodes.map((_, index) => {
      const face = make("span", "tree-face", ...(index < tree.length ? nodeParts(index) : [chip(round.choice[judged.kept]), letter(judged.last)]));
      face.setAttribute("aria-hidden", "true");
      const node = make("div", "tree-node", face, make("span", "sr-only", ...sentence(index)));
      node.classList.add(...classesOf(index));
      if (index < tree.length) node.style.setProperty("--along", Math.sqrt(tree[index].along));
      node.style.transform = `translate(${x(index)}px, ${y(index) - row / 2}px)`;
      node.setAttribute("role", "treeitem");
      node.setAttribute("aria-level", layout.nodes[index].depth);
      node.dataset.node = index;
      return node;
    });
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) lines.setAttribute(name, value);
    lines.replaceChildren(...layout.nodes.map(({ parent }, index) => {
      const from = x(parent) + (parent < 0 ? 0 : box), to = x(index), half = (to - from) / 2;
      const line = svg("path", { class: `tree-line ${classesOf(index).join(" ")}`, d: `M${from} ${y(parent)}C${from + half} ${y(parent)} ${to - half} ${y(index)} ${to} ${y(index)}` });
      line.style.strokeWidth = `${1 + 4 * (tree[index]?.chance ?? 0.25)}px`;
      return line;
    }));
    room.style.width = `${width}px`;
    room.style.height = `${height}px`;
    const start = make("span", "tree-root", words.root);
    start.setAttribute("aria-hidden", "true");
    room.replaceChildren(lines, start, ...layout.order.map((index) => parts[index]));

    function nodeParts(index) {
      const { position, token, chance } = tree[index];
      const kind = position === null ? null : judged.verdicts[position];
      return [chip(token), make("span", "tree-chance", percent(chance)), kind && letter(kind)];
    }
    function chip(token) {
      const node = quote(run.pieces[token].text);
      node.classList.add("tree-text");
      return node;
    }
    function letter(kind) {
      return make("span", `mark ${kindClass(kind)}`, (kinds[kind] ?? TEXT.others[kind]).mark);
    }
  }

  function fate(index) {
    const position = shown.round.tree[index]?.position, { kept } = shown.judged;
    return index === shown.round.tree.length ? "own" : position === null ? "beside" : position < kept ? "kept" : position === kept ? "refused" : "discarded";
  }

  const classesOf = (index) => (fate(index) === "own" ? ["own", shown.judged.last] : fate(index) === "kept" ? ["kept", shown.judged.verdicts[shown.round.tree[index].position]] : [fate(index)]);

  // All of a node in words; the tokens as nodes, so that their spaces are seen.
  function sentence(index) {
    const { run, round, judged } = shown, text = (token) => quote(run.pieces[token].text);
    const node = round.tree[index];
    if (!node) return fill(words.own_node, { token: text(round.choice[judged.kept]) });
    return [...fill(words.node, { token: text(node.token), level: node.depth, chance: percent(node.chance), along: percent(node.along), choice: text(node.choice) }),
      " " + words.fates[fate(index)]];
  }

  function select(index, focus) {
    here = index;
    parts.forEach((part, number) => {
      part.tabIndex = number === index ? 0 : -1;
      part.setAttribute("aria-selected", String(number === index));
    });
    told.replaceChildren(...sentence(index));
    if (!focus) return;
    parts[index].focus({ preventScroll: true });
    parts[index].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // The neighbour that a key leads to; undefined for keys that lead nowhere.
  function next(key) {
    const { order, nodes } = layout, at = order.indexOf(here);
    if (key === "ArrowRight") return order[at + 1] !== undefined && nodes[order[at + 1]].parent === here ? order[at + 1] : here;
    if (key === "ArrowLeft") return Math.max(nodes[here].parent, -1) < 0 ? here : nodes[here].parent;
    const place = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: order.length - 1 }[key];
    return place === undefined ? undefined : order[Math.max(0, Math.min(order.length - 1, place))];
  }

  const indexOf = (event) => event.target.closest?.(".tree-node")?.dataset.node;
  function pick(index) {
    const position = index === shown.round.tree.length ? shown.judged.kept : shown.round.tree[index].position;
    if (position !== null) onPick(position);
    select(index, true);
  }
  room.addEventListener("click", (event) => { if (indexOf(event) !== undefined) pick(+indexOf(event)); });
  room.addEventListener("mouseover", (event) => { if (indexOf(event) !== undefined) told.replaceChildren(...sentence(+indexOf(event))); });
  room.addEventListener("mouseleave", () => told.replaceChildren(...sentence(here)));
  room.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const index = ["Enter", " "].includes(event.key) ? here : next(event.key);
    if (index === undefined) return;
    event.preventDefault();
    if (event.key === "Enter" || event.key === " ") pick(index);
    else select(index, true);
  });

  clear();
  return { root, clear, draw };
}
