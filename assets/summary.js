// The summary of a finished run: big quiet figures, what became of the drafts, where the time went, fidelity.

const PHASES = ["prefill", "draft", "preverify", "verify", "other"];

function makeSummary() {
  const root = make("section", "summary");
  root.setAttribute("aria-label", TEXT.summary.title);
  const clear = () => { root.hidden = true; root.replaceChildren(); };

  function show(end, head) {
    const words = TEXT.summary, s = end.summary;
    root.hidden = false;
    root.replaceChildren(
      make("h3", "", words.title, end.partial ? make("small", "partial", words.partial) : null),
      make("dl", "figures",
        ...figure(number(s.tau), words.tau, say(words.tau_note, s)),
        ...(s.drafted ? figure(number(s.kept_per_round), words.kept, say(words.kept_note, s)) : []),
        ...figure(number(s.speed, 1), words.speed, say(words.speed_note, s)),
        ...(s.speedup ? figure(number(s.speedup) + "×", words.speedup, say(words.speedup_note, { speed: number(s.baseline_speed, 1) })) : [])),
      ...(s.drafted ? [make("h4", "", say(words.drafted, s)), ...stackedBar(fates(s.counts))] : []),
      ...times(s.seconds),
      ...fidelity(s, words, head),
    );
  }

  clear();
  return { root, clear, show };
}

function figure(value, name, note) {
  return [make("div", "figure-box", make("dt", "", name), make("dd", "big", value), make("dd", "note", note))];
}

function fates(counts) {
  return Object.keys(TEXT.summary.counts).filter((key) => counts[key]).map((key) => ({
    value: counts[key], figure: String(counts[key]), label: TEXT.summary.counts[key], tone: "fate-" + key.replace(":", "-"),
  }));
}

function times(seconds) {
  const parts = PHASES.filter((phase) => seconds[phase] > 0).map((phase) => ({
    value: seconds[phase], figure: number(seconds[phase]) + " s", label: TEXT.summary.times[phase], tone: "time-" + phase,
  }));
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  const share = total ? percent(seconds.forwards / total) : "–";
  return [
    make("h4", "", say(TEXT.summary.time, { seconds: number(total) }), make("small", "", say(TEXT.summary.time_forwards, { share }))),
    ...stackedBar(parts),
  ];
}

function fidelity(s, words) {
  const against = s.fidelity;
  if (!against) return [];
  const sentence = against.index === undefined
    ? fill(words.no_divergence, { tokens: against.compared })
    : fill(words.divergence, { index: against.index, ours: quote(against.ours), theirs: quote(against.theirs) });
  return [
    make("h4", "", words.fidelity),
    make("p", "fidelity", ...sentence),
    make("p", "fidelity quiet", say(words.logprob, { ours: number(s.logprob, 3), theirs: number(s.baseline_logprob, 3) })),
  ];
}
