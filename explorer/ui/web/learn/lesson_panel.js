// The lesson panel: one step of steps.js in words, its question, and what the view's live state says to it. It stands beside the
// view's own parts and shows those that the step is about; it draws none of them itself.

import { button, fill, make, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { number, percent, short } from "../core/numbers.js";
import { PHASES, RULE_KNOBS } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { nextMismatch } from "../twins/wire.js";
import { stepsOver } from "./lesson_steps.js";

// runs: names of the recorded runs at hand; show(run, find, parts): bring a place of a run on show; place(): the rail's slot for
// the panel; guard(): why the run on show must not be pushed aside unasked, as a key of TEXT.lesson.guards, or null;
// onStep(): the address should follow; onLeave(): go back to Explore.
export function makeLesson({ runs, show, place, guard, onStep, onLeave }) {
  const words = TEXT.lesson, steps = stepsOver(runs);
  const answered = new Set(); // names of steps
  let active = false, index = 0, part = 0; // the step on show, and which of its rounds
  let held = false; // not begun, because of the run on show
  // Since the step was opened: the state at its beginning and now, the rounds looked at, and what was said to the learner.
  let opened = null, last = null, seen = new Set(), verdict = null;

  const list = make("ol", "lesson-steps");
  const count = make("p", "lesson-count quiet"), title = make("h2", "lesson-title"), text = make("div", "lesson-text");
  const question = make("p", "lesson-question"), note = make("p", "lesson-note");
  const answer = button("primary lesson-answer", "", give), again = button("lesson-again", words.next_round, () => open(index, part + 1));
  const goOn = () => (index + 1 < steps.length ? go(index + 1) : onLeave());
  const back = button("", words.back, () => go(index - 1)), forth = button("lesson-forth", "", goOn);
  const onward = button("primary lesson-onward", "", goOn); // the same on a phone, where the question stays and the rest scrolls
  const begin = button("primary", words.begin, () => open(index));
  const task = make("div", "lesson-task", question, answer, note, again, onward);
  const moves = make("div", "lesson-moves", back, forth);
  const nav = make("nav", "", list);
  const root = make("section", "run-view lesson", nav, count, title, text, begin, task, moves);
  root.setAttribute("aria-label", words.title);
  nav.setAttribute("aria-label", words.steps);
  title.tabIndex = -1;
  note.setAttribute("role", "status");
  const dots = steps.map((step, number) => {
    const dot = button("lesson-dot", String(number + 1), () => go(number));
    list.append(make("li", "", dot));
    return dot;
  });

  // Going there ---------------------------------------------------------------------------------------------------------

  // A step by its number from 0, because the learner asked for it.
  function go(number) {
    if (held) [index, part] = [number, 0];
    else open(number);
    draw();
    onStep();
    title.focus({ preventScroll: true });
    if (root.getBoundingClientRect().top < 0) root.scrollIntoView({ block: "start" });
  }

  function open(number, round = 0) {
    [index, part, held] = [number, round, false];
    [opened, last, seen, verdict] = [null, null, new Set(), null];
    const step = steps[index];
    document.body.dataset.taught = step.controls.join(" ");
    document.body.dataset.step = index + 1;
    reveal(!step.parts.includes("quiz"));
    draw();
    show(step.run, step.find ?? step.rounds[part], step.parts);
  }

  // While it is to be predicted, what became of a round is not shown.
  const reveal = (shown) => document.body.classList.toggle("quiz", !shown);

  // Returns whether there is such a step. asked: by hand, not by a link.
  function enter(number, asked) {
    if (!steps[number]) return false;
    active = true;
    place().append(root);
    document.body.classList.add("learning");
    document.body.dataset.taught = "";
    [index, part, last] = [number, 0, null];
    held = guard() !== null;
    if (held) draw();
    else open(number);
    if (asked) title.focus({ preventScroll: true });
    return true;
  }

  function leave() {
    active = false;
    root.remove();
    document.body.classList.remove("learning", "quiz");
    delete document.body.dataset.taught;
    delete document.body.dataset.step;
  }

  // What is said --------------------------------------------------------------------------------------------------------

  function draw() {
    const step = steps[index], said = words.step[step.name];
    for (const [number, dot] of dots.entries()) {
      const done = answered.has(steps[number].name);
      dot.classList.toggle("done", done);
      dot.setAttribute("aria-label", say(done ? words.dot_done : words.dot, { step: number + 1, title: words.step[steps[number].name].title }));
      if (number === index) dot.setAttribute("aria-current", "step");
      else dot.removeAttribute("aria-current");
    }
    count.textContent = say(words.count, { step: index + 1, steps: steps.length });
    title.textContent = said.title;
    back.disabled = index === 0;
    forth.classList.toggle("primary", answered.has(step.name));
    forth.textContent = index + 1 < steps.length ? say(words.forth, { title: words.step[steps[index + 1].name].title }) : words.leave;
    onward.textContent = forth.textContent;
    begin.hidden = !held;
    task.hidden = last === null;
    if (held) {
      const why = guard();
      begin.disabled = why === "busy";
      text.replaceChildren(make("p", "", words.guards[why ?? "free"]));
    }
    if (last === null) return;
    const values = valuesAt(last);
    text.replaceChildren(...said.text.split("\n").map((one) => make("p", "", ...told(one, values))));
    question.replaceChildren(make("b", "", words.question + " "), ...told(said.question, values),
      ...(step.rounds ? [" ", make("span", "quiet", say(words.of, { number: part + 1, all: step.rounds.length }))] : []));
    answer.hidden = !step.answered || Boolean(verdict?.right);
    answer.textContent = answerOf(last);
    onward.hidden = !verdict?.right || part + 1 < (step.rounds?.length ?? 1);
    again.hidden = !(verdict?.right && step.rounds && part + 1 < step.rounds.length);
    tell(said, values);
  }

  // Only when it changes: a screen reader hears every new text.
  function tell(said, values) {
    const key = verdict ? JSON.stringify([index, part, verdict, values.theta, values.w]) : "";
    if (key === note.dataset.key) return;
    note.dataset.key = key;
    note.hidden = !verdict;
    note.classList.toggle("right", Boolean(verdict?.right));
    if (!verdict) { note.replaceChildren(); return; }
    note.replaceChildren(make("b", "", (verdict.right ? words.right : words.not_yet) + " "),
      ...told(said.notes[verdict.note], { ...values, ...verdict.values }));
  }

  // A text with its values; a token is quoted anew wherever it is named. Figures of a check come as numbers.
  const told = (template, values) => fill(template, values).map((part) =>
    typeof part === "number" ? (Number.isInteger(part) ? String(part) : short(part)) : part.token === undefined ? part : quote(part.token));

  const answerOf = ({ at, run }) => (at.position < run.rounds[at.round].size ? say(words.answer, { position: at.position + 1 }) : words.answer_all);

  // The answer ----------------------------------------------------------------------------------------------------------

  // The view drew something: state as check() takes it, without seen and answer; `place` is the one the step looked up.
  function update(state) {
    if (!active) return;
    if (held) { draw(); return; }
    const step = steps[index];
    if (state.run.head.run !== `recorded ${step.run}` || !state.run.end) return;
    const place = (step.find ?? step.rounds[part])(state.run);
    if (!place) return;
    last = { ...state, place };
    seen.add(state.at.round);
    const key = JSON.stringify([state.at, RULE_KNOBS.map((name) => state.settings[name])]);
    opened ??= key;
    if (!step.answered && !verdict?.right && key !== opened) judgeNow(step, last);
    draw();
  }

  function give() {
    judgeNow(steps[index], { ...last, answer: last.at });
    draw();
  }

  function judgeNow(step, state) {
    verdict = step.check({ ...state, seen });
    if (!verdict.right) return;
    reveal(true);
    if (part + 1 === (step.rounds?.length ?? 1)) answered.add(step.name);
  }

  // All that a text may mention, live from the run and the settings.
  function valuesAt({ run, place, settings, judged }) {
    const step = steps[index], { end } = run, { summary } = end;
    const round = run.rounds[place.round], { position } = place;
    const rest = round.size - 1 - position;
    const perPass = (seconds) => Math.round((1000 * seconds) / run.rounds.length);
    const total = PHASES.reduce((sum, phase) => sum + summary.seconds[phase], 0);
    const other = step.other?.(run);
    const mismatch = (at, prefix = "") => {
      const there = run.rounds[at.round];
      if (at.position >= there.size) return {};
      return {
        [`${prefix}draft`]: { token: run.pieces[there.drafted[at.position]].text }, [`${prefix}target`]: { token: run.pieces[there.choice[at.position]].text },
        [`${prefix}h`]: short(there.entropy[settings.entropy][at.position]), [`${prefix}r`]: percent(there.choiceChance[at.position]),
      };
    };
    return {
      ...mismatch(place), ...(other ? mismatch(other, "other_") : {}),
      theta: short(settings.theta), own_theta: short(run.head.config.theta), w: settings.window, k: run.head.config.draft_length,
      block: run.head.config.block_size, first: short(run.head.config.threshold), growth: short(run.head.config.growth), position: position + 1,
      behind: rest, left: rest, m: nextMismatch(round, position) ?? "", own: TEXT.lanes.own,
      passes: run.rounds.length, tokens: run.tokens.length, device: end.provenance.device,
      pass_ms: perPass(summary.seconds.verify), alone_ms: summary.baseline_speed ? Math.round(1000 / summary.baseline_speed) : "–",
      best: Math.max(...run.rounds.map((one) => judged(one).kept + 1)), drafting: percent(summary.seconds.draft / total),
      ours: number(summary.logprob, 3), theirs: number(summary.baseline_logprob, 3),
    };
  }

  return { enter, leave, update, now: () => (active ? index : null), left: () => index };
}
