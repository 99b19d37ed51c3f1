// Every round as one bar: what it committed, from below, and above it what was thrown away.

import { svg } from "../core/svg.js";

const HEIGHT = 84; // px
const LAYERS = ["now", "beyond", "spare", "exact", "deferred", "relaxed", "correction", "bonus", "was"];

export function makeRoundBars() {
  const layers = Object.fromEntries(LAYERS.map((name) => [name, svg("path", { class: `scrub-${name}` })]));
  const root = svg("svg", { height: HEIGHT, "aria-hidden": "true" }, ...Object.values(layers));

  // again: of replay(), or null; index: the round on show; slot: px a round.
  function draw(rounds, again, index, slot) {
    const paths = Object.fromEntries(LAYERS.map((name) => [name, []]));
    const unit = (HEIGHT - 8) / Math.max(...rounds.map((round) => round.size + 1)), count = rounds.length;
    rounds.forEach((round, place) => addRound(paths, round, again?.rounds[place], place, { slot, unit }));
    paths.now.push(`M${(index * slot).toFixed(1)} 0h${slot.toFixed(1)}v${HEIGHT}h${(-slot).toFixed(1)}z`);
    if (again && again.firstChange !== null && again.firstChange + 1 < count) {
      const from = ((again.firstChange + 1) * slot).toFixed(1);
      paths.beyond.push(`M${from} 0H${(count * slot).toFixed(1)}V${HEIGHT}H${from}z`);
    }
    for (const [name, path] of Object.entries(layers)) path.setAttribute("d", paths[name].join(""));
    root.setAttribute("width", count * slot);
  }

  return { root, draw };
}

// other: of replay(), where there is one. Neighbours of one kind are one box.
function addRound(paths, round, other, place, { slot, unit }) {
  const { verdicts, accepted, last } = other ? other.after : round.judgement, gap = Math.min(3, slot * 0.25);
  const box = (name, from, to) => {
    if (to <= from) return;
    const height = (to - from) * unit - Math.min(1, unit * 0.3);
    paths[name].push(`M${(place * slot + gap / 2).toFixed(1)} ${(HEIGHT - to * unit).toFixed(1)}h${(slot - gap).toFixed(1)}v${height.toFixed(1)}h${(gap - slot).toFixed(1)}z`);
  };
  let from = 0;
  for (let to = 1; to <= accepted; to++) {
    if (to < accepted && verdicts[to] === verdicts[from]) continue;
    box(verdicts[from], from, to);
    from = to;
  }
  box(last, accepted, accepted + 1);
  box("spare", accepted + 1, round.size);
  if (other?.changed) paths.was.push(`M${(place * slot).toFixed(1)} ${(HEIGHT - (round.judgement.accepted + 1) * unit).toFixed(1)}h${slot.toFixed(1)}`);
}
