// The scrubber: every round as one bar of what it committed, and under the pointer or the keys the round on show.

import { button, make, makeMemo, onWidth, say } from "../core/dom.js";
import { svg } from "../core/svg.js";
import { TEXT } from "../given/texts.js";

const SCRUB_HEIGHT = 84, SCRUB_SLOT = 34;

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
  const layers = Object.fromEntries(["now", "beyond", "spare", "exact", "deferred", "relaxed", "correction", "bonus", "was"].map((name) =>
    [name, svg("path", { class: `scrub-${name}` })]));
  const picture = svg("svg", { height: SCRUB_HEIGHT, "aria-hidden": "true" }, ...Object.values(layers));
  const stage = make("div", "scrub-stage", picture, range);
  const label = make("span", "scrub-label");
  const play = button("scrub-play", words.play, onPlay);
  const back = button("", "‹", () => onStep(now - 1)), forth = button("", "›", () => onStep(now + 1));
  back.setAttribute("aria-label", words.back);
  forth.setAttribute("aria-label", words.forth);
  const seeks = make("span", "scrub-seek", make("span", "quiet", words.seek),
    ...Object.entries(words.seeks).map(([kind, name]) => {
      const go = button(`seek ${kind}`, name, (event) => onSeek(kind, event.shiftKey ? -1 : 1));
      go.dataset.kind = kind;
      return go;
    }));
  const keys = make("span", "scrub-keys quiet", words.keys);
  root.append(make("div", "scrub-bar", make("span", "scrub-steps", back, play, forth), label, seeks), stage, keys);
  let now = 0, width = 0, last = null;
  const drawn = makeMemo();
  const clear = () => { root.hidden = true; last = null; drawn(); };
  onWidth(root, (found) => { width = found; if (last) draw(...last); });

  // again: of replay(), or null; index: the round on show.
  function draw(run, again, index) {
    last = [run, again, index];
    now = index;
    const { rounds } = run, count = rounds.length;
    root.hidden = !count;
    if (!count || !width || drawn(run.head.run, count, index, width, again?.outcome)) return;
    const slot = Math.min(SCRUB_SLOT, width / count), gap = Math.min(3, slot * 0.25);
    const tallest = Math.max(...rounds.map((round) => round.size + 1));
    const unit = (SCRUB_HEIGHT - 8) / tallest;
    const paths = Object.fromEntries(Object.keys(layers).map((name) => [name, []]));
    const box = (name, i, from, to) => {
      if (to > from) paths[name].push(`M${(i * slot + gap / 2).toFixed(1)} ${(SCRUB_HEIGHT - to * unit).toFixed(1)}h${(slot - gap).toFixed(1)}v${((to - from) * unit - Math.min(1, unit * 0.3)).toFixed(1)}h${(gap - slot).toFixed(1)}z`);
    };
    rounds.forEach((round, i) => {
      const judged = again ? again.rounds[i].judged : round.judged;
      let from = 0;
      for (let to = 1; to <= judged.kept; to++) {
        if (to < judged.kept && judged.verdicts[to] === judged.verdicts[from]) continue;
        box(judged.verdicts[from], i, from, to);
        from = to;
      }
      box(judged.last, i, judged.kept, judged.kept + 1);
      box("spare", i, judged.kept + 1, round.size);
      if (again?.rounds[i].changed) {
        const y = (SCRUB_HEIGHT - (round.judged.kept + 1) * unit).toFixed(1);
        paths.was.push(`M${(i * slot).toFixed(1)} ${y}h${slot.toFixed(1)}`);
      }
    });
    paths.now.push(`M${(index * slot).toFixed(1)} 0h${slot.toFixed(1)}v${SCRUB_HEIGHT}h${(-slot).toFixed(1)}z`);
    if (again?.first !== null && again && again.first + 1 < count) {
      paths.beyond.push(`M${((again.first + 1) * slot).toFixed(1)} 0H${(count * slot).toFixed(1)}V${SCRUB_HEIGHT}H${((again.first + 1) * slot).toFixed(1)}z`);
    }
    for (const [name, path] of Object.entries(layers)) path.setAttribute("d", paths[name].join(""));
    picture.setAttribute("width", count * slot);
    stage.style.width = count * slot + "px";
    stage.style.setProperty("--slot", slot + "px");
    range.max = count;
    range.value = index + 1;
    const place = say(words.place, { round: index + 1, rounds: count });
    range.setAttribute("aria-valuetext", place);
    label.textContent = place;
    back.disabled = index === 0;
    forth.disabled = index === count - 1;
  }

  // Which searches have something to find at all.
  function offer(found) {
    for (const go of seeks.querySelectorAll("button")) go.disabled = !found[go.dataset.kind];
  }

  function setPlaying(on) {
    play.textContent = on ? words.pause : words.play;
    play.setAttribute("aria-pressed", String(on));
  }

  setPlaying(false);
  clear();
  return { root, clear, draw, offer, setPlaying };
}
