// What rounds take at the costs of a machine, twin of explorer/analysis/costs.py and best_length.py: the work they make, and cost profiles. Pure.
//
// work: {steps: forwards of the draft, blocks: those that PACER's layer scored, passes: [[rows, target passes], ..]}.
// A profile is that of Python's, as JSON, but `passes` as pairs [rows, time] by rows.

import { LAYER_POLICIES } from "../given/constants.js";
import { judgeEvidence } from "./verdicts.js";

const STALL = 10, TINY = 1e-9; // as in Python
const SOURCES = ["measured", "published", "entered"], UNITS = ["ms", "pass"], MOST_ROWS = 1_000_000;

export const plainWork = (tokens) => ({ steps: 0, blocks: 0, passes: [[1, tokens]] });

// The work of each of some rounds in a row. A looked-up token is free, a tree takes a step for each level, and a draft made ahead is the work of
// the round that made it.
export function worksOf(rounds, config) {
  const layered = LAYER_POLICIES.includes(config.length), looksUp = config.drafter === "lookup";
  let madeBefore = false;
  return rounds.map((round) => {
    const steps = (looksUp ? 0 : round.ahead.length) + (madeBefore ? 0 : stepsOf(round));
    madeBefore = round.ahead.length > 0;
    return { steps, blocks: layered ? round.blocks.filter(({ scores }) => scores.length).length : 0, passes: [[round.verified + 1, 1]] };
  });
}

function stepsOf({ tree, sources }) {
  if (tree) return Math.max(...tree.map(({ depth }) => depth));
  return sources.filter(isStep).length;
}

const isStep = (source) => source === "model" || source === "features";

export function totalWork(works) {
  const passes = new Map();
  let steps = 0, blocks = 0;
  for (const work of works) {
    steps += work.steps;
    blocks += work.blocks;
    for (const [rows, count] of work.passes) passes.set(rows, (passes.get(rows) ?? 0) + count);
  }
  return { steps, blocks, passes: [...passes].sort(([one], [other]) => one - other) };
}

// One target pass: between known row counts, and beyond the largest, drawn on straight, never downwards; below the smallest it takes what that does.
export function passTime({ passes }, rows) {
  const place = passes.findIndex(([known]) => known >= rows), last = passes.length - 1;
  if (last === 0 || place === 0 || (place > 0 && passes[place][0] === rows)) return passes[Math.max(place, 0)][1];
  const [low, lowTime] = passes[(place < 0 ? last : place) - 1], [high, highTime] = passes[place < 0 ? last : place];
  return lowTime + Math.max((highTime - lowTime) / (high - low), 0) * (rows - low);
}

// All of it, in the profile's unit.
export function timeOf(profile, { steps, blocks, passes }) {
  let rounds = 0;
  for (const [, count] of passes) rounds += count;
  let time = steps * profile.step + blocks * profile.block + rounds * profile.other;
  for (const [rows, count] of passes) time += count * passTime(profile, rows);
  return time;
}

// Null where only ratios are known.
export const tokensPerSecond = (profile, tokens, work) => (profile.unit === "ms" ? (1000 * tokens) / timeOf(profile, work) : null);

export const timesPlain = (profile, tokens, work) => timeOf(profile, plainWork(tokens)) / timeOf(profile, work);

// What the machine that made a run took there. plainSpeed: of plain greedy beside it, tokens per second, and its tokens; or null.
export function measuredProfile(name, rounds, config, plain) {
  const works = worksOf(rounds, config), phases = { step: [], block: [], other: [] }, byRows = new Map();
  rounds.forEach(({ seconds }, index) => {
    const { steps, blocks, passes: [[rows]] } = works[index];
    let rest = seconds.other;
    for (const [phase, spent, count] of [["step", seconds.draft, steps], ["block", seconds.preverify, blocks]]) {
      if (count) phases[phase].push([spent, count]);
      else rest += spent;
    }
    phases.other.push([rest, 1]);
    byRows.set(rows, [...(byRows.get(rows) ?? []), [seconds.verify, 1]]);
  });
  const other = usual(phases.other), known = new Map();
  for (const [rows, samples] of byRows) known.set(rows, [usual(samples), samples.length]);
  if (plain) known.set(1, pooled([Math.max(1000 / plain.speed - other, 0), plain.tokens], known.get(1) ?? [0, 0]));
  return { name, source: "measured", unit: "ms", step: usual(phases.step), block: usual(phases.block), other, passes: neverFalling(known) };
}

