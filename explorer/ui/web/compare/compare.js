// The Compare tab's view: three runs of one prompt as they are written, where their texts part and why, and their figures.

import { stackedBar } from "../core/charts.js";
import { fill, make, say } from "../core/dom.js";
import { glyphs, quote, visible } from "../core/glyphs.js";
import { number, short } from "../core/numbers.js";
import { madeBy } from "../core/origin.js";
import { makeReader, makeStatus } from "../core/progress.js";
import { dataTable } from "../core/tables.js";
import { PHASES, RULES } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { isRelevant } from "../twins/config.js";
import { relaxes } from "../twins/verdicts.js";
import { kindAt, newRun, readEvent } from "../twins/wire.js";

export function mount({ element, props, watch }) {
  const SIDES = [TEXT.own, "A", "B"];
  const BUSY = ["preparing", "loading", "warming", "running"];

  let head = null, phase = "idle", side = 0;
  let sides = [], apart, gap = null; // sides: {run, parting, strip}; parting null: none, undefined: not known yet

  const origin = make("p", "origin");
  const status = makeStatus(TEXT.idle);
  const notes = make("div", "run-notes");
  const legend = make("ul", "shape-key compare-legend", ...Object.entries(TEXT.kinds).map(([kind, words]) => {
    const sample = make("span", `tok ${kind}`, words.name);
    if (kind !== "exact") sample.dataset.mark = words.mark;
    const item = make("li", "", sample);
    item.dataset.kind = kind;
    return item;
  }));
  const empty = make("p", "empty", TEXT.empty);
  const textsPart = make("section", "compare-texts");
  const partingsPart = make("section", "compare-partings");
  const figuresPart = make("section", "compare-figures");
  const root = make("div", "run-view tune-view", origin, make("div", "toolbar", ...status.parts), notes, empty, partingsPart, textsPart, figuresPart);
  element.append(root);
  textsPart.hidden = partingsPart.hidden = figuresPart.hidden = true;

  // Reading ------------------------------------------------------------------------------------------------------------

  function begin(event) {
    head = event;
    phase = "preparing";
    side = 0; apart = undefined; gap = null;
    sides = head.configs.map((config) => ({ run: newRun({ config }), parting: undefined, box: null }));
    textsPart.hidden = partingsPart.hidden = figuresPart.hidden = true;
    empty.hidden = false;
    origin.replaceChildren(make("span", "", head.title));
    notes.replaceChildren(...head.notes.flatMap((mine, index) => mine.map((note) => make("p", "note", `${SIDES[index]}: ${note}`))));
    legend.querySelector('[data-kind="relaxed"]').hidden = !head.configs.some(({ rule }) => relaxes(rule));
    textsPart.replaceChildren(legend, make("div", "compare-columns", ...sides.map((one, index) => {
      one.box = make("div", "compare-strip");
      one.box.setAttribute("role", "region");
      one.box.setAttribute("aria-label", say(TEXT.text, { side: SIDES[index] }));
      one.box.tabIndex = 0;
      return make("div", index ? "compare-column" : "compare-column whole", make("h4", "", SIDES[index], make("small", "", index ? settingsOf(head.configs[index]) : "")), one.box);
    })));
    tell(true);
  }

  const read = makeReader(begin, take);
  const sync = () => read(props.value);

  function take(event) {
    const mine = sides[side];
    if (event.side !== undefined) {
      side = event.side;
      empty.hidden = true;
      textsPart.hidden = false;
    } else if (event.d) {
      addRound(mine, readEvent(mine.run, event));
    } else if (event.tail) {
      mine.box.append(...glyphs(event.tail));
    } else if (event.end) {
      readEvent(mine.run, event);
      drawOrigin(event.provenance);
      drawFigures();
      mark(mine);
    } else if (event.parting !== undefined) {
      mine.parting = event.parting;
      mark(mine);
      drawPartings();
    } else if (event.apart !== undefined) {
      ({ apart, gap } = event);
      drawPartings();
    } else if (event.phase) {
      phase = event.phase;
      tell(true, event.message);
    }
  }

  function tell(aloud, message) {
    root.dataset.phase = BUSY.includes(phase) ? "running" : phase;
    status.tell(TEXT.phases[phase] + (message ? ": " + message : ""), aloud);
  }

  function drawOrigin(provenance) {
    origin.replaceChildren(...[head.title, ...madeBy(provenance, TEXT.dtypes)].map((text) => make("span", "", text)));
  }

  // Texts --------------------------------------------------------------------------------------------------------------

  function addRound(mine, round) {
    mine.spans ??= [];
    for (const { position, text, hex, stop } of mine.run.tokens.slice(round.first)) {
      const kind = mine.run.head.config.rule === "autoregressive" ? "exact" : kindAt(round.judgement, position);
      const space = text.length > 1 && text.startsWith(" ") ? " " : "";
      const span = make("span", `tok ${kind}`, ...glyphs(text.slice(space.length)));
      if (stop !== null) { span.classList.add("end"); span.dataset.label = visible(stop); }
      else if (!text) { span.classList.add("part"); span.dataset.label = hex || "∅"; }
      if (kind !== "exact") span.dataset.mark = TEXT.kinds[kind].mark;
      if (text.endsWith("\n")) span.classList.add("breaks");
      mine.spans.push(span);
      mine.box.append(space, span);
    }
  }

  // Where a run leaves the target's own text: a sign there, and what stands behind it set apart; the same sign in the target's.
  function mark(mine) {
    const parting = mine.parting, own = sides[0];
    if (!parting || mine.marked) return;
    mine.marked = true;
    mine.spans[parting.index].before(make("span", "boundary", TEXT.parted));
    mine.spans.slice(parting.index).forEach((span) => span.classList.add("parted"));
    own.spans[parting.index].before(make("span", "boundary", say(TEXT.left, { side: SIDES[sides.indexOf(mine)] })));
  }

  function drawPartings() {
    const words = TEXT.partings;
    partingsPart.hidden = false;
    const quoted = (text) => quote(text);
    const item = (parting, index, other, apartWords) => {
      if (parting === undefined) return null;
      const side = SIDES[index];
      if (parting === null) return make("li", "", say(apartWords ? words.together : words.none, { side, other, tokens: Math.min(sides[0].run.tokens.length, sides[index].run.tokens.length) }));
      return make("li", "", make("p", "", ...fill(apartWords ? words.apart : words.leaves, { side, other, index: String(parting.index + 1), ours: quoted(parting.ours), theirs: quoted(parting.theirs) })),
        ...(apartWords ? [] : [make("p", "quiet", ...(parting.tie ? [make("b", "tie", words.tie), " "] : []),
          parting.cause === "fly" ? (parting.tie ? words.fly_tie : words.fly) : parting.cause === "relaxed" ? words.relaxed : parting.cause === "numeric" ? words.numeric : words.other, " ",
          gap === null ? "" : say(words.gap, { gap: short(parting.gap), limit: String(gap) }))]));
    };
    partingsPart.replaceChildren(make("h3", "", words.title), make("ul", "parting-list",
      item(sides[1].parting, 1, words.target), item(sides[2].parting, 2, words.target), item(apart, 2, SIDES[1], true)));
  }

  // Figures ------------------------------------------------------------------------------------------------------------

  const KNOBS = Object.keys(TEXT.knobs);
  const knobValue = (name, value) => (typeof value === "number" ? short(value) : TEXT.values[value] ?? TEXT.choices[name]?.[value] ?? String(value));

  // The settings of its rule, where the loose rule has any.
  function pointOf(config) {
    if (config.rule === "fly") return [`θ ${short(config.theta)}`, `W ${config.window}`];
    return (RULES[config.rule]?.knobs ?? []).map((name) => `${TEXT.knobs[name]} ${knobValue(name, config[name])}`);
  }

  function settingsOf(config) {
    if (config.rule === "autoregressive") return "";
    const parts = [knobValue("rule", config.rule), ...pointOf(config), `K ${config.draft_length}`, ...(config.length === "fixed" ? [] : [TEXT.choices.length[config.length]]), ...(config.drafter === "model" ? [] : [TEXT.choices.drafter[config.drafter]]),
      ...(config.phrases ? [`${TEXT.knobs.phrases} ${config.phrases}`] : []), ...(config.drafter === "features" && config.tree ? [`${TEXT.knobs.tree} ${config.tree}`] : []), ...(config.schedule === "pearl" ? ["PEARL"] : [])];
    return parts.join(", ");
  }

  function drawFigures() {
    const words = TEXT.figures, ends = sides.map((one) => one.run.end), shown = ends.filter(Boolean);
    figuresPart.hidden = false;
    const of = (pick) => ends.map((end) => (end ? pick(end.summary, end) : ""));
    const rows = [
      [words.tau, of((s) => number(s.tau))],
      [words.kept, of((s) => (s.drafted ? number(s.kept_per_round) : "–"))],
      [words.speed, of((s) => number(s.speed, 1))],
      [words.speedup, of((s) => (s.speedup ? number(s.speedup) + "×" : "–"))],
      [words.tokens, of((s) => String(s.tokens))],
      [words.passes, of((s) => String(s.passes))],
      [words.logprob, of((s) => (s.logprob === undefined ? (ends[1] ? number(ends[1].summary.baseline_logprob, 3) : "–") : number(s.logprob, 3)))],
      [words.end, of((s, end) => say(TEXT.ends[end.end], { budget: head.configs[0].max_new_tokens }))],
      ...Object.keys(TEXT.summary.counts).filter((name) => shown.some((end) => end.summary.counts[name])).map((name) => [TEXT.summary.counts[name], of((s) => String(s.counts[name] ?? 0))]),
    ];
    const [, a, b] = head.configs;
    const differing = KNOBS.filter((name) => a[name] !== b[name] && (isRelevant(a, name) || isRelevant(b, name)));
    const settings = differing.map((name) => [TEXT.knobs[name], ["", ...[a, b].map((config) => (isRelevant(config, name) ? knobValue(name, config[name]) : "–"))]]);
    const most = Math.max(...shown.map((end) => totalOf(end.summary.seconds)));
    figuresPart.replaceChildren(
      make("h3", "", words.title),
      sideTable([...settings, ...rows]),
      ...(differing.length ? [] : [make("p", "quiet", TEXT.same_settings)]),
      make("h4", "", TEXT.times),
      ...ends.map((end, index) => {
        if (!end) return null;
        const parts = PHASES.filter((name) => end.summary.seconds[name] > 0).map((name) => ({ value: end.summary.seconds[name], figure: number(end.summary.seconds[name]) + " s", label: TEXT.summary.times[name], tone: "time-" + name }));
        const [bar, key] = stackedBar(parts);
        bar.style.width = (totalOf(end.summary.seconds) / most) * 100 + "%";
        return make("div", "compare-time", make("p", "", SIDES[index], " ", make("span", "quiet", number(totalOf(end.summary.seconds)) + " s")), bar, key);
      }));
  }

  const totalOf = (seconds) => PHASES.reduce((sum, name) => sum + seconds[name], 0);

  const sideTable = (rows) => dataTable([TEXT.figures.name, ...SIDES], rows.map(([name, values]) => [name, ...values]),
    (index) => (rows[index][1][1] === rows[index][1][2] ? "" : "moved"));

  watch("value", sync);
  sync();
}
