// The verification rules, twin of explorer/verdicts.py: the same cases test both (tests/ui/test_twins.py). Pure; knows no page.

const within = (holds) => (holds ? "relaxed" : "rejected:limit");

// The verdict on one mismatch, by rule; settings: the knobs by name.
const LOOSE = {
  fly({ match, entropy }, position, { theta, window, window_includes_mismatch: includes }) {
    if (!(entropy[position] >= theta)) return "rejected:gate";
    const size = match.length, following = includes ? window - 1 : window;
    for (let next = position + 1; next < size && next <= position + following; next++) {
      if (!match[next]) return "rejected:window";
    }
    return position + window > size - 1 ? "rejected:edge" : "deferred";
  },
  typical: ({ prob, certainty }, at, { typical_epsilon: epsilon, typical_delta: delta }) => within(prob[at] > Math.min(epsilon, delta * certainty[at])),
  topk: ({ rank }, at, { top_k: k }) => within(rank[at] !== null && rank[at] <= k),
  margin: ({ rank, gap }, at, { margin }) => within(rank[at] === 2 && gap[at] <= margin),
  kl: ({ top_prob: top, divergence }, at, { kl_confidence: sure, kl_limit: limit }) => within(top[at] <= sure && divergence[at] < limit),
  judge({ match, harmless }, position, { judge_threshold: threshold, judge_run: most }) {
    let first = position;
    while (first > 0 && !match[first - 1]) first--; // what stands before a judged token was kept
    return within(position - first + 1 <= most && harmless[position] >= threshold);
  },
};

// match, entropy, guarded (stop ids involved) and the lists of evidence: one entry per drafted token; settings: the knobs of the
// rules by name. Returns {verdicts, kept, cut, last}; cut is null where the whole draft is kept.
export function judge(match, entropy, settings, guarded = null, evidence = {}) {
  const size = match.length, all = { ...evidence, match, entropy };

  function verdict(position) {
    if (match[position]) return "exact";
    if (!LOOSE[settings.rule]) return "rejected";
    return guarded?.[position] ? "rejected:stop" : LOOSE[settings.rule](all, position, settings);
  }

  const verdicts = [];
  let cut = null;
  for (let position = 0; position < size; position++) {
    verdicts.push(cut === null ? verdict(position) : "discarded");
    if (cut === null && verdicts[position].startsWith("rejected")) cut = position;
  }
  return { verdicts, kept: cut ?? size, cut, last: cut === null ? "bonus" : "correction" };
}

// Kept though it is not the target's own choice.
export const isLoosened = (verdict) => verdict === "deferred" || verdict === "relaxed";

// Rules that keep a mismatch on its own position alone.
export const relaxes = (rule) => rule !== "fly" && rule in LOOSE;

// How many tokens behind a mismatch must match, in either counting.
export const following = (settings) => (settings.window_includes_mismatch ? Math.max(0, settings.window - 1) : settings.window);
