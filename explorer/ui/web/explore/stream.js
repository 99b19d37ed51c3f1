// Reads the growing text of a run, parses only what is new, and shows each event as it comes.

import { make, say } from "../core/dom.js";
import { madeBy } from "../core/origin.js";
import { makeReader } from "../core/progress.js";
import { TEXT } from "../given/texts.js";
import { readEvent } from "../twins/wire.js";
import { clearParts } from "./parts.js";
import { beginRun, countRound, findable, highlight, openingRound, sought } from "./state.js";

// view: as in view.js. onRun(head): another run begins; onEnd(): its text is complete.
export function makeStream(view, { onRun, onEnd }) {
  const { state, parts } = view;

  function begin(head) {
    view.navigation.player.stop();
    beginRun(state, head);
    clearParts(parts);
    onRun(head);
    parts.notes.replaceChildren(...head.notes.map((note) => make("p", "note", say(TEXT.notes[note.code.replace("note.", "")], note.values))));
    view.root.dataset.rule = head.config.rule;
    drawOrigin(head.provenance);
    parts.legend.draw(state.kinds, head.config.rule);
    parts.legend.count(state.counts);
    tell(TEXT.phases.preparing, true);
  }

  // Show one event. A round comes written out; of the others, see the table in explorer/wire.py.
  function take(event) {
    if (event.drafted) addRound(event);
    else if (event.phase) {
      const words = TEXT.phases[event.phase] + (event.message ? ": " + event.message : "");
      tell(state.run.tokens.length ? `${progress()}. ${words}` : words, true);
    } else if (event.tail) parts.strip.addTail(event.tail);
    else if (event.end) end(event);
  }

  function addRound(round) {
    const { run, kinds } = state;
    parts.strip.addRound(run, round, kinds);
    countRound(state, round);
    parts.table.add(run, round);
    if (run.phase !== "running") run.phase = "running";
    tell(progress(), false);
  }

  function end(event) {
    const { run, before } = state, why = say(TEXT.ends[event.end], { budget: run.head.config.max_new_tokens });
    const agreed = run.rounds.some((round) => round.drafted.length) && !sought(state, "disagreement").length;
    tell([`${progress()}: ${why}`, ...(agreed ? [TEXT.agreed] : [])].join(". "), true);
    drawOrigin(event.provenance);
    parts.summary.show(run);
    if (before && !event.partial) parts.twoRuns.show(before, run);
  }

  const progress = () => say(TEXT.status, { rounds: state.run.rounds.length, tokens: state.run.tokens.length });

  function tell(text, always) {
    view.root.dataset.phase = state.run.phase;
    parts.status.tell(text, always);
  }

  function drawOrigin(provenance) {
    const words = TEXT.origin, { head } = state.run;
    parts.origin.replaceChildren(make("b", head.recorded ? "stamp recorded" : "stamp", head.imported ? words.imported : head.recorded ? words.recorded : words.live),
      ...(head.crossed ? [make("b", "stamp crossed", words.crossed)] : []), make("span", "", head.title),
      ...(provenance ? madeBy(provenance, words).map((text) => make("span", "", text)) : []));
  }

  const read = makeReader(begin, (event) => take(readEvent(state.run, event)));

  // text: all of the run so far.
  return function sync(text) {
    if (!read(text)) return;
    const { run } = state;
    parts.legend.count(state.counts);
    if (state.follow && run.rounds.length) {
      const opening = openingRound(state);
      state.at = { round: opening.index, position: highlight(state, opening) };
    }
    if (!run.end) return view.drawing.redrawLater();
    parts.scrubber.offer(findable(state));
    onEnd();
    view.drawing.redraw();
  };
}
