// The strip: the text in reading order, one span per token, one group per round; roving focus.

import { make } from "../core/dom.js";
import { TEXT } from "../given/texts.js";
import { makeStripMarks } from "./strip_marks.js";
import { makeStripText } from "./strip_text.js";

// onHover(index or null), onLook(index), onPin(index or null).
export function makeStrip({ onHover, onLook, onPin }) {
  const root = make("div", "strip");
  root.setAttribute("role", "listbox");
  root.setAttribute("aria-label", TEXT.strip);
  const text = makeStripText(root), marks = makeStripMarks(text);
  let entry = null; // the one token in the tab order
  let picked = null;

  function clear() {
    entry = picked = null;
    text.clear();
    marks.clear();
    root.replaceChildren(make("p", "empty", TEXT.empty));
  }

  function addRound(run, round, kinds) {
    if (!text.spans.length) root.replaceChildren();
    text.addRound(run, round, kinds);
    if (!entry && text.spans.length) rove(text.spans[0]);
  }

  function focus(index) {
    const span = text.spans[Math.max(0, Math.min(text.spans.length - 1, index))];
    if (!span) return;
    rove(span);
    span.focus();
  }

  function rove(span) {
    if (entry) entry.tabIndex = -1;
    entry = span;
    entry.tabIndex = 0;
  }

  function select(index) {
    if (picked) picked.setAttribute("aria-selected", "false");
    picked = index === null ? null : text.spans[index];
    if (picked) { picked.setAttribute("aria-selected", "true"); rove(picked); }
  }

  // Into sight within the strip, without moving the page.
  function bring(index) {
    const span = text.spans[index];
    const box = root.getBoundingClientRect(), place = span.getBoundingClientRect();
    if (place.top < box.top || place.bottom > box.bottom) root.scrollTop += place.top - box.top - box.height / 3;
  }

  // Where the card lies over the page (a phone), bring the token out from under it.
  function reveal(index, card) {
    if (getComputedStyle(card).position === "fixed") text.spans[index].scrollIntoView({ block: "nearest" });
  }

  listen(root, text.spans, { focus, onHover, onLook, onPin });
  clear();
  return { root, clear, addRound, addTail: text.addTail, focus, select, reveal, bring,
    showRound: marks.showRound, dimAfter: marks.dimAfter, rejudge: marks.rejudge };
}

// Pointer and keys. focus(index): move the focus there.
function listen(root, spans, { focus, onHover, onLook, onPin }) {
  const tokenOf = (event) => event.target.closest?.(".tok");
  root.addEventListener("pointerover", (event) => {
    const span = tokenOf(event);
    if (event.pointerType !== "touch") onHover(span ? +span.dataset.i : null);
  });
  root.addEventListener("pointerleave", () => onHover(null));
  root.addEventListener("focusin", (event) => { const span = tokenOf(event); if (span) onLook(+span.dataset.i); });
  root.addEventListener("click", (event) => { const span = tokenOf(event); if (span) onPin(+span.dataset.i); });
  root.addEventListener("keydown", (event) => {
    const span = tokenOf(event);
    if (!span || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = +span.dataset.i;
    const moves = {
      ArrowRight: () => at + 1, ArrowLeft: () => at - 1,
      ArrowDown: () => lineAway(spans, at, 1), ArrowUp: () => lineAway(spans, at, -1),
      Home: () => 0, End: () => spans.length - 1,
    };
    if (moves[event.key]) focus(moves[event.key]());
    else if (event.key === "Enter" || event.key === " ") onPin(at);
    else if (event.key === "Escape") onPin(null);
    else return;
    event.preventDefault();
  });
}

// The nearest token one line up or down, by its place on the screen.
function lineAway(spans, at, direction) {
  const from = spans[at].getBoundingClientRect();
  for (let i = at + direction, best = null; ; i += direction) {
    const box = spans[i]?.getBoundingClientRect();
    if (!box) return best ?? at;
    if (Math.abs(box.top - from.top) < from.height / 2) continue;
    if (best !== null && Math.abs(box.top - spans[best].getBoundingClientRect().top) > box.height / 2) return best;
    const distance = (n) => Math.abs(spans[n].getBoundingClientRect().left - from.left);
    if (best === null || distance(i) <= distance(best)) best = i;
  }
}
