// The Tune tab's view: reads the growing text of a sweep (explorer/sweep/wire.py), shows what is through as it comes, and
// keeps every picture on one point. The server chooses; here a person looks.

import { axes, columnChart, disc } from "../core/charts.js";
import { button, fill, make, onWidth, say } from "../core/dom.js";
import { glyphs, quote, visible } from "../core/glyphs.js";
import { duration, number, percent, short } from "../core/numbers.js";
import { madeBy } from "../core/origin.js";
import { makeReader, makeStatus } from "../core/progress.js";
import { svg, svgText } from "../core/svg.js";
import { dataTable } from "../core/tables.js";
import { TEXT } from "../given/texts.js";
import { makeHeatMap } from "./heat_map.js";

export function mount({ element, props, trigger, watch }) {
  const SHOWN_TOKENS = 40; // loosened tokens listed; the JSON file has all
  const signed = (value, digits) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(digits);
  const FIGURES = [
    { name: "tau", tone: "good", form: (value) => number(value), scale: spreadOf },
    { name: "times_plain_modelled", tone: "good", form: (value) => number(value) + "×", scale: spreadOf },
    { name: "loosened_share", tone: "loose", form: percent0, scale: (values) => [0, Math.max(...values)] },
    { name: "nats_per_token", tone: "far", form: (value) => signed(value, 3), scale: (values) => [0, Math.min(-choice.limit[0], ...values)] },
    { name: "right", tone: "good", form: (value) => String(value), scale: spreadOf },
  ].map((figure) => ({ ...figure, title: TEXT.figures[figure.name] }));
  const BUSY = ["preparing", "loading", "running", "measuring"];

  // From the least to the most, but never over less than a fifth of the most: what is nearly level looks level.
  function spreadOf(values) {
    const most = Math.max(...values);
    return [Math.min(...values, most * 0.8), most];
  }

  function percent0(value) { return value === 0 ? "0" : percent(value); }

  let head = null, phase = "idle";
  let figures = null, runs = [], sizes = [], cost = null, choice = null, measured = {}, through = 0;
  let picked = null, length = null; // the point on show, null: the recommended one; the draft length whose maps are on show

  const origin = make("p", "origin");
  const status = makeStatus(TEXT.idle, TEXT.progress);
  const lengthChoice = make("div", "tune-lengths");
  lengthChoice.setAttribute("role", "group");
  lengthChoice.setAttribute("aria-label", TEXT.lengths);
  const maps = FIGURES.map((figure) => ({ figure, ...makeHeatMap(figure, { onPick: (point) => pick(point) }) }));
  const mapKey = make("p", "quiet heat-key");
  const mapsPart = make("section", "tune-maps", make("h3", "", TEXT.maps), make("p", "quiet lead", TEXT.maps_lead), lengthChoice,
    make("div", "heat-maps", ...maps.map((map) => map.root)), mapKey);
  const pointPart = make("section", "tune-point");
  const tradePart = make("figure", "tune-trade chart");
  const loosePart = make("section", "tune-loosened");
  const textPart = make("section", "tune-texts");
  const costPart = make("section", "tune-cost");
  const tablePart = make("details", "tune-table");
  const empty = make("p", "empty", TEXT.empty);
  const results = make("div", "tune-results", mapsPart, make("div", "tune-choice", pointPart, tradePart), loosePart, textPart, costPart, tablePart);
  const root = make("div", "run-view tune-view", origin, make("div", "toolbar tune-toolbar", ...status.parts), empty, results);
  element.append(root);
  const trade = makeTrade();
  results.hidden = true;

  const shownPoint = () => picked ?? choice?.choice ?? null;
  const busy = () => BUSY.includes(phase);

  function pick(point) {
    picked = point;
    const mine = head.points[point].settings;
    if (mine.rule === "fly" && mine.draft_length !== length) { length = mine.draft_length; shapeMaps(); }
    draw();
  }

  // Reading ------------------------------------------------------------------------------------------------------------

  function begin(event) {
    head = event;
    phase = "preparing";
    figures = cost = choice = picked = null;
    runs = []; sizes = []; measured = {}; through = 0;
    length = head.lengths[head.lengths.length - 1];
    results.hidden = true;
    empty.hidden = false;
    empty.textContent = TEXT.waiting;
    status.reach(0);
    drawOrigin(null);
    lengthChoice.hidden = head.lengths.length < 2;
    lengthChoice.replaceChildren(...head.lengths.map((one) => {
      const node = button("", say(TEXT.length, { length: one }), () => { length = one; shapeMaps(); draw(); });
      node.dataset.length = one;
      return node;
    }));
    shapeMaps();
    tell(TEXT.phases.preparing, true);
  }

  function shapeMaps() {
    const points = new Map();
    head.points.forEach(({ settings }, index) => {
      if (settings.rule === "fly" && settings.draft_length === length) points.set(`${settings.theta} ${settings.window}`, index);
    });
    for (const map of maps) map.shape(head.thetas, head.windows, points);
    for (const node of lengthChoice.children) node.setAttribute("aria-pressed", String(+node.dataset.length === length));
  }

  const read = makeReader(begin, take);
  function sync() { if (read(props.value)) draw(); }

  function take(event) {
    if (event.done) {
      through = event.done;
      figures = event.figures;
      runs.push(event.runs);
      ({ sizes, cost } = event);
      status.reach(through / head.prompts.length);
      tell(say(TEXT.through, { done: through, all: head.prompts.length }), true);
    } else if (event.choice !== undefined) {
      choice = { ...event, outside: new Set(event.outside) };
    } else if (event.measured) {
      measured[event.measured.point] = event.measured;
      tell(TEXT.phases.measured, true);
    } else if (event.passes) {
      phase = "running";
      tell(say(event.left === null ? TEXT.passes : TEXT.left, { prompt: event.prompt, all: head.prompts.length, passes: event.passes, left: duration(event.left ?? 0) }), false);
    } else if (event.end) {
      phase = event.end;
      drawOrigin(event);
      if (event.end !== "measured") tell(say(TEXT.ends[event.end], { done: event.through, all: head.prompts.length }), true);
    } else if (event.phase) {
      phase = event.phase;
      tell(TEXT.phases[phase] + (event.message ? ": " + event.message : ""), true);
      if (phase === "failed" || phase === "stopped") empty.textContent = TEXT.empty;
    }
  }

  function tell(text, always) {
    root.dataset.phase = busy() ? "running" : phase === "measured" ? "done" : phase;
    status.busy(busy());
    status.tell(text, always);
  }

  function drawOrigin(end) {
    const parts = [head.title, TEXT.measure[head.measure], say(TEXT.budget, { tokens: head.tokens })];
    if (end?.device) parts.push(...madeBy(end, TEXT.dtypes));
    origin.replaceChildren(...parts.map((text) => make("span", "", text)));
  }

  // Drawing ------------------------------------------------------------------------------------------------------------

  function draw() {
    if (!figures || !choice) return;
    results.hidden = false;
    empty.hidden = true;
    const point = shownPoint();
    for (const { figure, root: node, draw: paint } of maps) {
      node.hidden = figure.name === "right" && !figures[0].checkable;
      paint({ values: figures.map((one) => one[figure.name]), chosen: choice.choice, picked: point, outside: choice.outside });
    }
    mapKey.replaceChildren(...fill(through < head.prompts.length ? TEXT.key_partial : TEXT.key, { done: through, all: head.prompts.length }));
    drawPoint(point);
    trade.draw(point);
    drawLoosened(point);
    drawTexts(point);
    drawCost();
    drawTable(point);
  }

  function drawPoint(point) {
    const words = TEXT.point, mine = figures[point], settings = head.points[point].settings, best = point === choice.choice;
    const focus = document.activeElement?.dataset?.act;
    const rows = [
      [words.tau, number(mine.tau)],
      [words.speed, say(words.speed_value, { speed: number(mine.tokens_per_second_modelled, 1), times: number(mine.times_plain_modelled) })],
      ...(measured[point] ? [[words.measured, say(words.measured_value, { speed: number(measured[point].speed, 1), times: number(measured[point].times), off: signed((measured[point].times / measured[point].modelled - 1) * 100, 1), same: measured[point].same, prompts: measured[point].prompts })]] : []),
      [words.nats, say(words.nats_value, { nats: signed(mine.nats_per_token, 3) })],
      [words.loosened, percent0(mine.loosened_share)],
      [words.same, say(words.of, { count: mine.same_ids, all: mine.prompts })],
      ...(mine.median_divergence === null ? [] : [[words.parts, say(words.parts_value, { index: Math.round(mine.median_divergence) })]]),
      ...(mine.checkable ? [[words.right, say(words.right_value, { right: mine.right, checkable: mine.checkable, lost: mine.lost, gained: mine.gained })]] : []),
    ];
    const refused = choice.refused.find(([index]) => index === point);
    const acts = [
      act("measure", words.measure, () => trigger("measure", { point }), busy()),
      act("use", words.use, () => { root.used = settings; trigger("use"); }, false),
      ...(best ? [] : [act("back", words.back, () => { pick(choice.choice); picked = null; }, false)]),
    ];
    pointPart.replaceChildren(
      make("h3", "", best ? words.recommended : words.other, make("small", "", say(words.limit, { nats: choice.limit[0], lost: choice.limit[1] }))),
      make("p", "point-name", nameOf(point)),
      make("dl", "point-figures", ...rows.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)])),
      make("ul", "point-reasons", ...(best ? choice.reasons : refused ? refused[1] : choice.outside.has(point) ? [words.outside] : []).map((reason) => make("li", "", reason))),
      make("div", "point-acts", ...acts));
    if (focus) pointPart.querySelector(`[data-act=${focus}]`)?.focus();
  }

  function act(name, label, onClick, disabled) {
    const node = button(name === "use" ? "primary" : "", label, onClick);
    node.dataset.act = name;
    node.disabled = disabled;
    return node;
  }

  function nameOf(point) {
    const { settings } = head.points[point], words = TEXT.point;
    if (settings.rule === "autoregressive") return words.plain;
    const tail = [...(settings.drafter === "model" ? [] : [TEXT.choices.drafter[settings.drafter]]), ...(settings.length === "fixed" ? [] : [TEXT.choices.length[settings.length]])];
    const name = settings.rule === "exact" ? say(words.exact, { length: settings.draft_length }) : say(words.fly, { theta: short(settings.theta), window: settings.window, length: settings.draft_length });
    return [name, ...tail].join(", ");
  }

  // Speed against fidelity: every point, the references, the limit.
  function makeTrade() {
    const HEIGHT = 230, LEFT = 44, BOTTOM = 34, TOP = 12, RIGHT = 12;
    const words = TEXT.trade;
    const picture = svg("svg", { height: HEIGHT, "aria-hidden": "true", class: "trade" });
    const note = make("figcaption", "quiet");
    tradePart.append(make("h4", "", words.title), picture, note);
    let width = 0, last = null;
    onWidth(tradePart, (found) => { width = found; if (last !== null) draw(last); });
    const MARKS = {
      fly: (x, y) => disc(x, y, 5), exact: (x, y) => `M${x - 5} ${y - 5}h10v10h-10z`, lookup: (x, y) => `M${x} ${y - 6}l6 10h-12z`,
      autoregressive: (x, y) => `M${x} ${y - 6}l6 6l-6 6l-6 -6z`,
    };
    function draw(point) {
      last = point;
      if (!width) return;
      const all = figures.map((one, index) => ({ index, x: one.nats_per_token, y: one.times_plain_modelled, settings: head.points[index].settings }));
      const least = Math.min(-choice.limit[0] * 1.25, ...all.map((one) => one.x)), most = Math.max(0.02, ...all.map((one) => one.x)) * 1.1;
      const top = Math.max(1.2, ...all.map((one) => one.y)) * 1.08;
      const x = (value) => LEFT + ((value - least * 1.04) / (most - least * 1.04)) * (width - LEFT - RIGHT);
      const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
      const label = (at, down, text, anchor = "middle") => svgText(at, down, text, { "text-anchor": anchor });
      const limit = x(-choice.limit[0]);
      const kind = (one) => (one.settings.drafter === "lookup" ? "lookup" : one.settings.rule);
      picture.setAttribute("width", width);
      picture.replaceChildren(
        svg("rect", { x: LEFT, y: TOP, width: Math.max(0, limit - LEFT), height: HEIGHT - BOTTOM - TOP, class: "trade-beyond" }),
        svg("path", { d: `M${limit} ${TOP}V${HEIGHT - BOTTOM}`, class: "trade-limit" }),
        svg("path", { d: `M${LEFT} ${y(1)}H${width - RIGHT}`, class: "trade-one" }),
        axes(LEFT, TOP, width - RIGHT, HEIGHT - BOTTOM),
        ...[0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5].filter((value) => value < top).map((value) => label(LEFT - 6, y(value) + 4, value + "×", "end")),
        ...[least, 0].map((value) => label(x(value), HEIGHT - BOTTOM + 15, signed(value, 2))),
        label(limit, HEIGHT - BOTTOM + 29, say(words.limit, { nats: choice.limit[0] })),
        ...all.map((one) => svg("path", { d: MARKS[kind(one)](x(one.x), y(one.y)), class: `trade-${kind(one)}${choice.outside.has(one.index) ? " beyond" : ""}` })),
        ...all.filter((one) => one.index === point).map((one) => svg("circle", { cx: x(one.x), cy: y(one.y), r: 10, class: "trade-here" })));
      note.textContent = words.note;
    }
    return { draw };
  }

  // The runs of a point by prompt: those prompts that are through.
  const runsOf = (point) => runs.map((mine) => mine.find((run) => run.points.includes(point)));

  function drawLoosened(point) {
    const words = TEXT.loosened;
    const all = runsOf(point).flatMap((run, prompt) => run.loosened.map((one) => ({ prompt, one })));
    loosePart.replaceChildren(make("h3", "", say(words.title, { count: all.length }), make("small", "", nameOf(point))),
      all.length ? make("p", "quiet lead", words.lead) : make("p", "quiet", words.none),
      make("ul", "loosened-list", ...all.slice(0, SHOWN_TOKENS).map(({ prompt, one: [before, kept, own, after, keptChance, ownChance, normalized, top3] }) => {
        const mine = make("span", "tok deferred", ...glyphs(kept.trim() ? kept.trim() : visible(kept)));
        mine.dataset.mark = "D";
        return make("li", "",
          make("span", "loosened-text", "… ", ...glyphs(before), kept.startsWith(" ") ? " " : "", mine, ...glyphs(after), " …"),
          make("span", "quiet loosened-why", ...fill(words.why, {
            prompt: String(prompt + 1), own: quote(own), kept: percent(keptChance), chance: percent(ownChance),
            entropy: number(head.measure === "top3" ? top3 : normalized, 3),
          })));
      })),
      all.length > SHOWN_TOKENS ? make("p", "quiet", say(words.more, { count: all.length - SHOWN_TOKENS })) : "");
  }

  function drawTexts(point) {
    const words = TEXT.texts;
    const open = new Set([...textPart.querySelectorAll("details[open]")].map((node) => node.dataset.prompt));
    textPart.replaceChildren(make("h3", "", words.title, make("small", "", nameOf(point))),
      ...runsOf(point).map((run, index) => {
        const { prompt } = head.prompts[index], own = runs[index].find((one) => one.points.includes(0));
        const title = prompt.length > 90 ? prompt.slice(0, 89) + "…" : prompt;
        const facts = [
          ...(run.right === null ? [] : [run.right ? words.right : own.right ? words.lost : words.wrong]),
          run.parts === null ? words.same : say(words.parts, { index: run.parts + 1 }), say(words.loosened, { count: run.loosened.length }),
        ];
        const node = make("details", "", make("summary", "", make("span", "", `${index + 1}. `, ...glyphs(title.replace(/\n/g, " "))), " ", make("span", "quiet", facts.join(", "))),
          make("p", "tune-text", ...glyphs(run.text)),
          ...(run === own || run.parts === null ? [] : [make("p", "quiet", words.own), make("p", "tune-text quiet", ...glyphs(own.text))]));
        node.dataset.prompt = index;
        node.open = open.has(String(index));
        return node;
      }));
  }

  // What a round takes by the number of drafted tokens: what every modelled speed here is made of.
  function drawCost() {
    const words = TEXT.cost;
    const columns = sizes.map(([drafted, draft, preverify, verify, other, samples]) => ({ drafted, draft: draft + preverify, verify, other, total: draft + preverify + verify + other, samples }));
    const ms = (seconds) => (seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0);
    costPart.replaceChildren(make("h3", "", words.title), make("p", "quiet lead", words.lead),
      columnChart(columns.map((one) => ({ name: String(one.drafted), title: ms(one.total), parts: [
        { value: one.total, tone: "time-other" }, { value: one.draft + one.verify, tone: "time-draft" }, { value: one.verify, tone: "time-verify" },
      ] })), Math.max(...columns.map((one) => one.total))),
      make("ul", "bar-key", ...["verify", "draft", "other"].map((phase) => make("li", "", make("span", `bar-dot time-${phase}`), words[phase]))),
      make("details", "", make("summary", "", words.numbers), dataTable([words.drafted, words.draft, words.verify, words.other, words.total, words.samples],
        columns.map((one) => [one.drafted, ms(one.draft), ms(one.verify), ms(one.other), ms(one.total), one.samples]))),
      cost ? make("p", "quiet", say(words.shared, { passes: cost.passes, points: cost.points, separate: cost.separate_passes, ratio: number(cost.ratio) })) : "");
  }

  // Everything as one table: what the maps show, for reading and for a screen reader; a row picks its point.
  function drawTable(point) {
    const words = TEXT.table;
    const names = ["tau", "tokens_per_second_modelled", "times_plain_modelled", "loosened_share", "nats_per_token", "same_ids", ...(figures[0].checkable ? ["right", "lost"] : [])];
    const forms = { tau: number, tokens_per_second_modelled: (v) => number(v, 1), times_plain_modelled: number, loosened_share: percent0, nats_per_token: (v) => signed(v, 3) };
    if (!tablePart.firstChild) tablePart.append(make("summary", "", make("h3", "", words.title)), make("div", "data-scroll"));
    if (!tablePart.open) return;
    const focused = document.activeElement?.dataset?.row;
    tablePart.lastChild.replaceWith(dataTable([words.point, ...names.map((name) => TEXT.figures[name]), words.note], figures.map((one, index) => {
      const pickRow = button("round-link", nameOf(index), () => pick(index));
      pickRow.dataset.row = index;
      pickRow.setAttribute("aria-pressed", String(index === point));
      const note = [index === choice.choice ? words.chosen : "", choice.outside.has(index) ? words.outside : ""].filter(Boolean).join(", ");
      return [pickRow, ...names.map((name) => (forms[name] ?? String)(one[name])), note];
    }), (index) => (index === point ? "now" : "")));
    if (focused !== undefined) tablePart.querySelector(`[data-row="${focused}"]`)?.focus();
  }
  tablePart.addEventListener("toggle", () => { if (figures && choice) drawTable(shownPoint()); });

  watch("value", sync);
  sync();
}
