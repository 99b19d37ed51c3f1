// One node of a drafted tree as the page shows it: a face, classes and a sentence. The node after the last is the target's own token.

import { fill, make } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { percent } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { kindClass } from "./kinds.js";

// at: {run, round, judgement, kinds}, as for the panel.
export function treeNode(at, index) {
  const { run, round, judgement, kinds } = at, { tree } = round;
  const letter = (kind) => make("span", `mark ${kindClass(kind)}`, (kinds[kind] ?? TEXT.others[kind]).mark);
  const chip = (token) => {
    const text = quote(run.pieces[token].text);
    text.classList.add("tree-text");
    return text;
  };
  const drafted = ({ position, token, prob }) =>
    [chip(token), make("span", "tree-chance", percent(prob)), position === null ? null : letter(judgement.verdicts[position])];
  const face = make("span", "tree-face", ...(index < tree.length ? drafted(tree[index]) : [chip(round.replacement[judgement.accepted]), letter(judgement.last)]));
  face.setAttribute("aria-hidden", "true");
  const node = make("div", "tree-node", face, make("span", "sr-only", ...nodeSentence(at, index)));
  node.classList.add(...nodeClasses(at, index));
  if (index < tree.length) node.style.setProperty("--along", Math.sqrt(tree[index].along));
  node.setAttribute("role", "treeitem");
  node.dataset.node = index;
  return node;
}

// What became of a node.
function fateOf({ round, judgement: { accepted } }, index) {
  if (index === round.tree.length) return "own";
  const { position } = round.tree[index];
  if (position === null) return "beside";
  return position < accepted ? "kept" : position === accepted ? "refused" : "discarded";
}

export function nodeClasses(at, index) {
  const { round, judgement } = at, fate = fateOf(at, index);
  if (fate === "own") return [fate, judgement.last];
  return fate === "kept" ? [fate, judgement.verdicts[round.tree[index].position]] : [fate];
}

// All of a node in words; the tokens as nodes of the page, so that their spaces are seen.
export function nodeSentence(at, index) {
  const { run, round, judgement } = at, words = TEXT.tree, text = (token) => quote(run.pieces[token].text);
  const node = round.tree[index];
  if (!node) return fill(words.own_node, { token: text(round.replacement[judgement.accepted]) });
  const values = { token: text(node.token), level: node.depth, chance: percent(node.prob), along: percent(node.along), choice: text(node.argmax) };
  return [...fill(words.node, values), " " + words.fates[fateOf(at, index)]];
}
