// The strip: the text in reading order, one span per token, one group per round; roving focus.
//
// Each line of the text (up to a line break the model wrote) is a block of its own. The browser lays out a block as a
// whole, so a growing text costs only its last line, and lines off the screen cost nothing.

import { make } from "../core/dom.js";
import { glyphs, visible } from "../core/glyphs.js";
import { TEXT } from "../given/texts.js";
import { kindAt } from "../twins/wire.js";

// onHover(index or null), onLook(index), onPin(index or null).
export function makeStrip({ onHover, onLook, onPin }) {
  const root = make("div", "strip");
  root.setAttribute("role", "listbox");
  root.setAttribute("aria-label", TEXT.strip);
  const spans = [];
  let stop = null; // the one token in the tab order
  let picked = null;
  let line = null; // the block that grows
  const groups = []; // by round: its groups, one for each line it touches
  let now = null; // the round on show
  let later = null; // while playing: the first round not yet reached
  const judgedAs = []; // by round: the judgement its marks show, null for the recorded one
  let boundary = null; // the first round behind the first change
  const border = make("span", "boundary", TEXT.whatif.boundary);

  function clear() {
    spans.length = groups.length = judgedAs.length = 0;
    stop = picked = line = now = later = boundary = null;
    root.replaceChildren(make("p", "empty", TEXT.empty));
  }

  function openLine() {
    line = make("div", "line");
    line.setAttribute("role", "presentation");
    root.append(line);
  }

  function openGroup(index, continued) {
    if (!line) openLine();
    const group = make("span", continued ? "round continued" : "round");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", `${TEXT.rounds.round} ${index + 1}`);
    (groups[index] ??= []).push(group);
    line.append(group);
    return group;
  }

  function addRound(run, round, kinds) {
    if (!spans.length) root.replaceChildren();
    let group = openGroup(round.index, false);
    for (const { position, text, hex, stop } of run.tokens.slice(round.first)) {
      const kind = kindAt(round.judged, position);
      if (!line) group = openGroup(round.index, true);
      // A leading space stands before its token, so that washes and underlines end with the words, also at a line's end.
      const space = text.length > 1 && text.startsWith(" ") ? " " : "";
      const span = make("span", `tok ${kind}`, ...glyphs(text.slice(space.length)));
      if (stop !== null) { span.classList.add("end"); span.dataset.label = visible(stop); }
      else if (!text) { span.classList.add("part"); span.dataset.label = hex || "∅"; }
      if (kind === "correction") span.dataset.refused = visible(run.pieces[round.drafted[position]].text).trimStart() || "␣";
      if (kind !== "exact") span.dataset.mark = kinds[kind].mark;
      if (text.endsWith("\n")) span.classList.add("breaks");
      span.dataset.i = spans.length;
      span.tabIndex = -1;
      span.setAttribute("role", "option");
      span.setAttribute("aria-selected", "false");
      span.setAttribute("aria-label", `${visible(text || stop || hex || "")}, ${kinds[kind].name}`);
      spans.push(span);
      group.append(space, span);
      if (text.endsWith("\n")) line = null;
    }
    if (!stop) { stop = spans[0]; stop.tabIndex = 0; }
  }

  // Bytes at the end of a text that never became a character.
  function addTail(text) {
    if (!line) openLine();
    line.append(make("span", "tail", ...glyphs(text)));
  }

  function focus(index) {
    const span = spans[Math.max(0, Math.min(spans.length - 1, index))];
    if (!span) return;
    rove(span);
    span.focus();
  }

  function rove(span) {
    if (stop) stop.tabIndex = -1;
    stop = span;
    stop.tabIndex = 0;
  }

  function select(index) {
    if (picked) picked.setAttribute("aria-selected", "false");
    picked = index === null ? null : spans[index];
    if (picked) { picked.setAttribute("aria-selected", "true"); rove(picked); }
  }

  const mark = (index, name, on) => groups[index]?.forEach((group) => group.classList.toggle(name, on));

  // The round under the scrubber.
  function showRound(index) {
    if (index === now) return;
    if (now !== null) mark(now, "now", false);
    now = index;
    if (now !== null) mark(now, "now", true);
  }

  // While playing, what comes behind a round is dimmed; null ends that.
  function dimBehind(index) {
    const next = index === null ? groups.length : index + 1;
    const before = later ?? groups.length;
    for (let i = Math.min(next, before); i < Math.max(next, before); i++) mark(i, "later", next < before);
    later = index === null ? null : next;
  }

  // Under other settings: what a round would lose, what it would keep instead, and where the text parts. again: of replay().
  function rejudge(run, again) {
    run.rounds.forEach((round) => {
      const other = again?.rounds[round.index];
      const key = other?.changed ? other.judged.kept : null;
      if ((judgedAs[round.index] ?? null) === key) return;
      judgedAs[round.index] = key;
      const { kept } = round.judged;
      for (let position = 0; position < round.emitted; position++) {
        const span = spans[round.first + position];
        span.classList.toggle("lost", key !== null && key < kept && position === key);
        span.classList.toggle("behind", key !== null && key < kept && position > key);
        span.classList.toggle("replaced", key !== null && key > kept && position === kept);
        if (key !== null && key > kept && position === kept) {
          span.dataset.instead = round.drafted.slice(kept, key).map((token) => visible(run.pieces[token].text)).join("").trimStart() || "␣";
        } else delete span.dataset.instead;
      }
    });
    const from = again && again.first !== null && again.first + 1 < groups.length ? again.first + 1 : null;
    if (from === boundary) return;
    const lowest = Math.min(from ?? Infinity, boundary ?? Infinity);
    for (let i = lowest; i < groups.length; i++) mark(i, "unsure", from !== null && i >= from);
    boundary = from;
    if (from === null) border.remove();
    else groups[from][0].before(border);
  }

  // Into sight within the strip, without moving the page.
  function bring(index) {
    const span = spans[index];
    const box = root.getBoundingClientRect(), place = span.getBoundingClientRect();
    if (place.top < box.top || place.bottom > box.bottom) root.scrollTop += place.top - box.top - box.height / 3;
  }

  // Where the card lies over the page (a phone), bring the token out from under it.
  function reveal(index, card) {
    if (getComputedStyle(card).position === "fixed") spans[index].scrollIntoView({ block: "nearest" });
  }

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
    const lineAway = (direction) => {
      // The nearest token one line up or down, by its place on the screen.
      const from = span.getBoundingClientRect();
      for (let i = at + direction, best = null; ; i += direction) {
        const box = spans[i]?.getBoundingClientRect();
        if (!box) return best ?? at;
        if (Math.abs(box.top - from.top) < from.height / 2) continue;
        if (best !== null && Math.abs(box.top - spans[best].getBoundingClientRect().top) > box.height / 2) return best;
        const distance = (n) => Math.abs(spans[n].getBoundingClientRect().left - from.left);
        if (best === null || distance(i) <= distance(best)) best = i;
      }
    };
    const moves = {
      ArrowRight: () => at + 1, ArrowLeft: () => at - 1,
      ArrowDown: () => lineAway(1), ArrowUp: () => lineAway(-1),
      Home: () => 0, End: () => spans.length - 1,
    };
    if (moves[event.key]) focus(moves[event.key]());
    else if (event.key === "Enter" || event.key === " ") onPin(at);
    else if (event.key === "Escape") onPin(null);
    else return;
    event.preventDefault();
  });

  clear();
  return { root, clear, addRound, addTail, focus, select, reveal, bring, showRound, dimBehind, rejudge };
}
