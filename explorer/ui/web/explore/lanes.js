// One round opened: a column for each drafted position and one for the target's own token. Each column is an option with all
// of it in words; windows and blocks are drawn over the columns, because they span several.

import { make, makeMemo, say } from "../core/dom.js";
import { RULE_KNOBS } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { lane } from "./lane.js";
import { blocks, placeTheta, thetaLine, windows } from "./lane_overlays.js";
import { roundSentence } from "./round_sentence.js";
import { makeTree } from "./tree_panel.js";

export function makeLanes(onPick) {
  const words = TEXT.lanes;
  const root = make("section", "lanes");
  root.setAttribute("aria-label", words.title);
  const title = make("h3", "", words.title), sentence = make("p", "round-line"), tree = makeTree(onPick), grid = makeLaneGrid(onPick);
  root.append(title, grid.root, sentence, tree.root);
  const drawn = makeMemo();
  const clear = () => { root.hidden = true; drawn(); tree.clear(); };

  // at: as for the card, position being the one on show; scale: the entropy at the top of the bars. Where theta moved and no
  // outcome did, only the line of theta is drawn again.
  function draw(at, scale, progress) {
    const { run, round, position, settings, judgement } = at;
    root.hidden = false;
    const sides = round.entropy[settings.entropy].map((value) => value >= settings.theta);
    const knobs = RULE_KNOBS.filter((name) => name !== "theta").map((name) => settings[name]);
    if (!drawn(run.head.run, round.index, position, judgement.verdicts, sides, scale, progress.rounds, ...knobs)) {
      title.replaceChildren(say(words.heading, progress),
        make("small", "", say(round.size ? words.outcome : words.outcome_alone, { size: round.size, kept: judgement.accepted })));
      grid.build(at, scale);
    }
    grid.placeTheta(settings, scale);
    sentence.replaceChildren(...roundSentence(at));
    tree.draw(at);
  }

  clear();
  return { root, clear, draw, reveal: grid.reveal };
}

function makeLaneGrid(onPick) {
  const columns = make("div", "lane-columns"), grid = make("div", "lane-grid"), root = make("div", "lane-scroll", grid);
  columns.setAttribute("role", "listbox");
  columns.setAttribute("aria-orientation", "horizontal");
  columns.setAttribute("aria-label", TEXT.lanes.columns);
  let theta = null; // the line of theta

  function build(at, scale) {
    const { round, settings } = at, count = round.size + 1, hasWindows = settings.rule === "fly" && round.size > 0;
    const names = ["position", "draft", "target", "verdict", "entropy", ...(hasWindows ? ["window"] : []), ...(round.blocks.length ? ["blocks"] : [])];
    grid.style.setProperty("--columns", count);
    grid.style.setProperty("--rows", names.length);
    columns.replaceChildren(...Array.from({ length: count }, (_, position) => lane({ ...at, position }, position === at.position, scale)));
    theta = settings.rule === "fly" ? thetaLine() : null;
    grid.replaceChildren(rowNames(names), columns, ...(theta ? [theta] : []), ...(hasWindows ? windows(at) : []), ...blocks(at, names.length));
  }

  // Bring the column on show into sight where the round is wider than the screen.
  function reveal() {
    const shown = columns.querySelector('[aria-selected="true"]');
    if (!shown || root.scrollWidth <= root.clientWidth) return;
    const names = grid.firstChild.offsetWidth, from = shown.offsetLeft - names, to = shown.offsetLeft + shown.offsetWidth;
    if (from < root.scrollLeft) root.scrollLeft = from;
    else if (to > root.scrollLeft + root.clientWidth) root.scrollLeft = to - root.clientWidth;
  }

  columns.addEventListener("click", (event) => {
    const picked = event.target.closest?.(".lane");
    if (picked) onPick(+picked.dataset.position);
  });
  columns.addEventListener("keydown", (event) => {
    const at = +event.target.closest?.(".lane")?.dataset.position;
    const last = columns.children.length - 1;
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last, Enter: at, " ": at }[event.key];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onPick(Math.max(0, Math.min(last, next)));
    columns.querySelector('[tabindex="0"]')?.focus();
  });

  return { root, build, reveal, placeTheta(settings, scale) { if (theta) placeTheta(theta, settings, scale); } };
}

function rowNames(names) {
  const list = make("div", "lane-names", ...names.map((name, row) => {
    const label = make("span", `lane-name of-${name}`, TEXT.lanes.rows[name]);
    label.style.gridRow = row + 1;
    return label;
  }));
  list.setAttribute("aria-hidden", "true");
  return list;
}
