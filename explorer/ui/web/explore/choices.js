// A choice that cannot go with the others, or that the pair lacks something for, is disabled and says why (twins/conflicts.js): in
// every set of controls of the page, whoever made the choices.

import { say } from "../core/dom.js";
import { KNOBS } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { ruledOut } from "../twins/conflicts.js";

const SETS = ".knobs, .sweep-knobs"; // sets of controls; the second: of a sweep, whose points share rounds

// offers: of each pair by its name; pair: the one chosen at first.
export function disableChoices(offers, pair) {
  const pairs = new WeakMap(), observed = new WeakSet();
  let timer = 0;
  const soon = () => { clearTimeout(timer); timer = setTimeout(markAll); };
  const observer = new MutationObserver(soon); // Gradio shows every change of a value in a class or a style
  function markAll() {
    for (const set of document.querySelectorAll(SETS)) {
      if (!observed.has(set)) observer.observe(set, { subtree: true, childList: true, attributes: true, attributeFilter: ["class", "style"] });
      observed.add(set);
      mark(set, offers[pairs.get(set) ?? pair] ?? {});
    }
  }
  for (const event of ["click", "change", "input", "explorer-controls"]) document.addEventListener(event, soon, true);
  document.addEventListener("explorer-pair", ({ detail }) => {
    for (const set of document.querySelectorAll(detail.sets)) pairs.set(set, detail.pair);
    soon();
  });
  soon();
}

function mark(set, offers) {
  const use = set.matches(".sweep-knobs") ? "sweep" : "run";
  const controls = Object.entries(KNOBS).map(([name, { kind }]) => [name, kind, set.querySelector(`.knob.knob-${name}:not(.rail-head)`)]).filter(([, , control]) => control);
  const settings = Object.fromEntries(controls.map(([name, kind, control]) => [name, valueOf(kind, control)]));
  const reason = (name, value) => {
    const row = ruledOut(settings, name, value, offers, use);
    return row ? say(TEXT.conflicts[row.code], { ...settings, [name]: value }) : "";
  };
  for (const [name, kind, control] of controls) {
    if (kind === "choice") for (const input of control.querySelectorAll("input[type=radio]")) disable([input], input.checked ? "" : reason(name, input.value));
    else if (kind === "bool") disable(control.querySelectorAll("input"), settings[name] ? "" : reason(name, true));
    else disable(control.querySelectorAll("input, button"), settings[name] ? "" : reason(name, 1));
  }
}

function valueOf(kind, control) {
  if (kind === "choice") return control.querySelector("input:checked")?.value;
  if (kind === "bool") return control.querySelector("input").checked;
  return Number(control.querySelector("input[type=number]")?.value);
}

// Only what stands otherwise is touched: a change calls the observer again.
function disable(inputs, reason) {
  for (const input of inputs) {
    const label = input.closest("label") ?? input;
    if ((label.dataset.reason ?? "") === reason) continue;
    input.disabled = Boolean(reason);
    label.dataset.reason = label.title = reason;
    input.setAttribute("aria-description", reason);
  }
}
