// The run view: reads the growing text of a run, parses only what is new, and keeps every picture on one round, one position
// and one set of thresholds. Nothing here asks the server for anything but a real run.

import { make, say } from "../core/dom.js";
import { glyphs } from "../core/glyphs.js";
import { madeBy } from "../core/origin.js";
import { makeReader, makeStatus } from "../core/progress.js";
import { told } from "../core/told.js";
import { ENTROPY_MAXIMUM, KNOBS, RULES, RULE_KNOBS, THETA_OF_MEASURE } from "../given/constants.js";
import { LANGUAGE, TEXT } from "../given/texts.js";
import { makeLesson } from "../learn/lesson_panel.js";
import { makeShare } from "../saved/share.js";
import { replay, replayRefusal, sameRule } from "../twins/replay.js";
import { isLoosened, relaxes } from "../twins/verdicts.js";
import { kindAt, newRun, readEvent } from "../twins/wire.js";
import { makeCard } from "./card.js";
import { connectControls } from "./controls.js";
import { makeGauges } from "./gauges.js";
import { makeLanes } from "./lanes.js";
import { makeRounds } from "./rounds_table.js";
import { makeScrubber } from "./scrubber.js";
import { makeStrip } from "./strip.js";
import { makeSummary } from "./summary.js";
import { makeThresholds } from "./thresholds.js";
import { makeCompare } from "./two_runs.js";
import { knobValue, makeWhatIf } from "./whatif.js";

