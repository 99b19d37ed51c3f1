// The parts of the run view, each tied to what it asks for, and their order on the page.

import { makeCostsChoice } from "../core/costs_choice.js";
import { make } from "../core/dom.js";
import { makeStatus } from "../core/progress.js";
import { RULES, THETA_OF_MEASURE } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { makeCard } from "./card.js";
import { makeGauges } from "./gauges.js";
import { makeLanes } from "./lanes.js";
import { makeLegend } from "./legend.js";
import { makeRounds } from "./rounds_table.js";
import { makeScrubber } from "./scrubber.js";
import { tokenAt } from "./state.js";
import { makeStrip } from "./strip.js";
import { makeSummary } from "./summary.js";
import { makeTwoRuns } from "./two_runs.js";
import { knobValue, makeWhatIf } from "./whatif.js";

// view: as in view.js; what its parts call is there once all of it is made.
export function makeParts(view) {
  const { state } = view;
  const strip = makeStrip({
    onHover: (token) => view.navigation.hover(token),
    onLook: (token) => view.navigation.look(tokenAt(state, token)),
    onPin: (token) => view.navigation.pin(token === null ? null : tokenAt(state, token)),
  });
  const card = makeCard(() => view.navigation.pin(null, true));
  const gauges = makeGauges({
    onPick(round, position) { view.navigation.look({ round, position }); strip.reveal(state.run.rounds[round].first, card.root); },
    onTheta: (theta) => view.settings.change({ theta }),
    onMeasure: (entropy) => view.settings.change({ rule: "fly", entropy, theta: THETA_OF_MEASURE[entropy] }), // no other rule has a measure
  });
  const costs = makeCostsChoice({ own: TEXT.summary.own_costs, onChange() { summary.recost(); view.drawing.redrawSoon(); } });
  const summary = makeSummary(costs);
  return {
    strip, card, gauges,
    scrubber: makeScrubber({
      onStep(index) { view.navigation.player.stop(); view.navigation.step(index, true); },
      onSeek: (kind, direction) => view.navigation.seek(kind, direction),
      onPlay: () => view.navigation.player.toggle(),
    }),
    lanes: makeLanes((position) => view.navigation.look({ round: state.at.round, position })),
    whatif: makeWhatIf({ onRerun: () => view.settings.rerun(), onReset: () => view.settings.change(state.run.head.config), costs }),
    twoRuns: makeTwoRuns(),
    summary,
    table: makeRounds((index) => { view.navigation.step(index, true); strip.focus(state.run.rounds[index].first); }),
    legend: makeLegend(),
    ownFigures: [0, 1].map(() => make("p", "quiet own-figures", TEXT.own_figures)), // beside all figures that a what-if leaves alone
    origin: make("p", "origin"),
    status: makeStatus(TEXT.idle),
    rejected: makeRejectedToggle(strip, () => view.share.note()),
    notes: make("div", "run-notes"),
  };
}

// Whether the strip shows the drafted tokens that were rejected. onChange(): by hand.
function makeRejectedToggle(strip, onChange) {
  const box = make("input");
  box.type = "checkbox";
  const show = () => strip.root.classList.toggle("with-refused", box.checked);
  box.addEventListener("change", () => { show(); onChange(); });
  return { root: make("label", "toggle", box, " " + TEXT.show_refused), on: () => box.checked, set(on) { box.checked = on; show(); } };
}

// The view as one node.
export function arrange(parts, share, alone) {
  const { strip, card, scrubber, lanes, gauges, whatif, twoRuns, summary, table, legend, ownFigures, origin, status, rejected, notes } = parts;
  for (const note of ownFigures) note.hidden = true;
  for (const part of [scrubber, lanes, gauges, twoRuns, summary, table, whatif]) part.clear();
  return make("div", alone ? "run-view alone" : "run-view",
    origin, legend.root, ownFigures[0],
    make("div", "toolbar", ...status.parts, rejected.root, share.root),
    notes,
    make("div", "stage", make("div", "stage-main", strip.root, scrubber.root), card.root),
    lanes.root, gauges.root, twoRuns.root, ownFigures[1], summary.root, table.root, whatif.root);
}

export function clearParts({ strip, card, scrubber, lanes, gauges, twoRuns, summary, table, whatif }) {
  for (const part of [strip, card, scrubber, lanes, gauges, twoRuns, summary, table, whatif]) part.clear();
}

// The parts that can be saved as a picture: {name: () => {node, title, caption}}.
export function picturesOf({ state, parts }) {
  const { lanes, scrubber, gauges, summary, origin } = parts;
  const picture = (part, title, settings) => ({ node: part.root, title, caption: captionOf(state, origin, settings) });
  return {
    lanes: () => picture(lanes, TEXT.lanes.title),
    rounds: () => picture(scrubber, TEXT.scrubber.title),
    entropies: () => picture(gauges, TEXT.gauges.title),
    summary: () => picture(summary, TEXT.summary.title, state.run.head.config),
  };
}

// What a picture shows: whose run it is, and under which settings.
function captionOf({ run, again }, origin, settings = { ...run.head.config, ...(again ? again.settings : {}) }) {
  const words = TEXT.whatif, knobs = (RULES[settings.rule]?.knobs ?? []).filter((name) => settings[name] !== false);
  const point = knobs.map((name) => words.knobs[name] + (settings[name] === true ? "" : ` ${knobValue(name, settings[name])}`));
  return [...[...origin.children].map((part) => part.textContent), words.values[settings.rule], ...point,
    ...(again && settings !== run.head.config ? [TEXT.share.replayed] : [])];
}
