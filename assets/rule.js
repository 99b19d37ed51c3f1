// The verification rule, twin of explorer/verdicts.py: the same cases test both (tests/test_twins.py). Pure; knows no page.

// match, entropy, guarded (stop ids involved): one entry per drafted token; settings: the knobs of the rule by name.
// Returns {verdicts, kept, cut, last}; cut is null where the whole draft is kept.
function judge(match, entropy, settings, guarded = null) {
  const { rule, theta, window, window_includes_mismatch: includes } = settings;
  const size = match.length;
  const following = includes ? window - 1 : window;

  function verdict(position) {
    if (match[position]) return "exact";
    if (rule !== "fly") return "rejected";
    if (guarded?.[position]) return "rejected:stop";
    if (!(entropy[position] >= theta)) return "rejected:gate";
    for (let next = position + 1; next < size && next <= position + following; next++) {
      if (!match[next]) return "rejected:window";
    }
    return position + window > size - 1 ? "rejected:edge" : "deferred";
  }

  const verdicts = [];
  let cut = null;
  for (let position = 0; position < size; position++) {
    verdicts.push(cut === null ? verdict(position) : "discarded");
    if (cut === null && verdicts[position].startsWith("rejected")) cut = position;
  }
  return { verdicts, kept: cut ?? size, cut, last: cut === null ? "bonus" : "correction" };
}