export function mount({ element, props, trigger, watch, script }) {
  const kindsOf = (head) =>
    head?.config.rule === "autoregressive" ? { ...TEXT.kinds, bonus: { ...TEXT.kinds.bonus, ...TEXT.alone } } : TEXT.kinds;

  // Whether a run under a rule can have tokens of a kind. (Under the exact rule FLy's is shown too, with none of them.)
  const isKindOf = (rule, kind) => (rule === "autoregressive" ? kind === "bonus" : kind !== (relaxes(rule) ? "deferred" : "relaxed"));

  const ALONE = Boolean(props.alone); // a page without a server behind it
  const STREAM_DRAW = 250, PLAY_STEP = 900; // ms
  const BUSY = ["preparing", "loading", "running", "baseline"];

  let run = newRun(null), before = null; // before: the finished run of the same prompt that this one is compared with
  let kinds = TEXT.kinds, counts = {}, top = {};
  let moved = null; // what the controls say, once they say anything since the run began
  let again = null; // the rounds under settings that are not the run's own
  let at = null, hovered = null, pinned = false; // a round and a position in it
  let follow = true; // while a run streams, its newest round is on show until somebody looks elsewhere
  let playing = 0;
  let linked = null; // what a link asks for, while the run it names is on its way
  let thresholds = null; // the controls of a page without any other

  const card = makeCard(() => pin(null, true));
  const strip = makeStrip({ onHover: hover, onLook: (token) => look(tokenAt(token)), onPin: (token) => pin(token === null ? null : tokenAt(token)) });
  const scrubber = makeScrubber({ onStep: (index) => { stopPlaying(); step(index, true); }, onSeek: seek, onPlay: play });
  const lanes = makeLanes((position) => look({ round: at.round, position }));
  const gauges = makeGauges({
    onPick: (round, position) => { look({ round, position }); strip.reveal(run.rounds[round].first, card.root); },
    onTheta: (theta) => change({ theta }),
    onMeasure: (entropy) => change({ rule: "fly", entropy, theta: THETA_OF_MEASURE[entropy] }), // no other rule has a measure
  });
  const whatif = makeWhatIf({ onRerun: () => controls.rerun(run.head), onReset: () => change(run.head.config) });
  const compare = makeCompare();
  const summary = makeSummary();
  const table = makeRounds((index) => { step(index, true); strip.focus(run.rounds[index].first); });

  const legend = make("ul", "legend");
  legend.setAttribute("aria-label", TEXT.legend);
  const own = [0, 1].map(() => make("p", "quiet own-figures", TEXT.own_figures)); // beside every figure that a what-if leaves alone
  const origin = make("p", "origin");
  const status = makeStatus(TEXT.idle);
  const refused = make("input");
  refused.type = "checkbox";
  refused.addEventListener("change", () => { strip.root.classList.toggle("with-refused", refused.checked); share.note(); });
  const notes = make("div", "run-notes");
  const lesson = ALONE ? null : makeLesson({
    runs: props.runs ?? [], place: () => document.getElementById("lesson"),
    show(name, find, parts) {
      root.dataset.lesson = parts.join(" ");
      arrive({ run: name, pair: null, knobs: {}, view: [], find });
    },
    // A run that only this page holds is not pushed aside unasked.
    guard: () => (!run.head ? null : BUSY.includes(run.phase) ? "busy" : run.head.recorded && !run.head.imported ? null : "own"),
    onStep: () => share.note(true),
    onLeave: () => choose("explore"),
  });
  const share = makeShare({
    state: linkState, step: () => lesson?.now() ?? null, onLink: lead, runNow: () => run, busy: () => Boolean(run.head) && BUSY.includes(run.phase), names: props, alone: ALONE, record: props.record, ask: trigger, runText: () => props.value, script,
    parts: {
      lanes: () => ({ node: lanes.root, title: TEXT.lanes.title, caption: caption() }),
      rounds: () => ({ node: scrubber.root, title: TEXT.scrubber.title, caption: caption() }),
      entropies: () => ({ node: gauges.root, title: TEXT.gauges.title, caption: caption() }),
      summary: () => ({ node: summary.root, title: TEXT.summary.title, caption: caption(run.head.config) }),
    },
  });
  const root = make("div", ALONE ? "run-view alone" : "run-view",
    origin, legend, own[0],
    make("div", "toolbar",
      ...status.parts,
      make("label", "toggle", refused, " " + TEXT.show_refused), share.root),
    notes,
    make("div", "stage", make("div", "stage-main", strip.root, scrubber.root), card.root),
    lanes.root, gauges.root, compare.root, own[1], summary.root, table.root, whatif.root);
  element.append(root);
  // What the page's own controls ask of the view; "charted", "whole", "keep", "opened" and "linked" are its events.
  root.charted = () => trigger("charted", { text: share.imported() });
  root.fetchPage = share.fetchPage;
  for (const note of own) note.hidden = true;
  table.root.addEventListener("toggle", () => share.note());
  for (const part of [scrubber, lanes, gauges, compare, summary, table, whatif]) part.clear();
  const controls = connectControls(root, trigger, (settings) => {
    const known = moved && sameRule(settings, moved); // an answer to what the view itself asked for
    moved = settings;
    if (!known) redrawSoon();
  });

  // Settings -----------------------------------------------------------------------------------------------------------

  // The rule in force: the controls', as far as they say anything, over the run's own.
  function settingsNow() {
    const settings = { ...run.head.config };
    for (const name of RULE_KNOBS) if (moved && moved[name] !== null && moved[name] !== undefined) settings[name] = moved[name];
    return settings;
  }

  function change(wanted) {
    moved = { ...settingsNow(), ...wanted };
    redrawSoon();
    if (thresholds) thresholds.set(moved);
    else controls.want(moved);
  }

  // Links --------------------------------------------------------------------------------------------------------------

  // What a link to what is on show holds; null while there is nothing.
  function linkState() {
    if (!run.head) return null;
    const { config, recorded, imported, pair } = run.head;
    const findable = ALONE || (recorded && !imported); // whoever follows the link has this run
    const settings = { ...config, ...moved };
    const knobs = Object.fromEntries(Object.keys(KNOBS).filter((name) => settings[name] !== null && settings[name] !== undefined
      && (!findable || settings[name] !== config[name])).map((name) => [name, settings[name]]));
    const place = findable && at;
    return {
      run: findable && !ALONE ? run.head.run.replace(/^recorded /, "") : null,
      pair: !findable && props.pairs?.includes(pair) ? pair : null,
      round: place ? place.round + 1 : null, position: place ? place.position + 1 : null, knobs,
      view: [refused.checked && "refused", place && pinned && "pinned", table.root.open && "table"].filter(Boolean),
    };
  }

  // Go where the address leads: to a step of the lesson, or to a run or a configuration.
  function lead(found) {
    if (found?.step === undefined) {
      endLesson(false);
      if (found) arrive(found);
    } else if (lesson?.enter(found.step - 1, false)) choose("learn");
    else share.refuse("step");
  }

  // noted: whether the address should say so.
  function endLesson(noted) {
    if (!lesson || lesson.now() === null) return;
    lesson.leave();
    delete root.dataset.lesson;
    if (noted) share.note(true);
    else choose("explore");
  }

  // Select a tab of the page.
  function choose(tab) {
    root.tab = tab;
    trigger("tab");
  }

  // Go where a link or a step leads; a recorded run is sent for first, if it is another one. find: looks a place up in that run.
  function arrive(state) {
    if (state.run && run.head?.run !== `recorded ${state.run}`) {
      linked = state;
      trigger("linked", { run: state.run });
      return;
    }
    linked = null;
    refused.checked = state.view.includes("refused");
    strip.root.classList.toggle("with-refused", refused.checked);
    table.root.open = state.view.includes("table");
    const ofRun = state.run || ALONE;
    const own = Object.fromEntries(Object.keys(KNOBS).map((name) => [name, run.head?.config[name]]));
    const knobs = ofRun ? { ...own, ...state.knobs } : state.knobs;
    if (run.head) moved = { ...run.head.config, ...knobs };
    if (thresholds) thresholds.set(knobs);
    else controls.configure(knobs, state.pair);
    if (ofRun && (state.find || state.round !== null)) {
      const place = state.find ? state.find(run) : placeOf(state);
      if (!place) { share.refuse("round"); redraw(); return; }
      unpin();
      stopPlaying();
      if (state.view.includes("pinned")) pin(place);
      else go(place, false);
    }
    redraw();
  }

  // The place that a link names, null where the run has none such.
  function placeOf(state) {
    const round = run.rounds[state.round - 1];
    const position = state.position === null ? round && highlight(round) : state.position - 1;
    return round && position <= round.size ? { round: round.index, position } : null;
  }

  // What a picture shows: whose run it is, and under which settings.
  function caption(settings = { ...run.head.config, ...(again ? again.settings : {}) }) {
    const words = TEXT.whatif, knobs = (RULES[settings.rule]?.knobs ?? []).filter((name) => settings[name] !== false);
    const point = knobs.map((name) => words.knobs[name] + (settings[name] === true ? "" : ` ${knobValue(name, settings[name])}`));
    return [...[...origin.children].map((part) => part.textContent), words.values[settings.rule], ...point,
      ...(again && settings !== run.head.config ? [TEXT.share.replayed] : [])];
  }

  // Drawing ------------------------------------------------------------------------------------------------------------

  let frame = 0, drawnAt = 0, timer = 0;
  const redrawSoon = () => { frame ||= requestAnimationFrame(redraw); };
  // While a run streams the strip comes first; the pictures follow a few times a second.
  const redrawLater = () => { timer ||= setTimeout(redraw, Math.max(0, drawnAt + STREAM_DRAW - performance.now())); };

  // A round that has just come is not judged again yet.
  const judgedOf = (round) => again?.rounds[round.index]?.judged ?? round.judged;
  const viewOf = (place, settings) => {
    const round = run.rounds[place.round];
    return { run, round, position: place.position, judged: judgedOf(round), settings, kinds };
  };

  function redraw() {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    frame = timer = 0;
    drawnAt = performance.now();
    if (!run.head || !at) return;
    const settings = settingsNow();
    const other = !sameRule(settings, run.head.config);
    const refusal = other ? replayRefusal(settings, run.head.config, run.rounds) : null;
    again = other && !refusal ? replay(run, settings) : null;
    const shown = again || refusal ? settings : run.head.config;
    const judgedBy = refusal ? run.head.config : { ...run.head.config, ...shown };
    if (follow && !run.end) strip.bring(run.rounds[at.round].first);
    strip.rejudge(run, again);
    strip.showRound(at.round);
    scrubber.draw(run, again, at.round);
    lanes.draw(viewOf(at, judgedBy), top[judgedBy.entropy], { round: at.round + 1, rounds: run.rounds.length });
    gauges.draw(run, judgedOf, judgedBy, at, again?.outcome);
    lanes.root.classList.toggle("unsure", Boolean(again?.rounds[at.round].counterfactual));
    for (const note of own) note.hidden = !again;
    if (other) whatif.draw(run, again, settings, refusal, BUSY.includes(run.phase));
    else whatif.clear();
    drawCard(judgedBy);
    if (!linked) lesson?.update({ run, at, settings: judgedBy, judged: judgedOf });
    // An address is written for whoever did something here, and kept true once it is there.
    if (!linked && (!follow || other || location.hash.startsWith("#v="))) share.note();
  }

  function drawCard(settings = again ? settingsNow() : run.head.config) {
    const place = (!pinned && hovered) || at;
    if (place && run.rounds[place.round]) card.show(viewOf(place, settings), pinned);
  }

  // Where we are -------------------------------------------------------------------------------------------------------

  const tokenAt = (index) => ({ round: run.tokens[index].round.index, position: run.tokens[index].position });
  const tokenIndex = (place) => {
    const round = run.rounds[place.round];
    return place.position < round.emitted ? round.first + place.position : null;
  };

  // What a round is worth looking at for: a mismatch that was kept, else where it was cut, else its last token.
  function highlight(round) {
    const judged = judgedOf(round);
    const loosened = judged.verdicts.findIndex(isLoosened);
    return loosened >= 0 ? loosened : judged.kept;
  }

  function step(index, tell) {
    if (!run.rounds.length) return;
    index = Math.max(0, Math.min(run.rounds.length - 1, index));
    unpin();
    go({ round: index, position: highlight(run.rounds[index]) }, tell);
  }

  function go(place, tell) {
    at = place;
    hovered = null;
    follow = false;
    strip.bring(run.rounds[place.round].first);
    redraw();
    lanes.reveal();
    if (tell) status.speak(lanes.root.querySelector(".round-line").textContent);
  }

  function look(place) {
    if (pinned) return;
    stopPlaying();
    go(place, false);
  }

  function hover(index) {
    hovered = index === null ? null : tokenAt(index);
    if (!pinned && run.head) drawCard();
  }

  function unpin() {
    pinned = false;
    strip.select(null);
  }

  // place null lets go; the same place again lets go too.
  function pin(place, back) {
    const same = pinned && place && place.round === at.round && place.position === at.position;
    if (place === null || same) {
      const index = at && tokenIndex(at);
      unpin();
      if (at) redraw();
      if (back && index !== null) strip.focus(index);
      return;
    }
    pinned = false;
    look(place);
    pinned = true;
    const index = tokenIndex(place);
    strip.select(index);
    drawCard();
    share.note();
    if (index !== null) strip.reveal(index, card.root);
  }

  const SEEK = {
    disagreement: (round, position) => !round.match[position],
    deferred: (round, position) => isLoosened(judgedOf(round).verdicts[position]),
    refused: (round, position) => judgedOf(round).verdicts[position].startsWith("rejected"),
  };
  // All judged positions of a kind in reading order.
  const sought = (kind) => run.rounds.flatMap((round) =>
    round.match.map((_, position) => ({ round: round.index, position }))
      .filter(({ position }) => position <= judgedOf(round).kept && SEEK[kind](round, position)));

  function seek(kind, direction) {
    const places = sought(kind);
    if (!places.length || !at) return;
    stopPlaying();
    unpin();
    const order = (place) => place.round * 1000 + place.position;
    const next = direction > 0 ? places.find((place) => order(place) > order(at)) ?? places[0]
      : places.findLast((place) => order(place) < order(at)) ?? places[places.length - 1];
    go(next, true);
  }

  function play() {
    if (playing) { stopPlaying(); return; }
    if (!run.rounds.length) return;
    if (at.round === run.rounds.length - 1) step(0, false);
    scrubber.setPlaying(true);
    strip.dimBehind(at.round);
    playing = setInterval(() => {
      step(at.round + 1, false);
      strip.dimBehind(at.round);
      if (at.round === run.rounds.length - 1) stopPlaying();
    }, PLAY_STEP);
  }

  function stopPlaying() {
    if (!playing) return;
    clearInterval(playing);
    playing = 0;
    strip.dimBehind(null);
    scrubber.setPlaying(false);
  }

  const KEYS = {
    "[": () => { stopPlaying(); step(at.round - 1, true); }, "]": () => { stopPlaying(); step(at.round + 1, true); }, p: play,
    n: () => seek("disagreement", 1), N: () => seek("disagreement", -1), d: () => seek("deferred", 1), D: () => seek("deferred", -1),
    r: () => seek("refused", 1), R: () => seek("refused", -1),
  };
  root.addEventListener("keydown", (event) => {
    if (!at || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // Reading ------------------------------------------------------------------------------------------------------------

  function drawLegend() {
    legend.replaceChildren(...Object.entries(kinds).filter(([kind]) => isKindOf(run.head?.config.rule, kind)).map(([kind, words]) => {
      const sample = make("span", `tok ${kind}`, words.name);
      if (kind !== "exact") sample.dataset.mark = words.mark;
      const count = make("span", "count");
      count.dataset.kind = kind;
      return make("li", "", make("span", "legend-name", sample, count), make("span", "means", words.means));
    }));
    drawCounts();
  }

  function drawCounts() {
    for (const cell of legend.querySelectorAll(".count")) cell.textContent = run.head ? counts[cell.dataset.kind] ?? 0 : "";
  }

  function drawOrigin(provenance) {
    const words = TEXT.origin, { head } = run;
    origin.replaceChildren(make("b", head.recorded ? "stamp recorded" : "stamp", head.imported ? words.imported : head.recorded ? words.recorded : words.live),
      ...(head.crossed ? [make("b", "stamp crossed", words.crossed)] : []), make("span", "", head.title), ...(provenance ? madeBy(provenance, words.dtypes).map((text) => make("span", "", text)) : []));
  }

  function setStatus(text, always) {
    root.dataset.phase = run.phase;
    status.tell(text, always);
  }

  const progress = () => say(TEXT.status, { rounds: run.rounds.length, tokens: run.tokens.length });

  function begin(head) {
    const comparable = run.end && !run.end.partial && !head.recorded && run.head.prompt === head.prompt;
    stopPlaying();
    before = comparable ? run : null;
    run = newRun(head);
    kinds = kindsOf(head);
    counts = {}; again = moved = at = hovered = null; pinned = false; follow = true;
    top = Object.fromEntries(Object.keys(ENTROPY_MAXIMUM).map((measure) => [measure, 0.01]));
    for (const part of [strip, card, scrubber, lanes, gauges, compare, summary, table, whatif]) part.clear();
    if (ALONE) addHead(head);
    share.begun(head);
    notes.replaceChildren(...head.notes.map((note) => make("p", "note", told(note))));
    root.dataset.rule = head.config.rule;
    drawOrigin(head.provenance);
    drawLegend();
    setStatus(TEXT.phases.preparing, true);
  }

  document.documentElement.lang = LANGUAGE; // for screen readers; Gradio says English
  // Without a page around it, the view follows the system's light and dark itself.
  if (ALONE) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const show = () => document.documentElement.classList.toggle("dark", dark.matches);
    dark.addEventListener("change", show);
    show();
  }

  // Without the page's own prompt and controls, the view brings both.
  function addHead(head) {
    const { config } = head, words = TEXT.compare.knobs;
    const settings = ["rule", ...(RULES[config.rule]?.knobs ?? []), "drafter", "length", "draft_length", ...(config.phrases ? ["phrases", "phrase_length"] : []), ...(config.drafter === "features" && config.tree ? ["tree", "tree_width"] : []),
      ...(config.schedule === "pearl" ? ["schedule"] : []), "max_new_tokens"]
      .filter((name) => config[name] !== false && config[name] !== undefined).map((name) => `${words[name]} ${knobValue(name, config[name])}`);
    thresholds = makeThresholds(config);
    root.prepend(make("header", "alone-head", make("h1", "", TEXT.share.page_title), make("p", "alone-prompt", ...glyphs(head.prompt)),
      make("p", "quiet", settings.join(" · "))), thresholds.root);
  }

  const read = makeReader(begin, (event) => take(readEvent(run, event)));
  function sync() {
    if (!read(props.value)) return;
    drawCounts();
    if (follow && run.rounds.length) {
      // A finished run opens on what this page is about: the first mismatch that was kept.
      const opening = run.end ? run.rounds.find((round) => round.judged.verdicts.some(isLoosened)) ?? run.rounds.find((round) => round.judged.cut !== null) ?? run.rounds[0]
        : run.rounds[run.rounds.length - 1];
      at = { round: opening.index, position: highlight(opening) };
    }
    if (run.end) {
      scrubber.offer(Object.fromEntries(Object.keys(SEEK).map((kind) => [kind, sought(kind).length > 0])));
      if (linked && run.head.run === `recorded ${linked.run}`) arrive(linked);
      redraw();
    } else redrawLater();
  }

  // Show one event. A round comes written out; of the others, see the table in explorer/wire.py.
  function take(event) {
    if (event.drafted) {
      strip.addRound(run, event, kinds);
      for (let position = 0; position < event.emitted; position++) {
        const kind = kindAt(event.judged, position);
        counts[kind] = (counts[kind] ?? 0) + 1;
      }
      for (const [measure, values] of Object.entries(event.entropy)) top[measure] = Math.max(top[measure], ...values);
      table.add(run, event);
      if (run.phase !== "running") run.phase = "running";
      setStatus(progress(), false);
    } else if (event.phase) {
      const words = TEXT.phases[event.phase] + (event.message ? ": " + event.message : "");
      setStatus(run.tokens.length ? `${progress()}. ${words}` : words, true);
    } else if (event.tail) {
      strip.addTail(event.tail);
    } else if (event.end) {
      const why = say(TEXT.ends[event.end], { budget: run.head.config.max_new_tokens });
      const agreed = run.rounds.some((round) => round.drafted.length) && !sought("disagreement").length;
      setStatus([`${progress()}: ${why}`, ...(agreed ? [TEXT.agreed] : [])].join(". "), true);
      drawOrigin(event.provenance);
      summary.show(run);
      if (before && !event.partial) compare.show(before, run);
    }
  }

  drawLegend();
  watch("value", sync);
  sync();
  const link = share.follow();
  if (link) lead(link);
  // The page's tab of the lesson has no parts of its own: while it is chosen, this view is what it shows. A tab says that another
  // is chosen before its panel is on show.
  if (lesson) document.addEventListener("explorer-tab", () => setTimeout(() => {
    const panel = document.getElementById("learn"), chosen = Boolean(panel) && panel.style.display !== "none";
    if (chosen && lesson.now() === null) { lesson.enter(lesson.left(), true); share.note(true); }
    else if (!chosen && lesson.now() !== null) endLesson(true);
  }));
}
