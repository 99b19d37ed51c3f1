// What the run view shows, and what follows from it: one run, one place in it and one set of thresholds. Knows no page.

import { ENTROPY_MAXIMUM, RULE_KNOBS } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { replay, replayRefusal, sameRule } from "../twins/replay.js";
import { isLoosened } from "../twins/verdicts.js";
import { kindAt, newRun } from "../twins/wire.js";

export const BUSY = ["preparing", "loading", "running", "baseline"]; // phases of a run that goes on

export function newState() {
  return {
    run: newRun(null),
    before: null, // the finished run of the same prompt that this one is compared with
    kinds: TEXT.kinds, // of tokens, by name: their words and marks
    counts: {}, // of emitted tokens by kind
    top: {}, // by measure: the highest entropy so far
    moved: null, // what the controls say, once they say anything since the run began
    again: null, // of replay(): the rounds under settings that are not the run's own
    at: null, hovered: null, pinned: false, // a round and a position in it
    follow: true, // while a run streams, its newest round is on show until somebody looks elsewhere
    linked: null, // what a link asks for, while the run it names is on its way
  };
}

// Another run begins; one that has ended under the same prompt is remembered, to be compared with.
export function beginRun(state, head) {
  const { run } = state;
  const comparable = run.end && !run.end.partial && !head.recorded && run.head.prompt === head.prompt;
  Object.assign(state, newState(), {
    run: newRun(head), before: comparable ? run : null, kinds: kindsOf(head), linked: state.linked,
    top: Object.fromEntries(Object.keys(ENTROPY_MAXIMUM).map((measure) => [measure, 0.01])),
  });
}

// Take a round into the counts.
export function countRound(state, round) {
  for (let position = 0; position < round.emitted; position++) {
    const kind = kindAt(round.judgement, position);
    state.counts[kind] = (state.counts[kind] ?? 0) + 1;
  }
  for (const [measure, values] of Object.entries(round.entropy)) state.top[measure] = Math.max(state.top[measure], ...values);
}

const kindsOf = (head) =>
  head.config.rule === "autoregressive" ? { ...TEXT.kinds, bonus: { ...TEXT.kinds.bonus, ...TEXT.alone } } : TEXT.kinds;

export const isBusy = ({ run }) => Boolean(run.head) && BUSY.includes(run.phase);

// The rule in force: the controls', as far as they say anything, over the run's own.
export function settingsNow({ run, moved }) {
  const settings = { ...run.head.config };
  for (const name of RULE_KNOBS) if (moved && moved[name] !== null && moved[name] !== undefined) settings[name] = moved[name];
  return settings;
}

// Judge the rounds again where the settings are not the run's own. Returns {settings, other, refusal, judgedBy}: those of the
// controls, whether they differ, why they cannot judge these rounds, and those under which the pictures are drawn.
export function judgeAgain(state) {
  const { run } = state, { config } = run.head, settings = settingsNow(state);
  const other = !sameRule(settings, config);
  const refusal = other ? replayRefusal(settings, config, run.rounds) : null;
  state.again = other && !refusal ? replay(run, settings) : null;
  return { settings, other, refusal, judgedBy: state.again ? { ...config, ...settings } : config };
}

// A round that has just come is not judged again yet.
export const judgementOf = ({ again }, round) => again?.rounds[round.index]?.after ?? round.judgement;

// All that a picture of a place needs: {run, round, position, judgement, settings, kinds}.
export function viewOf(state, place, settings) {
  const { run, kinds } = state, round = run.rounds[place.round];
  return { run, round, position: place.position, judgement: judgementOf(state, round), settings, kinds };
}

export const tokenAt = ({ run }, index) => ({ round: run.tokens[index].round.index, position: run.tokens[index].position });

// The index of the token at a place, null where none was emitted there.
export function tokenIndex({ run }, place) {
  const round = run.rounds[place.round];
  return place.position < round.emitted ? round.first + place.position : null;
}

// What a round is worth looking at for: a mismatch that was accepted, else where it was cut, else its last token.
export function highlight(state, round) {
  const judgement = judgementOf(state, round), loosened = judgement.verdicts.findIndex(isLoosened);
  return loosened >= 0 ? loosened : judgement.accepted;
}

// The round that a view opens on: of a finished run the first with what this page is about, else the newest.
export function openingRound({ run }) {
  const { rounds } = run;
  if (!run.end) return rounds[rounds.length - 1];
  return rounds.find(({ judgement }) => judgement.verdicts.some(isLoosened)) ?? rounds.find(({ judgement }) => judgement.cut !== null) ?? rounds[0];
}

const SEEK = {
  disagreement: (round, position) => !round.match[position],
  deferred: (round, position, { verdicts }) => isLoosened(verdicts[position]),
  refused: (round, position, { verdicts }) => verdicts[position].startsWith("rejected"),
};

// All judged positions of a kind in reading order.
export const sought = (state, kind) => state.run.rounds.flatMap((round) => {
  const judgement = judgementOf(state, round);
  return round.match.map((_, position) => ({ round: round.index, position }))
    .filter(({ position }) => position <= judgement.accepted && SEEK[kind](round, position, judgement));
});

// Which kinds have anything to find.
export const findable = (state) => Object.fromEntries(Object.keys(SEEK).map((kind) => [kind, sought(state, kind).length > 0]));
