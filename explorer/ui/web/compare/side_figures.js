// The figures of all sides in one table, and where their time went.

import { stackedBar } from "../core/charts.js";
import { make, say } from "../core/dom.js";
import { number } from "../core/numbers.js";
import { dataTable } from "../core/tables.js";
import { PHASES } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { isRelevant } from "../twins/config.js";
import { valueInWords } from "./side_settings.js";
import { SIDES } from "./side_text.js";

// comparison: of compare.js.
export function drawFigures(root, { head, sides }) {
  const ends = sides.map((side) => side.run.end), settings = differences(head.configs);
  const rows = [...settings, ...figureRows(ends, head), ...countRows(ends)];
  root.hidden = false;
  root.replaceChildren(
    make("h3", "", TEXT.figures.title),
    dataTable([TEXT.figures.name, ...SIDES], rows.map(([name, values]) => [name, ...values]), (index) => (rows[index][1][1] === rows[index][1][2] ? "" : "moved")),
    ...(settings.length ? [] : [make("p", "quiet", TEXT.same_settings)]),
    make("h4", "", TEXT.times),
    ...timeBars(ends));
}

// The settings that are not the same and matter on one side at least.
function differences([, a, b]) {
  const names = Object.keys(TEXT.knobs).filter((name) => a[name] !== b[name] && (isRelevant(a, name) || isRelevant(b, name)));
  return names.map((name) => [TEXT.knobs[name], ["", ...[a, b].map((config) => (isRelevant(config, name) ? valueInWords(name, config[name]) : "–"))]]);
}

// Of sides that have ended; the others have an empty cell.
const cells = (ends, pick) => ends.map((end) => (end ? pick(end.summary, end) : ""));

function figureRows(ends, head) {
  const words = TEXT.figures, of = (pick) => cells(ends, pick);
  const logprob = (summary) => summary.logprob === undefined ? (ends[1] ? number(ends[1].summary.baseline_logprob, 3) : "–") : number(summary.logprob, 3);
  return [
    [words.tau, of(({ tau }) => number(tau))],
    [words.kept, of((summary) => (summary.drafted ? number(summary.kept_per_round) : "–"))],
    [words.speed, of(({ speed }) => number(speed, 1))],
    [words.speedup, of(({ speedup }) => (speedup ? number(speedup) + "×" : "–"))],
    [words.tokens, of(({ tokens }) => String(tokens))],
    [words.passes, of(({ passes }) => String(passes))],
    [words.logprob, of(logprob)],
    [words.end, of((_, { end }) => say(TEXT.ends[end], { budget: head.configs[0].max_new_tokens }))],
  ];
}

const countRows = (ends) => Object.entries(TEXT.summary.counts).filter(([name]) => ends.some((end) => end?.summary.counts[name]))
  .map(([name, label]) => [label, cells(ends, ({ counts }) => String(counts[name] ?? 0))]);

const totalOf = (seconds) => PHASES.reduce((sum, name) => sum + seconds[name], 0);

function timeBars(ends) {
  const most = Math.max(...ends.filter(Boolean).map((end) => totalOf(end.summary.seconds)));
  return ends.flatMap((end, index) => {
    if (!end) return [];
    const { seconds } = end.summary, total = totalOf(seconds);
    const parts = PHASES.filter((name) => seconds[name] > 0).map((name) =>
      ({ value: seconds[name], figure: number(seconds[name]) + " s", label: TEXT.summary.times[name], tone: "time-" + name }));
    const [bar, key] = stackedBar(parts);
    bar.style.width = (total / most) * 100 + "%";
    return make("div", "compare-time", make("p", "", SIDES[index], " ", make("span", "quiet", number(total) + " s")), bar, key);
  });
}
