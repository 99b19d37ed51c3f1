// Figures over all rounds of a run, from the rounds alone. Pure; knows no page.

import { disagreements } from "../twins/wire.js";

// By drafted position j: how many rounds drafted it, reached it (all before it kept), and kept it. A phrase was picked for
// agreeing furthest, so its tokens say nothing of acceptance and are left out.
export function acceptanceByPosition(rounds) {
  const positions = [];
  for (const { size, fromPool, judgement } of rounds) {
    for (let j = 0; j < size - fromPool && j <= judgement.accepted; j++) {
      positions[j] ??= { reached: 0, kept: 0 };
      positions[j].reached += 1;
      if (j < judgement.accepted) positions[j].kept += 1;
    }
  }
  return positions.map((at) => ({ ...at, rounds: rounds.length }));
}

// How many rounds emitted 1, 2, .. tokens: [count of 1, count of 2, ..].
export function lengthsOfRounds(rounds) {
  const longest = Math.max(0, ...rounds.map((round) => round.emitted));
  const counts = new Array(longest).fill(0);
  for (const round of rounds) counts[round.emitted - 1] += 1;
  return counts;
}

// Every mismatch of a run under a judgement of its rounds: {round, position, entropy by measure, verdict}.
export function allDisagreements(run, judgementOf) {
  return run.rounds.flatMap((round) => {
    const { verdicts } = judgementOf(round);
    return disagreements(round).map((position) => ({
      round: round.index, position, verdict: verdicts[position],
      normalized: round.entropy.normalized[position], top3: round.entropy.top3[position],
    }));
  });
}

