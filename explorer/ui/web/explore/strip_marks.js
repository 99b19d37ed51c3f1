// What the strip says of its rounds besides their text: which one is on show, what comes later, and what other settings would change.

import { make } from "../core/dom.js";
import { visible } from "../core/glyphs.js";
import { TEXT } from "../given/texts.js";

// spans, groups: of makeStripText().
export function makeStripMarks({ spans, groups }) {
  let now = null; // the round on show
  let later = null; // while playing: the first round not yet reached
  let boundary = null; // the first round after the first change
  const judgedAs = []; // by round: how many tokens its marks say are accepted, null where they are the recorded ones
  const border = make("span", "boundary", TEXT.whatif.boundary);

  function clear() {
    now = later = boundary = null;
    judgedAs.length = 0;
  }

  const mark = (index, name, on) => groups[index]?.forEach((group) => group.classList.toggle(name, on));

  // The round under the scrubber.
  function showRound(index) {
    if (index === now) return;
    if (now !== null) mark(now, "now", false);
    now = index;
    if (now !== null) mark(now, "now", true);
  }

  // While playing, what comes after a round is dimmed; null ends that.
  function dimAfter(index) {
    const next = index === null ? groups.length : index + 1;
    const before = later ?? groups.length;
    for (let i = Math.min(next, before); i < Math.max(next, before); i++) mark(i, "later", next < before);
    later = index === null ? null : next;
  }

  // Under other settings: what a round would lose, what it would commit instead, and where the text parts. again: of replay().
  function rejudge(run, again) {
    run.rounds.forEach((round) => {
      const other = again?.rounds[round.index], accepted = other?.changed ? other.after.accepted : null;
      if ((judgedAs[round.index] ?? null) === accepted) return;
      judgedAs[round.index] = accepted;
      markRound(run, round, accepted);
    });
    part(again && again.firstChange !== null && again.firstChange + 1 < groups.length ? again.firstChange + 1 : null);
  }

  // accepted: how many drafted tokens, null for as recorded.
  function markRound(run, round, accepted) {
    const recorded = round.judgement.accepted, fewer = accepted !== null && accepted < recorded, more = accepted !== null && accepted > recorded;
    for (let position = 0; position < round.emitted; position++) {
      const span = spans[round.first + position];
      span.classList.toggle("lost", fewer && position === accepted);
      span.classList.toggle("behind", fewer && position > accepted);
      span.classList.toggle("replaced", more && position === recorded);
      if (more && position === recorded) {
        span.dataset.instead = round.drafted.slice(recorded, accepted).map((token) => visible(run.pieces[token].text)).join("").trimStart() || "␣";
      } else delete span.dataset.instead;
    }
  }

  // The text parts before this round, null: nowhere.
  function part(from) {
    if (from === boundary) return;
    const lowest = Math.min(from ?? Infinity, boundary ?? Infinity);
    for (let i = lowest; i < groups.length; i++) mark(i, "unsure", from !== null && i >= from);
    boundary = from;
    if (from === null) border.remove();
    else groups[from][0].before(border);
  }

  return { clear, showRound, dimAfter, rejudge };
}
