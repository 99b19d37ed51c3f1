// Draws the view: every picture of it on one place and under one set of thresholds, as often as is useful.

import { isBusy, judgeAgain, judgementOf, settingsNow, viewOf } from "./state.js";

const STREAM_DRAW = 250; // ms between pictures while a run streams: the strip comes first

// view: as in view.js. onDrawn({other, judgedBy}): as of judgeAgain().
export function makeDrawing(view, onDrawn) {
  const { state, parts } = view;
  let frame = 0, drawnAt = 0, timer = 0;

  function redraw() {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    frame = timer = 0;
    drawnAt = performance.now();
    if (!state.run.head || !state.at) return;
    const found = judgeAgain(state);
    drawText();
    drawRound(found.judgedBy);
    drawWhatIf(found);
    drawCard(found.judgedBy);
    onDrawn(found);
  }

  function drawText() {
    const { run, again, at, follow } = state;
    if (follow && !run.end) parts.strip.bring(run.rounds[at.round].first);
    parts.strip.rejudge(run, again);
    parts.strip.showRound(at.round);
    parts.scrubber.draw(run, again, at.round);
  }

  function drawRound(settings) {
    const { run, again, at, top } = state;
    parts.lanes.draw(viewOf(state, at, settings), top[settings.entropy], { round: at.round + 1, rounds: run.rounds.length });
    parts.gauges.draw(run, (round) => judgementOf(state, round), settings, at, again?.outcome);
    parts.lanes.root.classList.toggle("unsure", Boolean(again?.rounds[at.round].counterfactual));
  }

  function drawWhatIf({ other, settings, refusal }) {
    for (const note of parts.ownFigures) note.hidden = !state.again;
    if (other) parts.whatif.draw(state.run, state.again, settings, refusal, isBusy(state));
    else parts.whatif.clear();
  }

  function drawCard(settings = state.again ? settingsNow(state) : state.run.head.config) {
    const place = (!state.pinned && state.hovered) || state.at;
    if (place && state.run.rounds[place.round]) parts.card.show(viewOf(state, place, settings), state.pinned);
  }

  return {
    redraw, drawCard,
    redrawSoon() { frame ||= requestAnimationFrame(redraw); },
    redrawLater() { timer ||= setTimeout(redraw, Math.max(0, drawnAt + STREAM_DRAW - performance.now())); },
  };
}
