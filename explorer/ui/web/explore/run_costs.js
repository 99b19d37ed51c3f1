// One run at the costs of a profile: its work, what each round takes, the best draft length. Remembered by run, because a moved threshold
// asks again many times a second. Knows no page.

import { bestLength, lengthEstimates, measuredProfile, timeOf, totalWork, worksOf } from "../twins/costs.js";

const known = new WeakMap(); // by run: {rounds, own, works, by profile: {times, estimates}}

function costsOf(run) {
  let found = known.get(run);
  if (!found || found.rounds !== run.rounds.length) {
    const summary = run.end?.summary, { config, pair } = run.head;
    const plain = summary?.baseline_speed ? { speed: summary.baseline_speed, tokens: summary.baseline_tokens } : null;
    const works = worksOf(run.rounds, config);
    found = { rounds: run.rounds.length, own: measuredProfile(pair, run.rounds, config, plain), works, all: totalWork(works), by: new Map() };
    known.set(run, found);
  }
  return found;
}

function atCosts(run, profile) {
  const found = costsOf(run), key = JSON.stringify(profile);
  if (!found.by.has(key)) {
    if (found.by.size > 50) found.by.clear(); // somebody types numbers
    const estimates = lengthEstimates(run, profile);
    found.by.set(key, { times: found.works.map((work) => timeOf(profile, work)), estimates, best: bestLength(estimates) });
  }
  return found.by.get(key);
}

// What the machine that made a run took, as a profile.
export const ownCosts = (run) => costsOf(run).own;

export const workOfRun = (run) => costsOf(run).all;

// Every draft length at these costs, and the best; empty and null where there is none to choose.
export const lengthsAt = (run, profile) => atCosts(run, profile);

// How many times plain greedy some rounds in a row are, with the tokens they emit there or under other settings.
export function timesOfRounds(run, profile, from, to, tokens) {
  const time = atCosts(run, profile).times.slice(from, to).reduce((sum, one) => sum + one, 0);
  return timeOf(profile, { steps: 0, blocks: 0, passes: [[1, tokens]] }) / time;
}
