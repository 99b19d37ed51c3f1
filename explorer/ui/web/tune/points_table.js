// Everything as one table: what the maps show, for reading and for a screen reader; a row picks its point.

import { button, make } from "../core/dom.js";
import { number, shortPercent, signed } from "../core/numbers.js";
import { dataTable } from "../core/tables.js";
import { TEXT } from "../given/texts.js";
import { nameOf } from "./sweep.js";

const NAMES = ["tau", "tokens_per_second_modelled", "times_plain_modelled", "loosened_share", "nats_per_token", "same_ids"];
const NAMES_OF_CHECKED = ["right", "lost"];
const FORMS = {
  tau: number, tokens_per_second_modelled: (value) => number(value, 1), times_plain_modelled: number, loosened_share: shortPercent,
  nats_per_token: (value) => signed(value, 3),
};

// onPick(point), onOpen(): drawn only while it is open.
export function makePointsTable({ onPick, onOpen }) {
  const words = TEXT.table;
  const root = make("details", "tune-table", make("summary", "", make("h3", "", words.title)), make("div", "data-scroll"));
  root.addEventListener("toggle", onOpen);

  function draw(sweep, point) {
    if (!root.open) return;
    const { figures } = sweep, names = [...NAMES, ...(figures[0].checkable ? NAMES_OF_CHECKED : [])];
    const focused = document.activeElement?.dataset?.row;
    const heads = [words.point, ...names.map((name) => TEXT.figures[name]), words.note];
    root.lastChild.replaceWith(dataTable(heads, figures.map((ofPoint, index) => [
      pickButton(sweep, index, index === point), ...names.map((name) => (FORMS[name] ?? String)(ofPoint[name])), noteOf(sweep, index),
    ]), (index) => (index === point ? "now" : "")));
    if (focused !== undefined) root.querySelector(`[data-row="${focused}"]`)?.focus();
  }

  function pickButton(sweep, index, pressed) {
    const node = button("round-link", nameOf(sweep, index), () => onPick(index));
    node.dataset.row = index;
    node.setAttribute("aria-pressed", String(pressed));
    return node;
  }

  return { root, draw };
}

const noteOf = ({ choice }, point) =>
  [point === choice.choice ? TEXT.table.chosen : "", choice.outside.has(point) ? TEXT.table.outside : ""].filter(Boolean).join(", ");
