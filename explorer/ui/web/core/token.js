// One token of a text as a node.

import { make } from "./dom.js";
import { glyphs, visible } from "./glyphs.js";

// token: {text, hex, stop} of a run; kind: its class; words: of the kind, with its mark. Returns [leading space, node]: the space
// stands before its token, so that washes and underlines end with the words, also at a line's end.
export function tokenNodes({ text, hex, stop }, kind, words) {
  const space = text.length > 1 && text.startsWith(" ") ? " " : "";
  const node = make("span", `tok ${kind}`, ...glyphs(text.slice(space.length)));
  if (stop !== null) { node.classList.add("end"); node.dataset.label = visible(stop); }
  else if (!text) { node.classList.add("part"); node.dataset.label = hex || "∅"; }
  if (kind !== "exact") node.dataset.mark = words.mark;
  if (text.endsWith("\n")) node.classList.add("breaks");
  return [space, node];
}
