// The lesson: which recorded run each step opens, which place it looks up there, and how the live state of the view answers its
// question. Pure; knows no page. The texts are in explorer/ui/catalogue/en/lesson.py, under the same names.
//
// A place is looked up by what was said there, never by number. tests/ui/test_lesson.py finds every one in the recorded runs and
// checks that its verdict is what the text claims.
//
//   run       the recorded run it opens
//   parts     what of the view is shown, see lesson.css
//   controls  the settings that stand beside the text
//   find      (run) => {round, position}, or null
//   rounds    in place of find: several such places, one after the other
//   answered  true where the learner says when to look at the answer; else it is looked at with every change
//   check     (state) => {right, note, values}: whether the question is answered, and what to say about it
//
// state: {run, place, at, settings, judgementOf(round), seen, answer}: the place looked up, the place on show, the settings in force,
// the judgement of a round under them, the rounds looked at since the step began, and the place that was given as the answer.

import { following } from "../twins/verdicts.js";
import { nextMismatch } from "../twins/wire.js";

const LOOKED_AT = 3; // passes, besides the first, after which their sameness is plain

const solved = (values = {}, note = "right") => ({ right: true, note, values });
const unsolved = (note, values = {}) => ({ right: false, note, values });

// The first judged position where the draft said one text and the target another.
function mismatchOf(run, draft, target) {
  for (const round of run.rounds) {
    const position = round.match.findIndex((match, at) => !match && at <= round.judgement.accepted
      && run.pieces[round.drafted[at]].text === draft && run.pieces[round.replacement[at]].text === target);
    if (position >= 0) return { round: round.index, position };
  }
  return null;
}

const beginning = (run) => (run.rounds.length ? { round: 0, position: 0 } : null);
// The first round that was cut: where verification first shows.
const firstCutOf = (run) => {
  const round = run.rounds.find(({ judgement }) => judgement.cut !== null);
  return round ? { round: round.index, position: round.judgement.cut } : null;
};
// The beginning of the round with such a mismatch: a round to be judged from its first position.
const roundOf = (draft, target) => (run) => {
  const place = mismatchOf(run, draft, target);
  return place && { round: place.round, position: 0 };
};

const verdictAt = ({ run, judgementOf }, place) => judgementOf(run.rounds[place.round]).verdicts[place.position];
const thrownAway = (round, judgement) => round.size - judgement.accepted;
// The first round that drafted as many tokens as it may, and kept them all.
const firstWhole = (run) => {
  const round = run.rounds.find(({ size, judgement }) => size === run.head.config.draft_length && judgement.accepted === size);
  return round ? { round: round.index, position: 0 } : null;
};
// The block at which a length policy ended the draft, undefined where none did.
const stoppedBy = (round) => round.blocks.find((block) => !block.passed && block.mean !== null);
// How many drafted tokens behind a position match in a row: the largest window it could have.
const longestWindow = (round, position) => (nextMismatch(round, position) ?? round.size - position) - 1;

const KEPT_WRONG = [" full", " floating"], KEPT_WELL = [" exploring", " out"]; // in the story: a slip, and another way to say it

