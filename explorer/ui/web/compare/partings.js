// Where the texts part, and why, in words.

import { fill, make, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { short } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { SIDES } from "./side_text.js";

// comparison: of compare.js.
export function drawPartings(root, { sides, apart, gap }) {
  root.hidden = false;
  const tokens = (index) => Math.min(sides[0].run.tokens.length, sides[index].run.tokens.length);
  root.replaceChildren(make("h3", "", TEXT.partings.title), make("ul", "parting-list",
    ownItem(sides[1].parting, 1, tokens(1), gap), ownItem(sides[2].parting, 2, tokens(2), gap), apartItem(apart, tokens(2))));
}

// Where a side leaves the target's own text.
function ownItem(parting, index, tokens, gap) {
  const words = TEXT.partings, names = { side: SIDES[index], other: words.target };
  if (parting === undefined) return null;
  if (parting === null) return make("li", "", say(words.none, { ...names, tokens }));
  return make("li", "", partingLine(words.leaves, parting, names), make("p", "quiet",
    ...(parting.tie ? [make("b", "tie", words.tie), " "] : []), causeOf(parting), " ",
    gap === null ? "" : say(words.gap, { gap: short(parting.gap), limit: String(gap) })));
}

// Where the two sides leave each other.
function apartItem(parting, tokens) {
  const words = TEXT.partings, names = { side: SIDES[2], other: SIDES[1] };
  if (parting === undefined) return null;
  return make("li", "", ...(parting === null ? [say(words.together, { ...names, tokens })] : [partingLine(words.apart, parting, names)]));
}

const partingLine = (template, { index, ours, theirs }, names) =>
  make("p", "", ...fill(template, { ...names, index: String(index + 1), ours: quote(ours), theirs: quote(theirs) }));

function causeOf({ cause, tie }) {
  const words = TEXT.partings;
  if (cause === "fly") return tie ? words.fly_tie : words.fly;
  return { relaxed: words.relaxed, numeric: words.numeric }[cause] ?? words.other;
}
