// The lesson: which step is taken, what the learner did since it was opened, and what the view's live state says to the question.

import { RULE_KNOBS } from "../given/constants.js";
import { makeLessonPanel } from "./lesson_panel.js";
import { stepsOver } from "./lesson_steps.js";

// runs: names of the recorded runs at hand; show(run, find, parts): bring a place of a run on show; place(): the rail's slot for
// the panel; guard(): why the run on show must not be pushed aside unasked, as a key of TEXT.lesson.guards, or null;
// onStep(): the address should follow; onLeave(): go back to Explore.
export function makeLesson({ runs, show, place, guard, onStep, onLeave }) {
  const steps = stepsOver(runs);
  const answered = new Set(); // names of steps
  let active = false, index = 0, part = 0; // the step on show, and which of its rounds
  let held = false; // not begun, because of the run on show
  // Since the step was opened: the state at its beginning and now, the rounds looked at, and what was said to the learner.
  let opened = null, last = null, seen = new Set(), verdict = null;
  const panel = makeLessonPanel(steps, {
    onGo: go,
    onNext: () => (index + 1 < steps.length ? go(index + 1) : onLeave()),
    onNextRound: () => open(index, part + 1),
    onBegin: () => open(index),
    onAnswer() { judge(steps[index], { ...last, answer: last.at }); draw(); },
  });
  const draw = () => panel.draw({ index, part, answered, last, verdict, held: held ? guard() : undefined });

  // A step by its number from 0, because the learner asked for it.
  function go(number) {
    if (held) [index, part] = [number, 0];
    else open(number);
    draw();
    onStep();
    panel.focus();
    if (panel.root.getBoundingClientRect().top < 0) panel.root.scrollIntoView({ block: "start" });
  }

  function open(number, round = 0) {
    [index, part, held] = [number, round, false];
    [opened, last, seen, verdict] = [null, null, new Set(), null];
    const step = steps[index];
    markStep(step, index);
    draw();
    show(step.run, step.find ?? step.rounds[part], step.parts);
  }

  // Returns whether there is such a step. asked: by hand, not by a link.
  function enter(number, asked) {
    if (!steps[number]) return false;
    active = true;
    place().append(panel.root);
    beginMarks();
    [index, part, last] = [number, 0, null];
    held = guard() !== null;
    if (held) draw();
    else open(number);
    if (asked) panel.focus();
    return true;
  }

  function leave() {
    active = false;
    panel.root.remove();
    endMarks();
  }

  // The view drew something: state as check() takes it, without seen and answer; `place` is the one the step looked up.
  function update(state) {
    if (!active) return;
    if (held) { draw(); return; }
    const step = steps[index];
    if (state.run.head.run !== `recorded ${step.run}` || !state.run.end) return;
    const found = (step.find ?? step.rounds[part])(state.run);
    if (!found) return;
    last = { ...state, place: found };
    seen.add(state.at.round);
    const key = JSON.stringify([state.at, RULE_KNOBS.map((name) => state.settings[name])]);
    opened ??= key;
    if (!step.answered && !verdict?.right && key !== opened) judge(step, last);
    draw();
  }

  function judge(step, state) {
    verdict = step.check({ ...state, seen });
    if (!verdict.right) return;
    reveal(true);
    if (part + 1 === (step.rounds?.length ?? 1)) answered.add(step.name);
  }

  return { enter, leave, update, now: () => (active ? index : null), left: () => index };
}

// While it is to be predicted, what became of a round is not shown.
const reveal = (shown) => document.body.classList.toggle("quiz", !shown);

function beginMarks() {
  document.body.classList.add("learning");
  document.body.dataset.taught = "";
}

// What the styles of the page know of a step: its number, and which settings stand beside it.
function markStep(step, index) {
  document.body.dataset.taught = step.controls.join(" ");
  document.body.dataset.step = index + 1;
  reveal(!step.parts.includes("quiz"));
}

function endMarks() {
  document.body.classList.remove("learning", "quiz");
  delete document.body.dataset.taught;
  delete document.body.dataset.step;
}
