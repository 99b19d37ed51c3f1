// The lesson panel: one step in words, its question, and what is said to the answer. It stands beside the view's own parts.

import { button, fill, make, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { short } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { lessonValues } from "./lesson_values.js";

// steps: of lesson_steps.js; onGo(number): to a step, from 0; onNext(): past the one on show; onNextRound(), onBegin(), onAnswer().
export function makeLessonPanel(steps, { onGo, onNext, onNextRound, onBegin, onAnswer }) {
  const words = TEXT.lesson;
  const count = make("p", "lesson-count quiet"), title = make("h2", "lesson-title"), text = make("div", "lesson-text");
  const begin = button("primary", words.begin, onBegin);
  const dots = makeDots(steps, onGo), task = makeTask({ onAnswer, onNextRound, onNext }), moves = makeMoves(steps, { onGo, onNext });
  const root = make("section", "run-view lesson", dots.root, count, title, text, begin, task.root, moves.root);
  root.setAttribute("aria-label", words.title);
  title.tabIndex = -1;

  // lesson: {index, part, answered: names of steps, held: why it does not begin or undefined, last: the state of the view that was
  // looked at or null, verdict: of check() or null}.
  function draw(lesson) {
    const { index, answered, held, last } = lesson, step = steps[index], said = words.step[step.name];
    dots.draw(index, answered);
    count.textContent = say(words.count, { step: index + 1, steps: steps.length });
    title.textContent = said.title;
    moves.draw(index, answered.has(step.name));
    begin.hidden = held === undefined;
    task.root.hidden = last === null;
    if (held !== undefined) {
      begin.disabled = held === "busy";
      text.replaceChildren(make("p", "", words.guards[held ?? "free"]));
    }
    if (last === null) return;
    const values = lessonValues(last, step);
    text.replaceChildren(...said.text.split("\n").map((paragraph) => make("p", "", ...filled(paragraph, values))));
    task.draw(lesson, step, values, moves.next());
  }

  function focus() { title.focus({ preventScroll: true }); }

  return { root, draw, focus };
}

// A text with its values; a token is quoted anew wherever it is named. Figures of a check come as numbers.
const filled = (template, values) => fill(template, values).map((part) => {
  if (typeof part === "number") return Number.isInteger(part) ? String(part) : short(part);
  return part.token === undefined ? part : quote(part.token);
});

function makeDots(steps, onGo) {
  const words = TEXT.lesson, list = make("ol", "lesson-steps"), root = make("nav", "", list);
  root.setAttribute("aria-label", words.steps);
  const dots = steps.map((step, place) => {
    const dot = button("lesson-dot", String(place + 1), () => onGo(place));
    list.append(make("li", "", dot));
    return dot;
  });

  function draw(index, answered) {
    for (const [place, dot] of dots.entries()) {
      const done = answered.has(steps[place].name);
      dot.classList.toggle("done", done);
      dot.setAttribute("aria-label", say(done ? words.dot_done : words.dot, { step: place + 1, title: words.step[steps[place].name].title }));
      if (place === index) dot.setAttribute("aria-current", "step");
      else dot.removeAttribute("aria-current");
    }
  }

  return { root, draw };
}

function makeMoves(steps, { onGo, onNext }) {
  const words = TEXT.lesson;
  let now = 0;
  const back = button("", words.back, () => onGo(now - 1)), forth = button("lesson-forth", "", onNext);

  function draw(index, done) {
    now = index;
    back.disabled = index === 0;
    forth.classList.toggle("primary", done);
    forth.textContent = index + 1 < steps.length ? say(words.forth, { title: words.step[steps[index + 1].name].title }) : words.leave;
  }

  return { root: make("div", "lesson-moves", back, forth), draw, next: () => forth.textContent };
}

// The question of a step, the buttons to answer and to go on, and what was said to the answer.
function makeTask({ onAnswer, onNextRound, onNext }) {
  const words = TEXT.lesson;
  const question = make("p", "lesson-question"), note = make("p", "lesson-note");
  const answer = button("primary lesson-answer", "", onAnswer), again = button("lesson-again", words.next_round, onNextRound);
  const onward = button("primary lesson-onward", "", onNext); // the same on a phone, where the question stays and the rest scrolls
  note.setAttribute("role", "status");

  function draw({ index, part, last, verdict }, step, values, next) {
    const said = words.step[step.name], parts = step.rounds?.length ?? 1, right = Boolean(verdict?.right);
    const { at, run } = last;
    question.replaceChildren(make("b", "", words.question + " "), ...filled(said.question, values),
      ...(step.rounds ? [" ", make("span", "quiet", say(words.of, { number: part + 1, all: parts }))] : []));
    answer.hidden = !step.answered || right;
    answer.textContent = at.position < run.rounds[at.round].size ? say(words.answer, { position: at.position + 1 }) : words.answer_all;
    onward.textContent = next;
    onward.hidden = !right || part + 1 < parts;
    again.hidden = !(right && step.rounds && part + 1 < parts);
    tell(JSON.stringify([index, part, verdict, values.theta, values.w]), verdict, said, values);
  }

  // Only when it changes: a screen reader hears every new text.
  function tell(key, verdict, said, values) {
    const text = verdict ? key : "";
    if (text === note.dataset.key) return;
    note.dataset.key = text;
    note.hidden = !verdict;
    note.classList.toggle("right", Boolean(verdict?.right));
    note.replaceChildren(...(verdict ? [make("b", "", (verdict.right ? words.right : words.not_yet) + " "),
      ...filled(said.notes[verdict.note], { ...values, ...verdict.values })] : []));
  }

  return { root: make("div", "lesson-task", question, answer, note, again, onward), draw };
}
