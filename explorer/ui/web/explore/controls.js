// The tie to the page's own controls: the view has no thresholds of its own. It hears of every change as a document event, and
// asks for values by leaving them where the page picks them up. Without a page around it, both are silent.

import { KNOBS, RULE_KNOBS } from "../given/constants.js";

const SETTLED = 400; // ms without a change, and no pointer down, before the server is asked for its notes

export function connectControls(root, trigger, onSettings) {
  let timer = 0, pressed = false;
  const settle = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (pressed ? settle() : trigger("settled")), SETTLED);
  };
  document.addEventListener("pointerdown", () => { pressed = true; }, true);
  for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => { pressed = false; }, true);
  // Gradio's number fields make the least value of a text that is no number; what stood there is put back instead.
  let stood = "";
  const isNumber = (target) => target.matches?.("#rail input[type=number]");
  document.addEventListener("focusin", ({ target }) => { if (isNumber(target)) stood = target.value; });
  document.addEventListener("blur", ({ target }) => {
    if (!isNumber(target) || target.value !== "" || !stood) return;
    target.value = stood;
    target.dispatchEvent(new Event("input", { bubbles: true }));
  }, true);
  describeControls();
  document.addEventListener("explorer-controls", ({ detail }) => { onSettings(detail); settle(); });
  document.addEventListener("explorer-pair", settle);

  return {
    // Set the controls of the rule; they answer with an event of their own.
    want(settings) {
      root.wanted = RULE_KNOBS.map((name) => settings[name]);
      trigger("wanted");
    },
    // Set any controls at once: knobs by name, and the pair where one is given; all others stay.
    configure(knobs, pair) {
      root.configured = ([standing, ...now]) => [pair ?? standing, ...Object.keys(KNOBS).map((name, index) => knobs[name] ?? now[index])];
      trigger("configured");
    },
    rerun: (head) => trigger("rerun", { prompt: head.prompt, pair: head.pair }),
  };
}

// Gradio's radios are groups of one each, their groups have no name and no description for a screen reader. What has the focus
// gets all three: arrow keys choose, the group says its label, and the help under it is read and read again when it changes.
function describeControls() {
  document.addEventListener("focusin", ({ target }) => {
    const block = target.closest?.(".block.knob"), info = block?.querySelector(".info-text");
    if (!info) return;
    info.id = `${block.id}-info`;
    target.setAttribute("aria-describedby", info.id);
    if (!block.matches("fieldset")) return;
    const label = block.querySelector("[data-testid=block-info]");
    label.id = `${block.id}-label`;
    block.setAttribute("role", "radiogroup");
    block.setAttribute("aria-labelledby", label.id);
    info.setAttribute("aria-live", "polite");
  });
  // Before every key, because a radio gets a new name of its own whenever it changes.
  document.addEventListener("keydown", ({ target }) => {
    const block = target.type === "radio" && target.closest("fieldset.block");
    if (block) for (const radio of block.querySelectorAll("input[type=radio]")) radio.name = block.id;
  }, true);
}
