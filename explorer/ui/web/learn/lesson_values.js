// All that a text of the lesson may mention, live from the run and the settings. Knows no page.

import { number, percent, short } from "../core/numbers.js";
import { PHASES } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { nextMismatch } from "../twins/wire.js";

// state: {run, place, settings, judgementOf(round)}, as of lesson_steps.js.
export function lessonValues(state, step) {
  const { run, place, settings } = state, { position } = place, round = run.rounds[place.round], other = step.other?.(run);
  const { config } = run.head, rest = round.size - 1 - position;
  return {
    ...mismatchValues(state, place), ...(other ? mismatchValues(state, other, "other_") : {}), ...runValues(state),
    theta: short(settings.theta), own_theta: short(config.theta), w: settings.window, k: config.draft_length,
    block: config.block_size, first: short(config.threshold), growth: short(config.growth), position: position + 1,
    behind: rest, left: rest, m: nextMismatch(round, position) ?? "", own: TEXT.lanes.own,
  };
}

// Of a place where both models drafted: what each said, and how sure the target was.
function mismatchValues({ run, settings }, { round, position }, prefix = "") {
  const there = run.rounds[round];
  if (position >= there.size) return {};
  const token = (piece) => ({ token: run.pieces[piece].text });
  return {
    [`${prefix}draft`]: token(there.drafted[position]), [`${prefix}target`]: token(there.replacement[position]),
    [`${prefix}h`]: short(there.entropy[settings.entropy][position]), [`${prefix}r`]: percent(there.replacementProbs[position]),
  };
}

function runValues({ run, judgementOf }) {
  const { summary, provenance } = run.end, { seconds } = summary;
  const total = PHASES.reduce((sum, phase) => sum + seconds[phase], 0);
  return {
    passes: run.rounds.length, tokens: run.tokens.length, device: provenance.device,
    pass_ms: Math.round((1000 * seconds.verify) / run.rounds.length), alone_ms: summary.baseline_speed ? Math.round(1000 / summary.baseline_speed) : "–",
    best: Math.max(...run.rounds.map((round) => judgementOf(round).accepted + 1)), drafting: percent(seconds.draft / total),
    ours: number(summary.logprob, 3), theirs: number(summary.baseline_logprob, 3),
  };
}
