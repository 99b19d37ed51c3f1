// The text of one side as it is written, and where it leaves the target's own.

import { make, say } from "../core/dom.js";
import { glyphs } from "../core/glyphs.js";
import { tokenNodes } from "../core/token.js";
import { TEXT } from "../given/texts.js";
import { kindAt } from "../twins/wire.js";
import { settingsOf } from "./side_settings.js";

export const SIDES = [TEXT.own, "A", "B"];

// index: of the side.
export function makeSideText(config, index) {
  const box = make("div", "compare-strip"), spans = []; // spans: by token
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", say(TEXT.text, { side: SIDES[index] }));
  box.tabIndex = 0;
  const settings = make("small", "", index ? settingsOf(config) : "");
  const root = make("div", index ? "compare-column" : "compare-column whole", make("h4", "", SIDES[index], settings), box);

  function addRound(run, round) {
    for (const token of run.tokens.slice(round.first)) {
      const kind = config.rule === "autoregressive" ? "exact" : kindAt(round.judgement, token.position);
      const [space, span] = tokenNodes(token, kind, TEXT.kinds[kind]);
      spans.push(span);
      box.append(space, span);
    }
  }

  return { root, spans, addRound, addTail(text) { box.append(...glyphs(text)); } };
}

// Where a run leaves the target's own text: a sign there, and what stands after it set apart; the same sign in the target's.
export function markParting(sides, side) {
  const { parting, text } = side, [own] = sides;
  if (!parting || side.marked) return;
  side.marked = true;
  text.spans[parting.index].before(make("span", "boundary", TEXT.parted));
  text.spans.slice(parting.index).forEach((span) => span.classList.add("parted"));
  own.text.spans[parting.index].before(make("span", "boundary", say(TEXT.left, { side: SIDES[sides.indexOf(side)] })));
}
