// The summary of a finished run: big quiet figures, what became of the drafts, acceptance, where the time went, fidelity.

import { columnChart, stackedBar } from "../core/charts.js";
import { fill, make, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { number, percent } from "../core/numbers.js";
import { dataTable } from "../core/tables.js";
import { PHASES } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { acceptanceByPosition, lengthsOfRounds } from "./figures.js";

export function makeSummary() {
  const root = make("section", "summary");
  root.setAttribute("aria-label", TEXT.summary.title);
  const clear = () => { root.hidden = true; root.replaceChildren(); };

  function show(run) {
    const words = TEXT.summary, { end } = run, s = end.summary;
    root.hidden = false;
    root.replaceChildren(
      make("h3", "", words.title, end.partial ? make("small", "partial", words.partial) : null),
      make("dl", "figures",
        ...figure(number(s.tau), words.tau, say(words.tau_note, s)),
        ...(s.drafted ? figure(number(s.kept_per_round), words.kept, say(words.kept_note, s)) : []),
        ...figure(number(s.speed, 1), words.speed, say(words.speed_note, s)),
        ...(s.overlapped_speed ? figure(number(s.overlapped_speed, 1), words.overlapped, words.overlapped_note) : []),
        ...(s.phrases ? figure(String(s.from_phrases), words.phrases, say(words.phrases_note, s)) : []),
        ...(s.nodes ? figure(percent(s.kept_of_nodes), words.nodes, say(words.nodes_note, s)) : []),
        ...(s.speedup ? figure(number(s.speedup) + "×", words.speedup, say(words.speedup_note, { speed: number(s.baseline_speed, 1) })) : [])),
      ...(s.drafted ? [make("h4", "", say(words.drafted, s)), ...stackedBar(fates(s.counts))] : []),
      ...times(s.seconds),
      ...(s.drafted ? [make("div", "charts", acceptance(run.rounds), lengths(run.rounds))] : []),
      ...fidelity(s, words),
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

// Bars over positions: rounds that reached the position, and within them those that kept it. Both shares stand in the table.
function acceptance(rounds) {
  const words = TEXT.summary.acceptance;
  const positions = acceptanceByPosition(rounds);
  const picture = columnChart(positions.map(({ reached, kept }, index) => ({
    name: String(index + 1), title: String(Math.round((kept / reached) * 100)), parts: [{ value: reached, tone: "reached" }, { value: kept, tone: "kept" }],
  })), rounds.length);
  const table = dataTable([words.position, words.kept, words.reached, words.of_reached, words.of_all],
    positions.map((at, index) => [index + 1, at.kept, at.reached, percent(at.kept / at.reached), percent(at.kept / at.rounds)]));
  return make("figure", "chart", make("h4", "", words.title), picture,
    make("figcaption", "quiet", say(words.note, { rounds: rounds.length }) + (rounds.some((round) => round.tree) ? " " + words.of_trees : "")), make("details", "", make("summary", "", words.numbers), table));
}

function lengths(rounds) {
  const words = TEXT.summary.lengths;
  const counts = lengthsOfRounds(rounds);
  const longest = rounds.reduce((best, round) => (round.size > best.size ? round : best));
  const picture = columnChart(counts.map((count, index) => ({
    name: String(index + 1), title: count ? String(count) : "", parts: [{ value: count, tone: "kept" }],
  })), Math.max(...counts));
  return make("figure", "chart", make("h4", "", words.title), picture, make("figcaption", "quiet", say(words.note, { size: longest.size, round: longest.index + 1 })),
    make("details", "", make("summary", "", words.numbers), dataTable([words.tokens, words.rounds], counts.map((count, index) => [index + 1, count]))));
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
