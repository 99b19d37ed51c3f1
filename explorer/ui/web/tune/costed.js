// A sweep at the costs of another machine: the same texts and work, other speeds, and the point to choose then. Knows no page.

import { say } from "../core/dom.js";
import { TEXT } from "../given/texts.js";
import { timesPlain, tokensPerSecond } from "../twins/costs.js";
import { recommend } from "../twins/recommend.js";

// A sweep as its pictures are drawn, `elsewhere`: what was measured here tells nothing of another machine.
function costedSweep(sweep, profile) {
  const figures = sweep.figures.map((of) => {
    const [steps, blocks, passes] = of.work, work = { steps, blocks, passes };
    return { ...of, tokens_per_second_modelled: tokensPerSecond(profile, of.tokens, work), times_plain_modelled: timesPlain(profile, of.tokens, work) };
  });
  const found = recommend(figures.map((of, index) => ({ ...of, ...sweep.head.points[index] })), sweep.choice.limit);
  const choice = {
    choice: found.choice, limit: sweep.choice.limit, reasons: found.reasons.map(inWords),
    refused: found.refused.map(([index, reasons]) => [index, reasons.map(inWords)]), outside: new Set(found.outside),
  };
  return { ...sweep, figures, choice, measured: {}, elsewhere: true };
}

// A function that costs a sweep again, once for each of its states. profile: null for its own costs.
export function makeCosted() {
  let known = [], found = null;
  return (sweep, profile) => {
    if (!profile) return sweep;
    const state = [sweep.figures, sweep.choice, JSON.stringify(profile)];
    if (!state.every((part, index) => part === known[index])) [known, found] = [state, costedSweep(sweep, profile)];
    return { ...found, phase: sweep.phase };
  };
}

// A reason of recommend() as a sentence.
export function inWords({ code, values }) {
  return say(TEXT.choice[code], Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value?.code ? inWords(value) : value])));
}
