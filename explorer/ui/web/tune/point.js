// One point of a sweep in figures and words, and what can be done with it.

import { button, make, say } from "../core/dom.js";
import { number, shortPercent, signed } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { isBusy, nameOf, settingsOf } from "./sweep.js";

// onMeasure(point), onUse(settings), onBack(): to the recommended point.
export function makePoint({ onMeasure, onUse, onBack }) {
  const words = TEXT.point, root = make("section", "tune-point");

  function draw(sweep, point) {
    const { choice } = sweep, best = point === choice.choice, focus = document.activeElement?.dataset?.act;
    const refused = choice.refused.find(([index]) => index === point);
    const reasons = best ? choice.reasons : refused ? refused[1] : choice.outside.has(point) ? [words.outside] : [];
    const limit = say(words.limit, { nats: choice.limit[0], lost: choice.limit[1] });
    root.replaceChildren(
      make("h3", "", best ? words.recommended : words.other, make("small", "", limit)),
      make("p", "point-name", nameOf(sweep, point)),
      make("dl", "point-figures", ...figuresOf(sweep, point).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)])),
      make("ul", "point-reasons", ...reasons.map((reason) => make("li", "", reason))),
      make("div", "point-acts",
        act("measure", words.measure, () => onMeasure(point), isBusy(sweep) || Boolean(sweep.elsewhere)),
        act("use", words.use, () => onUse(settingsOf(sweep, point)), false),
        ...(best ? [] : [act("back", words.back, onBack, false)])));
    if (focus) root.querySelector(`[data-act=${focus}]`)?.focus();
  }

  return { root, draw };
}

function figuresOf({ figures, measured }, point) {
  const words = TEXT.point, of = figures[point];
  return [
    [words.tau, number(of.tau)],
    [words.speed, say(of.tokens_per_second_modelled === null ? words.times_value : words.speed_value, { speed: number(of.tokens_per_second_modelled, 1), times: number(of.times_plain_modelled) })],
    ...(measured[point] ? [[words.measured, measuredWords(measured[point])]] : []),
    [words.nats, say(words.nats_value, { nats: signed(of.nats_per_token, 3) })],
    [words.loosened, shortPercent(of.loosened_share)],
    [words.same, say(words.of, { count: of.same_ids, all: of.prompts })],
    ...(of.median_divergence === null ? [] : [[words.parts, say(words.parts_value, { index: Math.round(of.median_divergence) })]]),
    ...(of.checkable ? [[words.right, say(words.right_value, { right: of.right, checkable: of.checkable, lost: of.lost, gained: of.gained })]] : []),
  ];
}

const measuredWords = ({ speed, times, modelled, same, prompts }) => say(TEXT.point.measured_value,
  { speed: number(speed, 1), times: number(times), off: signed((times / modelled - 1) * 100, 1), same, prompts });

function act(name, label, onClick, disabled) {
  const node = button(name === "use" ? "primary" : "", label, onClick);
  node.dataset.act = name;
  node.disabled = disabled;
  return node;
}
