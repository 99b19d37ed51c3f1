// Text that a model wrote, shown so that nothing of it is invisible.

import { make } from "./dom.js";

// Characters that would be invisible, or that would reorder their neighbours: controls, bidi marks, zero widths.
// Zero-width joiners stay as they are, because emoji and several scripts are written with them.
// eslint-disable-next-line no-control-regex -- controls are what it looks for
const UNSEEN = /([\n\t]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb])/;

// Text as nodes whose textContent is that text exactly; what cannot be seen gets a quiet sign drawn beside it.
export function glyphs(text) {
  if (!UNSEEN.test(text)) return [text];
  return text.split(UNSEEN).filter(Boolean).map((part) => {
    if (!UNSEEN.test(part)) return part;
    if (part === "\n") return make("span", "nl", part);
    if (part === "\t") return make("span", "tab", part);
    const sign = make("span", "ctl", make("span", "gone", part));
    sign.dataset.code = code(part);
    return sign;
  });
}

function code(character) {
  return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

// The same, for attributes and labels, where no node can stand: one text with visible signs.
export function visible(text) {
  return text.split(UNSEEN).map((part) =>
    !UNSEEN.test(part) ? part : part === "\n" ? "↵" : part === "\t" ? "⇥" : `⟨${code(part)}⟩`).join("");
}

// A token quoted in a sentence or a table: its spaces count, so they are drawn too.
export function quote(text) {
  const shown = text.length > 60 ? text.slice(0, 60) + "…" : text;
  const node = make("code", "quote");
  for (const part of shown.split(/([ \n])/)) {
    if (part === " ") node.append(make("span", "sp", " "));
    else if (part === "\n") node.append(make("span", "nl", make("span", "gone", part))); // the sign, without the break
    else node.append(...glyphs(part));
  }
  return node;
}
