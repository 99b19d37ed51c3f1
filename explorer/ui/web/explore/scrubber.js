// The scrubber: every round as one bar of what it committed, and under the pointer or the keys the round on show.

import { button, make, makeMemo, onWidth, say } from "../core/dom.js";
import { TEXT } from "../given/texts.js";
import { makeRoundBars } from "./round_bars.js";

const SCRUB_SLOT = 34; // px, the widest bar

// onStep(index), onSeek(kind, direction), onPlay().
export function makeScrubber({ onStep, onSeek, onPlay }) {
  const words = TEXT.scrubber;
  const root = make("section", "scrubber");
  root.setAttribute("aria-label", words.title);
  const range = make("input", "scrub-range");
  range.type = "range";
  range.min = 1;
  range.setAttribute("aria-label", words.range);
  range.addEventListener("input", () => onStep(range.value - 1));
  const bars = makeRoundBars(), stage = make("div", "scrub-stage", bars.root, range);
  const label = make("span", "scrub-label");
  const play = button("scrub-play", words.play, onPlay), seeks = makeSeeks(onSeek);
  const back = button("", "‹", () => onStep(now - 1)), forth = button("", "›", () => onStep(now + 1));
  back.setAttribute("aria-label", words.back);
  forth.setAttribute("aria-label", words.forth);
  root.append(make("div", "scrub-bar", make("span", "scrub-steps", back, play, forth), label, seeks.root), stage,
    make("span", "scrub-keys quiet", words.keys));
  let now = 0, width = 0, last = null;
  const drawn = makeMemo();
  const clear = () => { root.hidden = true; last = null; drawn(); };
  onWidth(root, (found) => { width = found; if (last) draw(...last); });

  // again: of replay(), or null; index: the round on show.
  function draw(run, again, index) {
    last = [run, again, index];
    now = index;
    const count = run.rounds.length;
    root.hidden = !count;
    if (!count || !width || drawn(run.head.run, count, index, width, again?.outcome)) return;
    const slot = Math.min(SCRUB_SLOT, width / count), place = say(words.place, { round: index + 1, rounds: count });
    bars.draw(run.rounds, again, index, slot);
    stage.style.width = count * slot + "px";
    stage.style.setProperty("--slot", slot + "px");
    range.max = count;
    range.value = index + 1;
    range.setAttribute("aria-valuetext", place);
    label.textContent = place;
    back.disabled = index === 0;
    forth.disabled = index === count - 1;
  }

  function setPlaying(on) {
    play.textContent = on ? words.pause : words.play;
    play.setAttribute("aria-pressed", String(on));
  }

  setPlaying(false);
  clear();
  return { root, clear, draw, offer: seeks.offer, setPlaying };
}

// Buttons that search for the next place of a kind.
function makeSeeks(onSeek) {
  const words = TEXT.scrubber;
  const buttons = Object.entries(words.seeks).map(([kind, name]) => {
    const go = button(`seek ${kind}`, name, (event) => onSeek(kind, event.shiftKey ? -1 : 1));
    go.dataset.kind = kind;
    return go;
  });

  // Which searches have something to find at all.
  function offer(found) {
    for (const go of buttons) go.disabled = !found[go.dataset.kind];
  }

  return { root: make("span", "scrub-seek", make("span", "quiet", words.seek), ...buttons), offer };
}
