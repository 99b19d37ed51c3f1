// What is drawn over the lanes, because it spans several: the line of theta, windows, blocks of a length policy.

import { make, say } from "../core/dom.js";
import { number, short } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { following } from "../twins/verdicts.js";
import { nextMismatch } from "../twins/wire.js";
import { scoreOf } from "./round_sentence.js";

// The cut line across all columns.
export function thetaLine() {
  const overlay = make("span", "theta-overlay", make("span", "theta-line", make("span", "theta-name")));
  overlay.setAttribute("aria-hidden", "true");
  return overlay;
}

// Above the scale it sits at the top and says so.
export function placeTheta(overlay, { theta }, scale) {
  const line = overlay.firstChild, beyond = theta > scale;
  line.classList.toggle("beyond", beyond);
  line.style.setProperty("--at", Math.min(1, theta / scale));
  line.firstChild.textContent = say(TEXT.lanes.theta, { theta: short(theta) }) + (beyond ? " ↑" : "");
}

// The look-ahead windows of the mismatches that were judged, as pieces of a timeline. Those of kept mismatches never overlap.
export function windows({ round, judgement, settings }) {
  const words = TEXT.lanes.windows, last = round.size - 1;
  const pieces = [];
  const piece = (from, to, name, label) => {
    const item = make("span", `window ${name}`, label ? make("span", "window-label", label) : null);
    item.style.gridColumn = `${from + 2} / ${to + 3}`;
    item.setAttribute("aria-hidden", "true");
    pieces.push(item);
  };
  judgement.verdicts.forEach((verdict, position) => {
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

// A length policy's decisions: the score of each block against the threshold that let it pass or stopped the draft.
export function blocks({ round, settings }, row) {
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
    item.title = block.scores.map((value) => number(value)).join("  ");
    item.style.gridColumn = `${from + 2} / ${from + 2 + block.size}`;
    item.style.gridRow = row;
    from += block.size;
    return item;
  });
}
