// The point to choose under a limit, twin of recommend() in explorer/sweep/points.py. Pure.
//
// points: [{settings, name, and the figures of explorer/sweep/wire.py by column name}], limit: [nats, lost]. A reason is {code, values}, its values
// texts, numbers or reasons themselves.

import { LEVEL } from "../given/constants.js";

const reason = (code, values = {}) => ({ code, values });
const answers = (count) => reason(count === 1 ? "answer" : "answers", { count });
const plus = (value) => (value < 0 ? "-" : "+") + Math.abs(value).toFixed(3);
const timesOf = (point) => point.times_plain_modelled;
const isLoose = ({ settings }) => settings.rule === "fly";
const SHARE = `${Math.round(LEVEL * 100)}%`;

// Why a point lies outside the limit; empty where it lies inside.
export function beyondLimit(point, [nats, lost]) {
  const reasons = [];
  if (point.nats_per_token < -nats) reasons.push(reason("below_limit", { nats: (-point.nats_per_token).toFixed(3), limit: nats }));
  const lostHere = point.lost ?? 0;
  if (lostHere > lost) reasons.push(reason("answers_lost", { answers: answers(lostHere), all: point.right + lostHere - point.gained, limit: lost }));
  return reasons;
}

// Returns {choice: an index, reasons, refused: [[index, reasons]] of points that would be faster, outside: indices beyond the limit}.
export function recommend(points, limit) {
  const all = points.map((point, index) => ({ ...point, index }));
  const safe = all.filter((point) => !isLoose(point)).reduce(firstBest((one) => [timesOf(one)]));
  const loose = all.filter(isLoose), inside = loose.filter((point) => !beyondLimit(point, limit).length);
  const best = Math.max(0, ...inside.map(timesOf)), counts = { inside: inside.length, all: loose.length };
  let chosen = safe, reasons;
  if (best > timesOf(safe) * (1 + LEVEL)) {
    const level = inside.filter((point) => timesOf(point) >= best * (1 - LEVEL));
    chosen = level.reduce(firstBest((one) => [one.same_ids, -one.loosened, one.settings.theta, one.settings.window]));
    reasons = [reason(level.length > 1 ? "fastest_of_level" : "fastest", { ...counts, level: level.length, share: SHARE }), speedOf(chosen, safe), costOf(chosen)];
  } else reasons = [reason("none_faster", { ...counts, share: SHARE, name: nameOf(safe) })];
  const refused = loose.filter((point) => timesOf(point) > timesOf(chosen)).map((point) => [point, beyondLimit(point, limit)])
    .filter(([, why]) => why.length).sort(([one], [other]) => timesOf(other) - timesOf(one));
  return {
    choice: chosen.index, reasons, refused: refused.map(([point, why]) => [point.index, why]),
    outside: loose.filter((point) => beyondLimit(point, limit).length).map(({ index }) => index),
  };
}

// The first of those that nothing is above, by a list of figures.
const firstBest = (figuresOf) => (best, one) => {
  const [mine, theirs] = [figuresOf(one), figuresOf(best)], at = mine.findIndex((value, index) => value !== theirs[index]);
  return at >= 0 && mine[at] > theirs[at] ? one : best;
};

const nameOf = (point) => (point.settings.rule === "autoregressive" ? reason("plain") : point.name);

function speedOf(point, safe) {
  const times = { times: timesOf(point).toFixed(2), more: (timesOf(point) / timesOf(safe)).toFixed(2), name: nameOf(safe) };
  const speed = point.tokens_per_second_modelled;
  return speed === null ? reason("times", times) : reason("speed", { speed: speed.toFixed(1), ...times });
}

const costOf = (point) => reason("cost", { nats: plus(point.nats_per_token), answers: answers(point.lost ?? 0), gained: point.gained ?? 0,
  all: point.checkable, same: point.same_ids, prompts: point.prompts });
