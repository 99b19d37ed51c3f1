// What-if, in words: what moved, where the text would part, and the figures of both parts; it stays in sight while thresholds
// move. And the comparison of two real runs of one prompt.

// onRerun(), onReset().
function makeWhatIf({ onRerun, onReset }) {
  const words = TEXT.whatif;
  const headline = make("p", "whatif-head"), verdict = make("p", "whatif-verdict"), figures = make("div", "whatif-figures"), note = make("p", "whatif-note", words.other_pair);
  const rerun = button("primary", words.rerun, onRerun), reset = button("", words.reset, onReset);
  const root = make("section", "whatif", make("div", "whatif-words", headline, verdict, note), make("div", "whatif-buttons", rerun, reset), figures);
  root.setAttribute("aria-label", words.title);
  const drawn = makeMemo();
  const clear = () => { root.hidden = true; drawn(); };

  // again: of replay(), or null where these settings cannot be replayed, `refusal` saying why.
  function draw(run, again, settings, refusal, busy) {
    const recorded = run.head.config;
    root.hidden = false;
    rerun.disabled = busy;
    note.hidden = run.head.here !== false;
    const moved = RULE_KNOBS.filter((name) => settings[name] !== recorded[name]);
    headline.replaceChildren(make("b", "", words.title + " "), moved.map((name) =>
      say(words.moved, { name: words.knobs[name], now: knobValue(name, settings[name]), was: knobValue(name, recorded[name]) })).join(", "));
    figures.hidden = !again;
    if (drawn(run.head.run, run.rounds.length, refusal, again?.outcome)) return;
    if (!again) { verdict.textContent = words.refusals[refusal]; return; }
    const rounds = run.rounds.length;
    verdict.replaceChildren(...fill(again.first === null ? words.same : again.first === rounds - 1 ? words.parts_last : words.parts,
      { round: again.first + 1, rounds }), " ", ...lostAndGained(run, again));
    const spanOfRecorded = (from, to) => {
      const span = newSpan();
      run.rounds.slice(from, to).forEach((round) => addToSpan(span, round.judged.verdicts, round.emitted));
      return span;
    };
    const split = again.first === null ? rounds : again.first + 1;
    figures.replaceChildren(
      spanFigures(say(split === 1 ? words.exact_one : words.exact, { to: split }), spanOfRecorded(0, split), again.exact),
      split < rounds ? spanFigures(say(words.counterfactual, { from: split + 1, to: rounds }), spanOfRecorded(split), again.counterfactual, "unsure") : "");
  }

  clear();
  return { root, clear, draw };
}

const LOOSENED = ["deferred", "relaxed"];

function knobValue(name, value) {
  return typeof value === "number" ? short(value) : TEXT.whatif.values[value] ?? TEXT.choices[name]?.[value] ?? String(value);
}

function lostAndGained(run, again) {
  let lost = 0, gained = 0, refused = 0;
  again.rounds.forEach(({ judged }, index) => {
    const difference = judged.kept - run.rounds[index].judged.kept;
    if (difference > 0) gained += difference;
    else if (difference < 0) { lost -= difference; refused += 1; }
  });
  const words = TEXT.whatif;
  return [lost ? say(lost === refused ? words.lost_alone : words.lost, { lost, refused, behind: lost - refused }) : "", lost && gained ? " " : "", gained ? say(words.gained, { gained }) : ""];
}

function spanFigures(title, before, after, tone = "") {
  const words = TEXT.whatif;
  const row = (name, one, other) => make("span", one === other ? "pair" : "pair moved", make("span", "pair-name", name), " ",
    make("span", "figure", one === other ? one : `${one} → ${other}`));
  return make("div", `whatif-span ${tone}`, make("span", "span-title", title), " ",
    row(words.tau, number(tauOf(before)), number(tauOf(after))),
    ...LOOSENED.filter((kind) => kind === "deferred" || before.counts[kind] || after.counts[kind])
      .map((kind) => row(words[kind], String(before.counts[kind] ?? 0), String(after.counts[kind] ?? 0))),
    row(words.refused, String(refusedIn(before.counts)), String(refusedIn(after.counts))));
}

// Two real runs of one prompt, side by side. before, after: finished runs.
function makeCompare() {
  const words = TEXT.compare;
  const root = make("section", "compare");
  root.setAttribute("aria-label", words.title);
  const clear = () => { root.hidden = true; root.replaceChildren(); };

  function show(before, after) {
    const runs = [before, after];
    const summary = (name, digits) => runs.map((run) => (run.end.summary[name] === null ? "–" : number(run.end.summary[name], digits)));
    const counted = (pick) => runs.map((run) => String(pick(run.end.summary.counts)));
    const knobs = Object.keys(after.head.config).filter((name) => String(before.head.config[name]) !== String(after.head.config[name]) && words.knobs[name]
      && runs.some((run) => matters(run.head.config, name)));
    const rows = [
      ...(before.end.provenance.pair === after.end.provenance.pair ? [] : [[words.pair, runs.map((run) => run.head.title)]]),
      ...knobs.map((name) => [words.knobs[name], runs.map((run) => (matters(run.head.config, name) ? knobValue(name, run.head.config[name]) : "–"))]),
      [words.tau, summary("tau", 2)], [words.kept, summary("kept_per_round", 2)], [words.speed, summary("speed", 1)],
      [words.tokens, runs.map((run) => String(run.end.summary.tokens))],
      ...LOOSENED.filter((kind) => kind === "deferred" || runs.some((run) => run.end.summary.counts[kind]))
        .map((kind) => [words[kind], counted((counts) => counts[kind] ?? 0)]),
      [words.refused, counted(refusedIn)],
    ];
    const parting = after.tokens.findIndex((token, index) => token.text !== before.tokens[index]?.text);
    root.hidden = false;
    root.replaceChildren(make("h3", "", words.title),
      make("table", "", make("thead", "", make("tr", "", make("td"), cell("th", before.head.recorded ? words.recorded : words.before, "col"), cell("th", words.after, "col"))),
        make("tbody", "", ...rows.map(([name, values]) => make("tr", values[0] === values[1] ? "" : "moved", cell("th", name, "row"), ...values.map((value) => cell("td", value)))))),
      make("p", "quiet", parting < 0 ? words.same : say(words.parting, { index: parting + 1 })),
      make("p", "quiet", !before.head.recorded && before.end.provenance.device === after.end.provenance.device ? words.speeds : words.other_machine));
  }

  clear();
  return { root, clear, show };
}
