// The Train tab's view: reads the growing text of a training (explorer/ui/training.py) and draws loss and calibration as they come.

import { axes, disc } from "../core/charts.js";
import { button, make, onWidth, say } from "../core/dom.js";
import { duration, number, percent, short } from "../core/numbers.js";
import { makeReader, makeStatus } from "../core/progress.js";
import { svg, svgText } from "../core/svg.js";
import { dataTable } from "../core/tables.js";
import { TEXT } from "../given/texts.js";

export function mount({ element, props, trigger, watch }) {
  const BUSY = ["preparing", "loading", "collecting", "training", "choosing"];

  let head = null, phase = "idle";
  let steps = [], epochs = [], outcome = null, used = false;

  const origin = make("p", "origin");
  const status = makeStatus(TEXT.idle, TEXT.progress);
  const collected = make("p", "quiet train-collected");
  const empty = make("p", "empty", TEXT.empty);
  const use = button("primary", TEXT.use, () => trigger("use"));
  const drop = button("", TEXT.drop, () => trigger("drop"));
  const usedNote = make("p", "quiet", TEXT.used);
  const choice = make("p", "train-choice");
  const acts = make("section", "train-acts", choice, make("div", "point-acts", use, drop), usedNote);
  const lossPart = makeLoss();
  const calibrationPart = makeCalibration();
  const charts = make("div", "train-charts", lossPart.root, calibrationPart.root);
  const figuresPart = make("section", "train-figures");
  const replayedPart = make("section", "train-replayed");
  const what = make("section", "train-what", make("h3", "", TEXT.what.title), make("p", "", TEXT.what.text));
  const root = make("div", "run-view tune-view train-view", origin,
    make("div", "toolbar tune-toolbar", ...status.parts),
    collected, empty, acts, charts, replayedPart, figuresPart, what);
  element.append(root);

  const busy = () => BUSY.includes(phase);

  // Reading ------------------------------------------------------------------------------------------------------------

  function begin(event) {
    head = event;
    phase = "preparing";
    steps = []; epochs = []; outcome = null;
    status.reach(0);
    collected.textContent = "";
    origin.replaceChildren(...[head.title, say(TEXT.rules[head.rule], { theta: short(head.theta), window: head.window })].map((text) => make("span", "", text)));
    tell(TEXT.phases.preparing, true);
  }

  const read = makeReader(begin, take);
  function sync() {
    read(props.value);
    draw();
  }

  function take(event) {
    const before = phase;
    if (event.phase) phase = event.phase;
    const left = (words) => (event.left ? ", " + say(words, { left: duration(event.left) }) : "");
    if (event.used !== undefined) used = event.used;
    else if (event.after !== undefined) {
      epochs.push(event);
      if (event.after) status.speak(say(TEXT.loss.now, { epoch: event.after, loss: number(event.figures.loss_held_out, 3) }));
    } else if (event.trained) outcome = event;
    else if (event.step) {
      steps.push(event);
      status.reach(event.done);
      tell(say(TEXT.steps, { epoch: Math.min(head.epochs, Math.floor(event.epoch) + 1), all: head.epochs, loss: number(event.loss, 3) }) + left(TEXT.left), before !== phase);
    } else if (phase === "collecting") {
      if (event.collected) collected.textContent = say(TEXT.collected, { texts: event.collected, all: head.texts, rows: event.rows, share: percent(event.agree) });
      status.reach(event.done);
      tell(TEXT.phases.collecting + left(TEXT.left_collecting), before !== phase || event.collected);
    } else if (event.phase) tell(TEXT.phases[phase] + (event.message ? ": " + event.message : ""), true);
  }

  function tell(text, always) {
    root.dataset.phase = busy() ? "running" : phase;
    status.busy(busy());
    status.tell(text, always);
  }

  // Drawing ------------------------------------------------------------------------------------------------------------

  function draw() {
    empty.hidden = epochs.length > 0 || steps.length > 0;
    charts.hidden = !epochs.length;
    lossPart.draw();
    calibrationPart.draw();
    drawOutcome();
  }

  function drawOutcome() {
    acts.hidden = figuresPart.hidden = replayedPart.hidden = !outcome;
    if (!outcome) return;
    const { trained, replayed } = outcome, words = TEXT.replayed;
    choice.textContent = say(TEXT.chosen, { ...outcome.choice, threshold: short(outcome.choice.threshold), growth: short(outcome.choice.growth) });
    use.hidden = used;
    drop.hidden = usedNote.hidden = !used;
    figuresPart.replaceChildren(make("h3", "", TEXT.figures.title), make("p", "quiet lead", say(TEXT.figures.lead, { rounds: trained.rounds })),
      dataTable([TEXT.figures.name, TEXT.figures.auc, TEXT.figures.within, TEXT.figures.brier], ["", "_probs", "_survival"].map((end) =>
        [TEXT.figures[end.slice(1) || "layer"], ...["auc", "auc_within_offset", "brier"].map((name) => number(trained[name + end], 3))])));
    const speed = (kind) => replayed.find((one) => one.policy === kind).speed;
    const times = speed("pacer") / speed("fixed");
    replayedPart.replaceChildren(make("h3", "", words.title), make("p", "", say(times > 1.005 ? words.faster : words.slower, { times: number(times) })),
      make("p", "quiet lead", say(words.lead, { costs: outcome.costs.replace(/^measured: /, "") })),
      dataTable([words.policy, words.setting, words.speed, words.tau, words.drafted], replayed.map((one) =>
        [words.names[one.policy] ?? one.policy, one.setting, number(one.speed, 1), number(one.tau), number(one.drafted_per_round, 1)])));
  }

  const label = (x, y, text, anchor = "middle") => svgText(x, y, text, { "text-anchor": anchor });
  const path = (points) => points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

  // Loss over epochs: every step of training as a line, the held-out texts as discs.
  function makeLoss() {
    const words = TEXT.loss, HEIGHT = 240, LEFT = 40, BOTTOM = 28, TOP = 12, RIGHT = 12;
    const picture = svg("svg", { height: HEIGHT, class: "train-chart", "aria-hidden": "true" });
    const numbers = make("details", "", make("summary", "", words.numbers), make("div"));
    const part = make("figure", "chart", make("h3", "", words.title), picture, make("figcaption", "quiet", words.lead), numbers);
    let width = 0;
    onWidth(part, (found) => { width = found; draw(); });

    function draw() {
      if (!width || !head || !epochs.length) return;
      const held = epochs.map((one) => [one.after, one.figures.loss_held_out]);
      const most = Math.max(...held.map(([, loss]) => loss), ...steps.map((one) => one.loss)) * 1.05;
      const x = (epoch) => LEFT + (epoch / head.epochs) * (width - LEFT - RIGHT), y = (loss) => HEIGHT - BOTTOM - (loss / most) * (HEIGHT - BOTTOM - TOP);
      const every = Math.ceil(head.epochs / Math.max(1, Math.floor(width / 60)));
      picture.setAttribute("width", width);
      picture.replaceChildren(
        axes(LEFT, TOP, width - RIGHT, HEIGHT - BOTTOM),
        ...[0, 0.25, 0.5, 0.75, 1].map((share) => label(LEFT - 6, y(share * most) + 4, (share * most).toFixed(2), "end")),
        ...Array.from({ length: head.epochs + 1 }, (_, epoch) => epoch).filter((epoch) => epoch % every === 0).map((epoch) => label(x(epoch), HEIGHT - BOTTOM + 17, String(epoch))),
        svg("path", { d: path(steps.map((one) => [x(one.epoch), y(one.loss)])), class: "train-steps" }),
        svg("path", { d: path(held.map(([epoch, loss]) => [x(epoch), y(loss)])), class: "train-held" }),
        ...held.map(([epoch, loss]) => svg("path", { d: disc(x(epoch), y(loss), 4.5), class: epoch ? "train-layer" : "train-own" })));
      numbers.lastChild.replaceChildren(dataTable([words.epoch, words.held_out, words.training], epochs.map(({ after, figures }) => {
        const mine = steps.filter((one) => one.epoch > after - 1 && one.epoch <= after);
        return [after, number(figures.loss_held_out, 3), mine.length ? number(mine.reduce((sum, one) => sum + one.loss, 0) / mine.length, 3) : "–"];
      })));
    }
    return { root: part, draw };
  }

  // Predicted against kept, a disc per bin; its area says how many tokens.
  function makeCalibration() {
    const words = TEXT.calibration, HEIGHT = 240, LEFT = 40, BOTTOM = 34, TOP = 12, RIGHT = 12;
    const picture = svg("svg", { height: HEIGHT, class: "train-chart", "aria-hidden": "true" });
    const caption = make("figcaption", "quiet");
    const numbers = make("details", "", make("summary", "", words.numbers), make("div"));
    const part = make("figure", "chart", make("h3", "", words.title), picture, caption, numbers);
    let width = 0;
    onWidth(part, (found) => { width = Math.min(found, 420); draw(); });

    function draw() {
      if (!width || !epochs.length) return;
      const last = epochs[epochs.length - 1];
      const x = (share) => LEFT + share * (width - LEFT - RIGHT), y = (share) => HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
      const most = Math.max(...[...last.layer, ...last.own].map(([, , count]) => count));
      const discs = (bins, name) => bins.map(([, , count, predicted, kept]) => svg("path", { d: disc(x(predicted), y(kept), 2.5 + 9 * Math.sqrt(count / most)), class: name }));
      picture.setAttribute("width", width);
      picture.replaceChildren(
        axes(LEFT, TOP, width - RIGHT, HEIGHT - BOTTOM),
        svg("path", { d: `M${x(0)} ${y(0)}L${x(1)} ${y(1)}`, class: "trade-one" }),
        ...[0, 0.5, 1].flatMap((share) => [label(x(share), HEIGHT - BOTTOM + 15, String(share)), label(LEFT - 6, y(share) + 4, String(share), "end")]),
        label(x(0.5), HEIGHT - 4, words.axis_x), label(LEFT + 8, TOP + 8, words.axis_y, "start"),
        ...discs(last.own, "train-own"), ...discs(last.layer, "train-layer"));
      caption.textContent = say(words.lead, { epoch: last.after });
      numbers.lastChild.replaceChildren(dataTable([words.who, words.bin, words.count, words.mean, words.kept],
        [["layer", last.layer], ["own", last.own]].flatMap(([who, bins]) => bins.map(([low, high, count, predicted, kept]) =>
          [words[who], `${low.toFixed(1)}–${high.toFixed(1)}`, count, number(predicted, 3), number(kept, 3)]))));
    }
    return { root: part, draw };
  }

  watch("value", sync);
  sync();
}
