// The tree that a round's draft was chosen from: depth from left to right, what became of each node told by shape and letter, all
// of a node in words below. Arrow keys walk from node to node.

import { make, makeMemo, say } from "../core/dom.js";
import { TEXT } from "../given/texts.js";
import { nodeSentence } from "./tree_node.js";
import { makeTreePicture } from "./tree_picture.js";

export function makeTree(onPick) {
  const words = TEXT.tree;
  const root = make("section", "tree");
  root.setAttribute("aria-label", words.title);
  const title = make("h4"), picture = makeTreePicture();
  const told = make("p", "tree-told");
  root.append(title, make("div", "tree-scroll", picture.root), told, make("p", "quiet tree-key", words.key, " ", make("span", "tree-keys", words.keys)));
  const drawn = makeMemo();
  let shown = null, here = 0; // here: the node told below; the last one is the target's own token

  const clear = () => { root.hidden = true; drawn(); };

  // at: as for the lanes; the node told is that of the position on show, until another one is walked to.
  function draw(at) {
    const { run, round, judgement, position } = at;
    root.hidden = !round.tree;
    if (!round.tree) { drawn(); return; }
    const moved = at.position !== shown?.position;
    shown = at;
    const same = drawn(run.head.run, round.index, judgement.verdicts);
    if (!same) build(at);
    if (same && !moved) return;
    const place = round.tree.findIndex((node) => node.position === position);
    select(place < 0 ? round.tree.length : place);
  }

  function build(at) {
    const { tree } = at.round, depth = Math.max(...tree.map((node) => node.depth));
    title.replaceChildren(words.title, make("small", "", say(words.counts, { nodes: tree.length, depth, kept: at.judgement.accepted })));
    picture.draw(at);
  }

  function tell(index) { told.replaceChildren(...nodeSentence(shown, index)); }

  function select(index, focus) {
    here = index;
    picture.select(index);
    tell(index);
    if (focus) picture.focus(index);
  }

  function pick(index) {
    const position = index === shown.round.tree.length ? shown.judgement.accepted : shown.round.tree[index].position;
    if (position !== null) onPick(position);
    select(index, true);
  }

  const room = picture.root, indexOf = (event) => event.target.closest?.(".tree-node")?.dataset.node;
  room.addEventListener("click", (event) => { if (indexOf(event) !== undefined) pick(+indexOf(event)); });
  room.addEventListener("mouseover", (event) => { if (indexOf(event) !== undefined) tell(+indexOf(event)); });
  room.addEventListener("mouseleave", () => tell(here));
  room.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const chosen = ["Enter", " "].includes(event.key), index = chosen ? here : picture.neighbour(here, event.key);
    if (index === undefined) return;
    event.preventDefault();
    if (chosen) pick(index);
    else select(index, true);
  });

  clear();
  return { root, clear, draw };
}
