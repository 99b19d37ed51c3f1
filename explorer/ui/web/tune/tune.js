// The Tune tab's view: reads the growing text of a sweep (explorer/sweep/wire.py), shows what is through as it comes, and
// keeps every picture on one point. The server chooses; here a person looks.

import { makeCostsChoice } from "../core/costs_choice.js";
import { make, say } from "../core/dom.js";
import { number } from "../core/numbers.js";
import { makeReader } from "../core/progress.js";
import { TEXT } from "../given/texts.js";
import { drawCost } from "./cost.js";
import { makeCosted } from "./costed.js";
import { makeMaps } from "./maps.js";
import { makePoint } from "./point.js";
import { makePointsTable } from "./points_table.js";
import { isBusy, nameOf, newSweep, settingsOf, takeEvent } from "./sweep.js";
import { makeSweepStatus } from "./sweep_status.js";
import { drawLoosened, drawTexts } from "./texts.js";
import { makeTrade } from "./trade.js";

// element, props, trigger, watch: as Gradio gives them; props.value is the text.
export function mount({ element, props, trigger, watch }) {
  let sweep = newSweep();
  let picked = null, length = null; // the point on show, null: the recommended one; the draft length whose maps are on show
  const maps = makeMaps({ onPick: pick, onLength(wanted) { length = wanted; maps.shape(sweep.head, length); draw(); } });
  const pointPart = makePoint({
    onMeasure: (point) => trigger("measure", { point }),
    onUse(settings) { root.used = settings; trigger("use"); },
    onBack() { pick(costed().choice.choice); picked = null; },
  });
  const trade = makeTrade(), table = makePointsTable({ onPick: pick, onOpen: () => { if (isDrawable()) table.draw(costed(), shownPoint()); } });
  const [loosened, texts, cost] = ["loosened", "texts", "cost"].map((name) => make("section", `tune-${name}`));
  const empty = make("p", "empty", TEXT.empty), status = makeSweepStatus();
  const costs = makeCostsChoice({ own: TEXT.own_costs, onChange: recost }), costSweep = makeCosted();
  const costed = () => (isDrawable() ? costSweep(sweep, costs.profile()) : sweep);
  const results = make("div", "tune-results", costs.root, maps.root, make("div", "tune-choice", pointPart.root, trade.root), loosened, texts, cost, table.root);
  const root = make("div", "run-view tune-view", status.origin, make("div", "toolbar tune-toolbar", ...status.parts), empty, results);
  element.append(root);
  results.hidden = true;

  const shownPoint = () => picked ?? costed().choice?.choice ?? null;
  const isDrawable = () => Boolean(sweep.figures && sweep.choice);

  function pick(point) {
    picked = point;
    showLengthOf(point);
    draw();
  }

  function showLengthOf(point) {
    const { rule, draft_length: wanted } = settingsOf(sweep, point);
    if (rule === "fly" && wanted !== length) maps.shape(sweep.head, length = wanted);
  }

  function begin(head) {
    sweep = newSweep(head);
    picked = null;
    length = head.lengths[head.lengths.length - 1];
    results.hidden = true;
    Object.assign(empty, { hidden: false, textContent: TEXT.waiting });
    maps.offer(head);
    maps.shape(head, length);
    status.begin(sweep);
    showPhase();
  }

  function take(event) {
    takeEvent(sweep, event);
    if (event.phase === "failed" || event.phase === "stopped") empty.textContent = TEXT.empty;
    status.take(sweep, event);
    showPhase();
  }

  function showPhase() { root.dataset.phase = isBusy(sweep) ? "running" : sweep.phase === "measured" ? "done" : sweep.phase; }

  // Other costs recommend another point, so that one is shown.
  function recost() {
    if (!isDrawable()) return;
    picked = null;
    showLengthOf(shownPoint());
    draw();
    costs.tell(chosenWords(costed()));
  }

  function draw() {
    if (!isDrawable()) return;
    const point = shownPoint(), shown = costed(), profile = costs.profile();
    [results.hidden, empty.hidden] = [false, true];
    costs.know(sweep.costs);
    for (const part of [maps, pointPart, trade, table]) part.draw(shown, point);
    maps.lead(profile ? TEXT.maps_lead_costs : TEXT.maps_lead);
    drawLoosened(loosened, sweep, point);
    drawTexts(texts, sweep, point);
    drawCost(cost, sweep, profile ?? sweep.costs, !profile);
  }

  const read = makeReader(begin, take);
  function sync() { if (read(props.value)) draw(); }
  watch("value", sync);
  sync();
}

// What is recommended now, for who cannot see it.
function chosenWords(sweep) {
  const { choice } = sweep.choice, times = sweep.figures[choice].times_plain_modelled;
  return say(TEXT.costs_told, { point: nameOf(sweep, choice), times: number(times) });
}
