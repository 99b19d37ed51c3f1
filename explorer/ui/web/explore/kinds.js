// What may stand at a position, in its colours.

import { make } from "../core/dom.js";
import { TEXT } from "../given/texts.js";

// Style classes of a kind: all ways to be refused look alike, and each has its own name besides.
export const kindClass = (kind) => (kind.startsWith("rejected:") ? `rejected ${kind.replace(":", "-")}` : kind);

// The name of a kind in its colours, with its mark.
export function badge(kind, kinds) {
  const words = kinds[kind] ?? TEXT.others[kind];
  return make("span", `badge ${kindClass(kind)}`, make("b", "", words.mark), " " + words.name);
}
