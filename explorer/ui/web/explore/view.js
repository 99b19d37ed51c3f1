// The run view: keeps every picture of a run on one round, one position and one set of thresholds. Nothing here asks the server
// for anything but a real run.

import { LANGUAGE } from "../given/texts.js";
import { makeLesson } from "../learn/lesson.js";
import { aloneHead, followScheme } from "../saved/alone_head.js";
import { makeArrival } from "../saved/arrival.js";
import { makeKept } from "../saved/kept.js";
import { makeShare } from "../saved/share.js";
import { makeDrawing } from "./drawing.js";
import { listenToKeys, makeNavigation } from "./navigation.js";
import { arrange, makeParts, picturesOf } from "./parts.js";
import { makeSettings } from "./settings.js";
import { isBusy, judgementOf, newState } from "./state.js";
import { makeStream } from "./stream.js";
import { makeThresholds } from "./thresholds.js";

// element: where it stands; props: {value: the growing text of the run, runs, pairs, and of a page without a server alone, record};
// trigger(name, data): an event for the page; watch(name, callback): of a prop; script(): the text of the function that holds all
// these modules. The parts of the view know each other by `view`.
export function mount({ element, props, trigger, watch, script }) {
  const alone = Boolean(props.alone); // a page without a server behind it
  const view = { alone, props, trigger, state: newState() };
  const { state } = view;
  view.parts = makeParts(view);
  view.settings = makeSettings(view);
  view.drawing = makeDrawing(view, (found) => drawn(view, found));
  view.navigation = makeNavigation(view, () => view.share.note());
  view.arrival = makeArrival(view, trigger);
  view.lesson = alone ? null : lessonOf(view);
  view.share = makeShare({
    state: view.arrival.linkState, step: () => view.lesson?.now() ?? null, onLink: view.arrival.lead, runNow: () => state.run,
    busy: () => isBusy(state), names: props, alone, record: props.record, ask: trigger, runText: () => props.value, script,
    parts: picturesOf(view),
  });
  view.kept = alone ? null : makeKept({ open: view.share.reopen, ask: trigger });
  view.root = arrange(view.parts, view.share, alone);
  element.append(view.root);
  // What the page's own controls ask of the view; "charted", "whole", "keep", "store", "opened" and "linked" are its events.
  view.root.charted = () => trigger("charted", { text: view.share.imported() });
  view.root.fetchPage = view.share.fetchPage;
  view.root.store = (url) => view.kept.store(url);
  view.parts.table.root.addEventListener("toggle", () => view.share.note());
  view.settings.connect(view.root);
  listenToKeys(view.root, view);
  document.documentElement.lang = LANGUAGE; // for screen readers; Gradio says English
  if (alone) followScheme();
  view.parts.legend.draw(state.kinds);
  const sync = makeStream(view, { onRun: (head) => begun(view, head), onEnd: () => arrived(view) });
  watch("value", () => sync(props.value));
  sync(props.value);
  const link = view.share.follow();
  if (link) view.arrival.lead(link);
  if (!link?.run && link?.step === undefined) view.kept?.restore();
  if (view.lesson) followTab(view);
}

// A run begins.
function begun({ alone, root, settings, share, kept }, head) {
  if (alone) {
    const thresholds = makeThresholds(head.config);
    settings.use(thresholds);
    root.prepend(...aloneHead(head, thresholds));
  }
  share.begun(head, Boolean(head.imported && kept?.restoring()));
  kept?.begun(head);
}

// A run has come whole: is it the one that a link asked for, or one to keep?
function arrived({ state, arrival, kept }) {
  const { linked, run } = state;
  if (!run.head.recorded) kept?.ended();
  if (linked && run.head.run === `recorded ${linked.run}`) arrival.arrive(linked);
}

// The pictures were drawn: the lesson looks at them, and the address follows.
function drawn({ state, lesson, share }, { other, judgedBy }) {
  if (state.linked) return;
  lesson?.update({ run: state.run, at: state.at, settings: judgedBy, judgementOf: (round) => judgementOf(state, round) });
  // An address is written for whoever did something here, and kept true once it is there.
  if (!state.follow || other || location.hash.startsWith("#v=")) share.note();
}

function lessonOf(view) {
  const { state, props, arrival } = view;
  return makeLesson({
    runs: props.runs ?? [], place: () => document.getElementById("lesson"),
    show(name, find, parts) {
      view.root.dataset.lesson = parts.join(" ");
      arrival.arrive({ run: name, pair: null, knobs: {}, view: [], find });
    },
    // A run that only this page holds is not pushed aside unasked.
    guard() {
      const { head } = state.run;
      if (!head) return null;
      return isBusy(state) ? "busy" : head.recorded && !head.imported ? null : "own";
    },
    onStep: () => view.share.note(true),
    onLeave: () => arrival.choose("explore"),
  });
}

// The page's tab of the lesson has no parts of its own: while it is chosen, this view is what it shows. A tab says that another is
// chosen before its panel is on show.
function followTab({ lesson, share, arrival }) {
  document.addEventListener("explorer-tab", () => setTimeout(() => {
    const panel = document.getElementById("learn"), chosen = Boolean(panel) && panel.style.display !== "none";
    if (chosen && lesson.now() === null) { lesson.enter(lesson.left(), true); share.note(true); }
    else if (!chosen && lesson.now() !== null) arrival.endLesson(true);
  }));
}