export const LESSON = [
  {
    name: "slow", run: "12-story-alone", parts: ["strip", "scrubber", "summary"], controls: [],
    find: beginning,
    check: ({ seen }) => (seen.size > LOOKED_AT ? solved() : unsolved("more", { left: LOOKED_AT + 1 - seen.size })),
  },
  {
    name: "verify", run: "06-explain-exact", parts: ["legend", "strip", "scrubber", "lanes"], controls: [],
    find: firstCutOf,
    check({ run, at, judgementOf }) {
      const round = run.rounds[at.round], { accepted } = judgementOf(round);
      const values = { round: at.round + 1, kept: accepted, size: round.size, committed: accepted + 1 };
      return round.size && accepted === round.size ? solved(values) : unsolved("cut", values);
    },
  },
  {
    name: "synonym", run: "06-explain-exact", parts: ["strip", "lanes"], controls: ["rule"],
    find: (run) => mismatchOf(run, " is", " appears"),
    check(state) {
      if (state.settings.rule !== "fly") return unsolved(state.settings.rule === "exact" ? "exact" : "other");
      return verdictAt(state, state.place) === "deferred" ? solved() : unsolved("refused");
    },
  },
  {
    name: "doubt", run: "01-story", parts: ["strip", "lanes", "gauges"], controls: ["theta"],
    find: (run) => mismatchOf(run, " heard", " seen"),
    check: (state) => (verdictAt(state, state.place) === "deferred" ? solved() : unsolved("sure")),
  },
  {
    name: "holds", run: "01-story", parts: ["strip", "lanes"], controls: ["window"],
    find: (run) => mismatchOf(run, ...KEPT_WELL),
    check(state) {
      const { run, place, settings } = state, round = run.rounds[place.round];
      const verdict = verdictAt(state, place), values = { left: round.size - 1 - place.position };
      if (verdict !== "deferred") return unsolved(verdict === "rejected:edge" ? "edge" : "broken", values);
      return following(settings) >= longestWindow(round, place.position) ? solved(values) : unsolved("more");
    },
  },
  {
    name: "breaks", run: "01-story", parts: ["strip", "lanes"], controls: ["window"],
    find: (run) => mismatchOf(run, " had", " lived"),
    check: (state) => (verdictAt(state, state.place) === "deferred" ? solved() : unsolved("broken")),
  },
  {
    name: "edge", run: "02-code", parts: ["strip", "lanes"], controls: [], answered: true,
    find: (run) => mismatchOf(run, " Parameters", " Args"),
    check({ run, place, answer, settings }) {
      if (answer.round !== place.round) return unsolved("elsewhere");
      const { size } = run.rounds[place.round], last = size - 1 - settings.window;
      const values = { position: answer.position + 1, needed: answer.position + 1 + settings.window };
      return answer.position === last ? solved(values) : unsolved(answer.position > last ? "beyond" : "earlier", values);
    },
  },
  {
    name: "longer", run: "04-maths-released", parts: ["scrubber", "lanes", "summary"], controls: [],
    find: beginning,
    check({ run, at, judgementOf }) {
      const most = Math.max(...run.rounds.map((round) => thrownAway(round, judgementOf(round))));
      const round = run.rounds[at.round], { accepted } = judgementOf(round);
      const values = { round: at.round + 1, size: round.size, kept: accepted, wasted: thrownAway(round, judgementOf(round)) };
      return values.wasted === most ? solved(values) : unsolved("less", values);
    },
  },
  {
    name: "pacer", run: "10-repeat-pacer", parts: ["scrubber", "lanes"], controls: [],
    find: firstWhole,
    check({ run, at, judgementOf }) {
      const round = run.rounds[at.round], stopped = stoppedBy(round), values = { round: at.round + 1, size: round.size, kept: judgementOf(round).accepted };
      const worst = Math.max(...run.rounds.map((one) => thrownAway(one, judgementOf(one))));
      return stopped ? solved({ ...values, mean: stopped.mean, threshold: stopped.threshold, worst }) : unsolved("passed", values);
    },
  },
  {
    name: "tune", run: "01-story", parts: ["strip", "lanes", "gauges", "whatif"], controls: ["theta"],
    find: (run) => mismatchOf(run, ...KEPT_WRONG),
    other: (run) => mismatchOf(run, ...KEPT_WELL),
    check(state) {
      const [slip, harmless] = [state.place, mismatchOf(state.run, ...KEPT_WELL)].map((place) => verdictAt(state, place) === "deferred");
      if (slip) return unsolved(harmless ? "both" : "swapped");
      return harmless ? solved() : unsolved("neither");
    },
  },
  {
    name: "lost", run: "01-story", parts: ["strip", "card", "summary"], controls: [],
    find: beginning,
    check({ run, at }) {
      const index = run.rounds[at.round].first + at.position + 1, parting = run.end.summary.fidelity.index;
      return index === parting ? solved({ index }) : unsolved(index < parting ? "before" : "behind", { index });
    },
  },
  {
    name: "predict", run: "03-list", parts: ["lanes", "quiz"], controls: [], answered: true,
    rounds: [roundOf(" to", " that"), roundOf(" fit", " provide"), roundOf(" nutritious", " easy")],
    check({ run, place, answer, judgementOf }) {
      if (answer.round !== place.round) return unsolved("elsewhere");
      const round = run.rounds[place.round], { verdicts, accepted } = judgementOf(round), values = { position: answer.position + 1 };
      if (answer.position < accepted) return unsolved(verdicts[answer.position], values);
      if (answer.position > accepted) return unsolved("late", values);
      return solved(values, accepted === round.size ? "all" : verdicts[accepted]);
    },
  },
];

// The steps that can be taken where these recorded runs are at hand.
export const stepsOver = (runs) => LESSON.filter((step) => runs.includes(step.run));
