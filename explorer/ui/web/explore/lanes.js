// One round opened: a column for each drafted position and one for the target's own token. Each column is an option with all
// of it in words; windows and blocks are drawn over the columns, because they span several.

import { fill, make, makeMemo, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { number, short } from "../core/numbers.js";
import { RULE_KNOBS } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { following } from "../twins/verdicts.js";
import { disagreements, goesOn, kindAt, nextMismatch } from "../twins/wire.js";
import { kindClass } from "./card.js";
import { makeTree } from "./tree_panel.js";

export function makeLanes(onPick) {
  const words = TEXT.lanes;
  const root = make("section", "lanes");
  root.setAttribute("aria-label", words.title);
  const title = make("h3", "", words.title);
  const sentence = make("p", "round-line");
  const columns = make("div", "lane-columns");
  columns.setAttribute("role", "listbox");
  columns.setAttribute("aria-orientation", "horizontal");
  columns.setAttribute("aria-label", words.columns);
  const grid = make("div", "lane-grid");
  const scroller = make("div", "lane-scroll", grid);
  const drawn = makeMemo();
  let thetaMark = null; // the line of theta in the grid
  const tree = makeTree(onPick);
  root.append(title, scroller, sentence, tree.root);
  const clear = () => { root.hidden = true; drawn(); tree.clear(); };

  // at: as for the card, position being the one on show; scale: the entropy at the top of the bars. Where theta moved and no
  // outcome did, only the line of theta is drawn again.
  function draw(at, scale, progress) {
    const { run, round, position, settings, judged } = at;
    root.hidden = false;
    const sides = round.entropy[settings.entropy].map((value) => value >= settings.theta);
    const knobs = RULE_KNOBS.filter((name) => name !== "theta").map((name) => settings[name]);
    if (!drawn(run.head.run, round.index, position, judged.verdicts, sides, scale, progress.rounds, ...knobs)) build(at, scale, progress);
    if (thetaMark) placeTheta(thetaMark, settings, scale);
    sentence.replaceChildren(...roundSentence(at));
    tree.draw(at);
  }

  function build(at, scale, progress) {
    const { round, settings, judged } = at;
    const count = round.size + 1;
    const names = ["position", "draft", "target", "verdict", "entropy"];
    const hasWindows = settings.rule === "fly" && round.size > 0;
    if (hasWindows) names.push("window");
    if (round.blocks.length) names.push("blocks");
    title.replaceChildren(say(words.heading, progress),
      make("small", "", say(round.size ? words.outcome : words.outcome_alone, { size: round.size, kept: judged.kept })));
    grid.style.setProperty("--columns", count);
    grid.style.setProperty("--rows", names.length);
    const labels = names.map((name, row) => {
      const label = make("span", `lane-name of-${name}`, words.rows[name]);
      label.style.gridRow = row + 1;
      return label;
    });
    const list = make("div", "lane-names", ...labels);
    list.setAttribute("aria-hidden", "true");
    const cells = [];
    for (let position = 0; position < count; position++) cells.push(column({ ...at, position }, position === at.position, scale));
    columns.replaceChildren(...cells);
    thetaMark = settings.rule === "fly" ? thetaLine() : null;
    grid.replaceChildren(list, columns, ...(thetaMark ? [thetaMark] : []), ...(hasWindows ? windows(at) : []), ...blocks(at, names.length));
  }

  // Bring the column on show into sight where the round is wider than the screen.
  function reveal() {
    const cell = columns.querySelector('[aria-selected="true"]');
    if (!cell || scroller.scrollWidth <= scroller.clientWidth) return;
    const names = grid.firstChild.offsetWidth, from = cell.offsetLeft - names, to = cell.offsetLeft + cell.offsetWidth;
    if (from < scroller.scrollLeft) scroller.scrollLeft = from;
    else if (to > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = to - scroller.clientWidth;
  }

  function pick(event) {
    const cell = event.target.closest?.(".lane");
    if (cell) onPick(+cell.dataset.position);
  }
  columns.addEventListener("click", pick);
  columns.addEventListener("keydown", (event) => {
    const at = +event.target.closest?.(".lane")?.dataset.position;
    const last = columns.children.length - 1;
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last, Enter: at, " ": at }[event.key];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onPick(Math.max(0, Math.min(last, next)));
    columns.querySelector('[tabindex="0"]')?.focus();
  });

  clear();
  return { root, clear, draw, reveal };
}

function column(at, selected, scale) {
  const { run, round, position, judged, settings, kinds } = at;
  const words = TEXT.lanes;
  const own = position === round.size;
  const kind = kindAt(judged, position);
  const verdict = own ? null : judged.verdicts[position];
  const hidden = own && position > judged.kept; // no bonus behind a cut
  const match = !own && round.match[position];
  const cell = make("div", `lane ${verdict === "discarded" || position > judged.kept ? "faded" : kind}`);
  cell.dataset.position = position;
  cell.setAttribute("role", "option");
  cell.setAttribute("aria-selected", String(selected));
  cell.tabIndex = selected ? 0 : -1;
  // Each cell says what its row says, so that the column reads as a sentence.
  const part = (row, ...children) => make("span", `lane-cell of-${row}`, ...(children.length ? [make("span", "sr-only", words.rows[row] + " ")] : []), ...children);
  const chip = (token, ...classes) => {
    const node = quote(run.pieces[token].text);
    node.classList.add("chip", ...classes);
    return node;
  };
  const draft = own ? part("draft") : part("draft",
    chip(round.drafted[position], ...(verdict.startsWith("rejected") ? ["struck"] : verdict === "discarded" ? ["plain"] : ["tok", kind])),
    ...(round.source[position] === "model" ? [] : [make("small", "", words.sources[round.source[position]] ?? round.source[position])]));
  const target = match ? part("target", make("span", "agrees", words.agrees)) : hidden ? part("target")
    : part("target", chip(round.choice[position], ...(position === judged.kept ? ["tok", kind] : ["plain"])));
  const shown = own ? (hidden ? null : "bonus") : verdict;
  const nameOf = (one) => kinds[one] ?? TEXT.others[one];
  const recorded = own ? null : round.judged.verdicts[position];
  const letter = shown && make("span", `mark ${kindClass(shown)}`, nameOf(shown).mark);
  letter?.setAttribute("aria-hidden", "true");
  const mark = shown === null ? part("verdict") : part("verdict", letter, make("span", "verdict-name", nameOf(shown).short ?? nameOf(shown).name),
    ...(recorded === verdict ? [] : [make("small", "was", say(words.was, { kind: nameOf(recorded).short ?? nameOf(recorded).name }))]));
  const value = round.entropy[settings.entropy][position];
  const doubt = hidden ? part("entropy") : part("entropy", entropyBar(value, settings, scale, !own && !match), make("span", !own && !match ? "figure" : "figure quiet", short(value)));
  cell.append(part("position", own ? words.own : String(position + 1)), draft, target, mark, doubt);
  return cell;
}

function entropyBar(value, settings, scale, judgedHere) {
  const tone = !judgedHere ? "idle" : settings.rule !== "fly" ? "" : value >= settings.theta ? "above" : "below";
  const bar = make("span", `bar-fill ${tone}`);
  bar.style.height = Math.min(1, value / scale) * 100 + "%";
  return make("span", "bar-room", bar);
}

// The cut line across all columns.
function thetaLine() {
  const overlay = make("span", "theta-overlay", make("span", "theta-line", make("span", "theta-name")));
  overlay.setAttribute("aria-hidden", "true");
  return overlay;
}

// Above the scale it sits at the top and says so.
function placeTheta(overlay, { theta }, scale) {
  const line = overlay.firstChild, beyond = theta > scale;
  line.classList.toggle("beyond", beyond);
  line.style.setProperty("--at", Math.min(1, theta / scale));
  line.firstChild.textContent = say(TEXT.lanes.theta, { theta: short(theta) }) + (beyond ? " ↑" : "");
}

// The look-ahead windows of the mismatches that were judged, as pieces of a timeline. Those of kept mismatches never overlap.
function windows({ round, judged, settings }) {
  const words = TEXT.lanes.windows, last = round.size - 1;
  const pieces = [];
  const piece = (from, to, name, label) => {
    const item = make("span", `window ${name}`, label ? make("span", "window-label", label) : null);
    item.style.gridColumn = `${from + 2} / ${to + 3}`;
    item.setAttribute("aria-hidden", "true");
    pieces.push(item);
  };
  judged.verdicts.forEach((verdict, position) => {
    const ahead = following(settings), end = position + ahead;
    const broken = nextMismatch(round, position);
    if (verdict === "deferred") {
      piece(position, position, "start");
      if (ahead) piece(position + 1, end, "held", words.held);
      else pieces[pieces.length - 1].append(make("span", "window-label", words.none));
    } else if (verdict === "rejected:window") {
      piece(position, position, "start refused");
      if (broken > 1) piece(position + 1, position + broken - 1, "open");
      piece(position + broken, position + broken, "broken", say(words.broken, { m: broken }));
    } else if (verdict === "rejected:edge") {
      piece(position, position, "start refused");
      if (position < last) piece(position + 1, last, "open");
      piece(last + 1, last + 1, "edge", say(words.edge, { w: settings.window, left: last - position }));
    } else if (verdict === "rejected:gate") piece(position, position, "shut", words.shut);
    else if (verdict === "rejected:stop") piece(position, position, "shut", words.stop);
  });
  return pieces;
}

// What the length policy compared with its threshold: a key of `scores` and `scored`. (A visitor's record may name any policy.)
const scoreOf = ({ length, statistic }) => (length !== "pacer" && length in TEXT.lanes.policies ? length : statistic);

// A length policy's decisions: the score of each block against the threshold that let it pass or stopped the draft.
function blocks({ round, settings }, row) {
  const score = TEXT.lanes.scores[scoreOf(settings)];
  let from = 0;
  return round.blocks.map((block) => {
    const item = make("span", `pacer-block ${block.mean === null ? "unscored" : block.passed ? "passed" : "stopped"}`, make("span", "pacer-bar"),
      make("span", "pacer-words", block.mean === null ? TEXT.lanes.blocks.unscored
        : say(block.passed ? TEXT.lanes.blocks.passed : TEXT.lanes.blocks.stopped, { score, mean: number(block.mean), threshold: block.threshold === null ? "–" : number(block.threshold) })));
    if (block.mean !== null) {
      item.firstChild.style.setProperty("--mean", block.mean);
      item.firstChild.style.setProperty("--threshold", block.threshold ?? 0);
    }
    item.title = block.scores.map((score) => number(score)).join("  ");
    item.style.gridColumn = `${from + 2} / ${from + 2 + block.size}`;
    item.style.gridRow = row;
    from += block.size;
    return item;
  });
}

// The whole round in one line: marks of all positions, then a clause for each mismatch up to the cut, then the last token.
function roundSentence(at) {
  const { run, round, judged, settings } = at;
  const words = TEXT.lanes.sentence;
  const text = (token) => quote(run.pieces[token].text);
  const parts = [];
  if (!round.size) return [...fill(words.alone, { token: text(round.choice[0]) }), ...meanwhile(at)];
  parts.push(...fill(words.kept, { kept: judged.kept, size: round.size }));
  disagreements(round).filter((position) => position <= judged.kept && position < round.size).forEach((position) => {
    const verdict = judged.verdicts[position];
    parts.push(" ", ...fill(words[verdict], {
      position: position + 1, draft: text(round.drafted[position]), target: text(round.choice[position]),
      h: short(round.entropy[settings.entropy][position]), theta: short(settings.theta), n: following(settings),
      m: nextMismatch(round, position) ?? "", w: settings.window, left: round.size - 1 - position,
    }));
  });
  if (judged.last === "bonus") parts.push(" ", ...fill(words.bonus, { token: text(round.choice[round.size]) }));
  const stop = round.blocks.find((block) => !block.passed && block.mean !== null), own = round.size - round.fromPool;
  if (stop) parts.push(" ", say(judged.kept >= own ? words.stopped_early : words.stopped, { policy: TEXT.lanes.policies[settings.length] ?? TEXT.lanes.policies.pacer, score: TEXT.lanes.scored[scoreOf(settings)], size: own, mean: number(stop.mean), threshold: number(stop.threshold), cut: judged.kept + 1 }));
  if (round.tree) parts.push(" ", say(words.tree, { nodes: round.tree.length, beside: round.tree.length - round.size }));
  parts.push(...tried(at), ...meanwhile(at));
  return parts;
}

// The phrases that were tried behind the draft in the same pass, each with how far the target agreed.
function tried({ run, round }) {
  if (!round.phrases.length) return [];
  const words = TEXT.lanes.sentence, text = (tokens) => quote(tokens.map((token) => run.pieces[token].text).join(""));
  const list = round.phrases.flatMap(({ agreed, tokens }, index) =>
    [index ? ", " : "", ...fill(words.phrase, { text: text(tokens), agreed, size: tokens.length })]);
  return [" ", say(words.phrases, { count: round.phrases.length }), " ", ...list, "."];
}

// What PEARL's draft made while the target checked, and whether it stands.
function meanwhile({ run, round }) {
  if (!round.ahead.length) return [];
  const words = TEXT.lanes.sentence, text = quote(round.ahead.map((token) => run.pieces[token].text).join(""));
  return [" ", ...fill(goesOn(round) ? words.ahead_stands : words.ahead_falls, { text })];
}