// Milliseconds of one unit, stalls left out.
function usual(samples) {
  if (!samples.length) return 0;
  const each = samples.map(([seconds, units]) => seconds / units).sort((one, other) => one - other), half = each.length >> 1;
  const limit = STALL * (each.length % 2 ? each[half] : (each[half - 1] + each[half]) / 2);
  const kept = samples.filter(([seconds, units]) => seconds / units <= limit), sum = (column) => kept.reduce((all, one) => all + one[column], 0);
  return (1000 * sum(0)) / sum(1);
}

// Means, each of so many samples.
function pooled([one, ones], [other, others]) {
  return [(one * ones + other * others) / (ones + others), ones + others];
}

// Times by rows, none below one of fewer rows: noise would decide about draft lengths.
function neverFalling(known) {
  const pools = [];
  for (const [rows, mean] of [...known].sort(([one], [other]) => one - other)) {
    let pool = { mean, members: [rows] };
    while (pools.length && pools[pools.length - 1].mean[0] >= pool.mean[0]) {
      const earlier = pools.pop();
      pool = { mean: pooled(earlier.mean, pool.mean), members: [...earlier.members, ...pool.members] };
    }
    pools.push(pool);
  }
  return pools.flatMap(({ mean, members }) => members.map((rows) => [rows, Math.max(mean[0], TINY)]));
}

// Every draft length up to the longest of the run, each round's draft cut to it and judged again: [{length, tokens (per round), times}]. Empty for
// a run without drafts, and for trees, candidate phrases and PEARL's schedule, whose rounds a cut would change.
export function lengthEstimates({ rounds, head: { config } }, profile) {
  const longest = Math.max(0, ...rounds.map(({ size }) => size));
  if (!longest || rounds.some(({ tree, branches, ahead }) => tree || branches.length || ahead.length)) return [];
  const found = [];
  for (let length = 0; length <= longest; length++) {
    const tokens = rounds.reduce((sum, round) => sum + 1 + acceptedOf(round, length, config), 0);
    const works = rounds.map(({ sources }) => ({ steps: sources.slice(0, length).filter(isStep).length, blocks: 0, passes: [[Math.min(length, sources.length) + 1, 1]] }));
    found.push({ length, tokens: tokens / rounds.length, times: timesPlain(profile, tokens, totalWork(works)) });
  }
  return found;
}

function acceptedOf({ match, protected: stops, entropy, evidence }, length, config) {
  const cut = (list) => list.slice(0, length), lists = Object.fromEntries(Object.entries(evidence).map(([name, list]) => [name, cut(list)]));
  const size = Math.min(length, match.length);
  return judgeEvidence({ ...lists, match: cut(match), protected: cut(stops), entropy: entropy[config.entropy].slice(0, size) }, config).accepted;
}

// The fastest, of equals the shortest; null for none.
export const bestLength = (estimates) => estimates.reduce((best, one) => (best && best.times >= one.times ? best : one), null);

// The profile in parsed JSON: its own, or that of a file of `bench --out`; null where there is none, or one that is damaged.
export function readProfile(data) {
  const given = data?.costs ?? data, isTime = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0 && value <= 1e300;
  if (!given || typeof given !== "object" || !given.passes || typeof given.passes !== "object" || Array.isArray(given.passes)) return null;
  const text = (name) => (typeof given[name] === "string" ? given[name].slice(0, 400) : "");
  const passes = Object.entries(given.passes).map(([rows, time]) => [+rows, time]).sort(([one], [other]) => one - other);
  const { step, block = 0, other = 0 } = given;
  const good = SOURCES.includes(given.source) && UNITS.includes(given.unit) && [step, block, other].every(isTime) && passes.length > 0
    && passes.every(([rows, time]) => Number.isInteger(rows) && rows > 0 && rows <= MOST_ROWS && isTime(time) && time > 0);
  if (!good || !text("name") || (given.source === "published" && !text("citation"))) return null;
  const forms = Object.fromEntries(["target", "draft"].filter((side) => typeof given.forms?.[side] === "string").map((side) => [side, given.forms[side].slice(0, 80)]));
  return { name: text("name"), source: given.source, unit: given.unit, step, block, other, passes, forms, target: text("target"), draft: text("draft"),
    device: text("device"), date: text("date"), citation: text("citation"), url: text("url"), assumes: text("assumes") };
}
