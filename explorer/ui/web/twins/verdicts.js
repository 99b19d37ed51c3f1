// The verification rules, twin of explorer/verdicts.py: the same cases test both (tests/ui/test_twins.py). Pure; knows no page.

const within = (holds) => (holds ? "relaxed" : "rejected:limit");

// The verdict on one mismatch, by rule; settings: the knobs by name.
const LOOSE_RULES = {
  fly({ match, entropy }, position, { theta, window, window_includes_mismatch: includes }) {
    if (!(entropy[position] >= theta)) return "rejected:gate";
    const size = match.length, ahead = includes ? window - 1 : window;
    if (!match.slice(position + 1, position + 1 + ahead).every(Boolean)) return "rejected:window";
    return position + window > size - 1 ? "rejected:edge" : "deferred";
  },
  typical: ({ prob, certainty }, at, { typical_epsilon: epsilon, typical_delta: delta }) => within(prob[at] > Math.min(epsilon, delta * certainty[at])),
  topk: ({ rank }, at, { top_k: k }) => within(rank[at] !== null && rank[at] <= k),
  margin: ({ rank, gap }, at, { margin }) => within(rank[at] === 2 && gap[at] <= margin),
  kl: ({ top_prob: top, divergence }, at, { kl_confidence: sure, kl_limit: limit }) => within(top[at] <= sure && divergence[at] < limit),
  judge({ match, harmless }, position, { judge_threshold: threshold, judge_run: most }) {
    let first = position;
    while (first > 0 && !match[first - 1]) first--; // what stands before a judged token was accepted
    return within(position - first + 1 <= most && harmless[position] >= threshold);
  },
};

// Judge the drafted tokens of one round. evidence: lists by name, one entry per drafted token, match among them, and protected
// (a stop id is involved) where any is; settings: the knobs of the rules by name. Returns {verdicts, accepted, cut, last}; cut is null
// where the whole draft is accepted.
export function judgeEvidence(evidence, settings) {
  const { match, protected: stops } = evidence, size = match.length, judgeMismatch = LOOSE_RULES[settings.rule];

  function verdict(position) {
    if (match[position]) return "exact";
    if (!judgeMismatch) return "rejected";
    return stops?.[position] ? "rejected:stop" : judgeMismatch(evidence, position, settings);
  }

  const verdicts = [];
  let cut = null;
  for (let position = 0; position < size; position++) {
    verdicts.push(cut === null ? verdict(position) : "discarded");
    if (cut === null && verdicts[position].startsWith("rejected")) cut = position;
  }
  return { verdicts, accepted: cut ?? size, cut, last: cut === null ? "bonus" : "correction" };
}

// Kept though it is not the target's own choice.
export const isLoosened = (verdict) => verdict === "deferred" || verdict === "relaxed";

// Rules that keep a mismatch on its own position alone.
export const relaxes = (rule) => rule !== "fly" && rule in LOOSE_RULES;

// How many tokens behind a mismatch must match, in either counting.
export const following = (settings) => (settings.window_includes_mismatch ? Math.max(0, settings.window - 1) : settings.window);
