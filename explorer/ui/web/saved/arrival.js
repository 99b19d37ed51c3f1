// Going where an address or a step of the lesson leads, and saying as an address where the view is.

import { highlight } from "../explore/state.js";
import { KNOBS } from "../given/constants.js";

// view: as in view.js; ask(name, data): an event for the page.
export function makeArrival(view, ask) {
  const { state, parts, alone } = view;

  // Go where the address leads: to a step of the lesson, or to a run or a configuration.
  function lead(found) {
    if (found?.step === undefined) {
      endLesson(false);
      if (found) arrive(found);
    } else if (view.lesson?.enter(found.step - 1, false)) choose("learn");
    else view.share.refuse("step");
  }

  // noted: whether the address should say so.
  function endLesson(noted) {
    if (!view.lesson || view.lesson.now() === null) return;
    view.lesson.leave();
    delete view.root.dataset.lesson;
    if (noted) view.share.note(true);
    else choose("explore");
  }

  // Select a tab of the page.
  function choose(tab) {
    view.root.tab = tab;
    ask("tab");
  }

  // Go where a link or a step leads; a recorded run is sent for first, if it is another one. find: looks a place up in that run.
  function arrive(target) {
    if (target.run && state.run.head?.run !== `recorded ${target.run}`) {
      state.linked = target;
      ask("linked", { run: target.run });
      return;
    }
    state.linked = null;
    parts.rejected.set(target.view.includes("refused"));
    parts.table.root.open = target.view.includes("table");
    const ofRun = target.run || alone;
    configure(target, ofRun);
    if (!ofRun || !(target.find || target.round !== null)) { view.drawing.redraw(); return; }
    const place = target.find ? target.find(state.run) : placeOf(state, target);
    if (place) settle(place, target.view.includes("pinned"));
    else view.share.refuse("round");
    view.drawing.redraw();
  }

  function configure(target, ofRun) {
    const { head } = state.run;
    const own = Object.fromEntries(Object.keys(KNOBS).map((name) => [name, head?.config[name]]));
    const knobs = ofRun ? { ...own, ...target.knobs } : target.knobs;
    if (head) state.moved = { ...head.config, ...knobs };
    view.settings.show(knobs, target.pair);
  }

  function settle(place, pinned) {
    view.navigation.unpin();
    view.navigation.player.stop();
    if (pinned) view.navigation.pin(place);
    else view.navigation.go(place, false);
  }

  return { lead, arrive, endLesson, choose, linkState: () => linkState(view) };
}

// The place that a link names, null where the run has none such.
function placeOf(state, target) {
  const round = state.run.rounds[target.round - 1];
  const position = target.position === null ? round && highlight(state, round) : target.position - 1;
  return round && position <= round.size ? { round: round.index, position } : null;
}

// What a link to what is on show holds, as writeLink() takes it; null while there is nothing.
function linkState({ state, parts, props, alone }) {
  const { run, moved, at, pinned } = state;
  if (!run.head) return null;
  const { config, recorded, imported, pair } = run.head, settings = { ...config, ...moved };
  const sent = alone || (recorded && !imported); // whoever follows the link has this run
  const differs = (name) => settings[name] !== null && settings[name] !== undefined && (!sent || settings[name] !== config[name]);
  const place = sent && at;
  return {
    run: sent && !alone ? run.head.run.replace(/^recorded /, "") : null,
    pair: !sent && props.pairs?.includes(pair) ? pair : null,
    round: place ? place.round + 1 : null, position: place ? place.position + 1 : null,
    knobs: Object.fromEntries(Object.keys(KNOBS).filter(differs).map((name) => [name, settings[name]])),
    view: [parts.rejected.on() && "refused", place && pinned && "pinned", parts.table.root.open && "table"].filter(Boolean),
  };
}
