// The summary of a finished run: big quiet figures, what became of the drafts, acceptance, where the time went, fidelity.

import { columnChart, stackedBar } from "../core/charts.js";
import { fill, make, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { number, percent } from "../core/numbers.js";
import { dataTable } from "../core/tables.js";
import { PHASES } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { timeOf, timesPlain, tokensPerSecond } from "../twins/costs.js";
import { acceptanceByPosition, lengthsOfRounds } from "./figures.js";
import { lengthsAt, ownCosts, workOfRun } from "./run_costs.js";

// costs: of makeCostsChoice(), whose costs speeds are modelled with.
export function makeSummary(costs) {
  const words = TEXT.summary;
  const title = make("h3"), figures = make("dl", "figures"), rest = make("div", "summary-rest");
  const root = make("section", "summary", title, costs.root, figures, rest);
  root.setAttribute("aria-label", words.title);
  let shown = null;
  const clear = () => { root.hidden = true; shown = null; };

  function show(run) {
    shown = run;
    const { end } = run;
    costs.know(end.summary.drafted ? ownCosts(run) : null);
    costs.root.hidden = !end.summary.drafted;
    root.hidden = false;
    title.replaceChildren(words.title, ...(end.partial ? [make("small", "partial", words.partial)] : []));
    draw();
  }

  // Again, where other costs are chosen.
  function draw() {
    if (!shown) return;
    const run = shown, s = run.end.summary, profile = s.drafted ? costs.profile() : null, lengths = s.drafted ? lengthsAt(run, profile ?? ownCosts(run)) : null;
    figures.replaceChildren(
      ...figure(number(s.tau), words.tau, say(words.tau_note, s)),
      ...(s.drafted ? figure(number(s.kept_per_round), words.kept, say(words.kept_note, s)) : []),
      ...(profile ? modelledSpeeds(run, profile) : measuredSpeeds(s)),
      ...(lengths?.best ? bestLength(lengths.best) : []),
      ...(s.phrases ? figure(String(s.from_phrases), words.phrases, say(words.phrases_note, s)) : []),
      ...(s.nodes ? figure(percent(s.kept_of_nodes), words.nodes, say(words.nodes_note, s)) : []));
    rest.replaceChildren(
      ...(lengths?.best ? [everyLength(lengths.estimates)] : []),
      ...(s.drafted ? [make("h4", "", say(words.drafted, s)), ...stackedBar(fates(s.counts))] : []),
      ...(profile ? modelledTimes(run, profile) : times(s.seconds)),
      ...(s.drafted ? [make("div", "charts", acceptance(run.rounds), lengthsDrawn(run.rounds))] : []),
      ...fidelity(s, words),
    );
  }

  return {
    root, clear, show,
    // Another choice of costs; what changed is told to who cannot see it.
    recost() {
      draw();
      if (!shown) return;
      const profile = costs.profile(), run = shown;
      if (profile) costs.tell(say(words.told, { times: number(timesPlain(profile, run.end.summary.tokens, workOfRun(run))), best: lengthsAt(run, profile).best?.length ?? "–" }));
    },
  };
}

function measuredSpeeds(s) {
  const words = TEXT.summary;
  return [
    ...figure(number(s.speed, 1), words.speed, say(words.speed_note, s)),
    ...(s.overlapped_speed ? figure(number(s.overlapped_speed, 1), words.overlapped, words.overlapped_note) : []),
    ...(s.speedup ? figure(number(s.speedup) + "×", words.speedup, say(words.speedup_note, { speed: number(s.baseline_speed, 1) })) : []),
  ];
}

function modelledSpeeds(run, profile) {
  const words = TEXT.summary, work = workOfRun(run), { tokens } = run.end.summary, speed = tokensPerSecond(profile, tokens, work);
  return [
    ...(speed === null ? [] : figure(number(speed, 1), words.speed_modelled, words.speed_modelled_note)),
    ...figure(number(timesPlain(profile, tokens, work)) + "×", words.speedup_modelled, words.speedup_modelled_note),
  ];
}

function bestLength({ length, times: faster }) {
  const words = TEXT.summary;
  return figure(String(length), words.best, length ? say(words.best_note, { times: number(faster) }) : words.best_none);
}

function everyLength(estimates) {
  const words = TEXT.summary.best_lengths;
  return make("details", "", make("summary", "", words.title), make("p", "quiet", words.note),
    dataTable([words.length, words.tokens, words.times], estimates.map((one) => [one.length, number(one.tokens), number(one.times)])));
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

// Where the time of these rounds would go at other costs.
function modelledTimes(run, profile) {
  const words = TEXT.summary, { steps, blocks, passes } = workOfRun(run), all = timeOf(profile, { steps, blocks, passes });
  const count = passes.reduce((sum, [, rounds]) => sum + rounds, 0);
  const spent = { draft: steps * profile.step, preverify: blocks * profile.block, other: count * profile.other };
  spent.verify = all - spent.draft - spent.preverify - spent.other;
  const figureOf = (time) => (profile.unit === "ms" ? number(time / 1000) + " s" : percent(time / all));
  const parts = PHASES.filter((phase) => spent[phase] > 0).map((phase) => ({ value: spent[phase], figure: figureOf(spent[phase]), label: words.times[phase], tone: "time-" + phase }));
  return [make("h4", "", profile.unit === "ms" ? say(words.time_modelled, { seconds: number(all / 1000) }) : say(words.time_ratios, { passes: number(all, 1) })), ...stackedBar(parts)];
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

function lengthsDrawn(rounds) {
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
