// What-if: the recorded rounds judged again under other settings of the rule, twin of explorer/analysis/replay.py. Pure.
//
// Up to and including the first round that commits other tokens the figures are exact. After it the text would have gone on
// differently: those rounds are counterfactual, and counted apart, as conditional on the recorded text.

import { RULES, RULE_KNOBS } from "../given/constants.js";
import { judgeEvidence } from "./verdicts.js";
import { committedAt, disagreements } from "./wire.js";

export const sameRule = (one, other) => RULE_KNOBS.every((name) => one[name] === other[name]);

// Why a rule cannot judge these rounds again, as a key of TEXT.whatif.refusals; null where it can. recorded: the run's settings.
export function replayRefusal(settings, recorded, rounds) {
  if (settings.rule === "autoregressive" || recorded.rule === "autoregressive") return "alone";
  if (recorded.schedule === "pearl" && settings.rule !== "exact") return "pearl";
  const { reads = [], greedy_only: greedy = false } = RULES[settings.rule] ?? {};
  if (greedy && recorded.temperature > 0) return "drawn";
  // Of what rules read, the entropies are always there, and a rank that is not says that it is low.
  const needed = reads.filter((name) => name !== "entropy" && name !== "rank");
  const lacks = (round) => disagreements(round).some((position) => needed.some((name) => round.evidence[name][position] === null));
  if (rounds.some(lacks)) return "evidence";
  return settings.window_includes_mismatch && settings.window < 1 ? "window" : null;
}

// Judge every round of a run under these settings. Returns {settings, rounds: [{before, after, changed, counterfactual}], firstChange:
// the index of the first round that commits other tokens or null, exact, counterfactual: spans, outcome}.
export function replay(run, settings) {
  let firstChange = null;
  const exact = newSpan(), counterfactual = newSpan();
  const rounds = run.rounds.map((round) => {
    const before = round.judgement, after = judgeAgain(round, settings);
    // Both begin with the same tokens, and a text that ended among those ends there again.
    const alike = Math.min(before.accepted, after.accepted);
    const changed = before.accepted !== after.accepted && round.emitted > alike;
    const diverged = firstChange !== null;
    addToSpan(diverged ? counterfactual : exact, after.verdicts, changed ? emittedUnder(run, round, after) : round.emitted);
    if (changed && !diverged) firstChange = round.index;
    return { before, after, changed, counterfactual: diverged };
  });
  // `outcome` names what was decided: two replays of one run with the same outcome look alike but for their thresholds.
  const outcome = rounds.map(({ after }) => after.verdicts.join()).join(";");
  return { settings, rounds, firstChange, exact, counterfactual, outcome };
}

function judgeAgain({ match, protected: stops, entropy, evidence, size }, settings) {
  return judgeEvidence({ ...evidence, match, protected: stops, entropy: entropy[settings.entropy].slice(0, size) }, settings);
}

export function newSpan() {
  return { passes: 0, tokens: 0, counts: {} };
}

export function addToSpan(span, verdicts, tokens) {
  span.passes += 1;
  span.tokens += tokens;
  for (const verdict of verdicts) span.counts[verdict] = (span.counts[verdict] ?? 0) + 1;
}

export const tauOf = (span) => (span.passes ? span.tokens / span.passes : null);

// Tokens a round emits under another judgement: what it commits, up to a stop id. Stop strings are not looked for again.
function emittedUnder(run, round, judgement) {
  for (let position = 0; position <= judgement.accepted; position++) {
    if (run.pieces[committedAt(round, position, judgement)].stop) return position + 1;
  }
  return judgement.accepted + 1;
}
