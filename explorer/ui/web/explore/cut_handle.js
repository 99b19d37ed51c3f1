// The line of theta in a dot plot: dragged, or moved by keys.

import { make, say } from "../core/dom.js";
import { short } from "../core/numbers.js";
import { ENTROPY_MAXIMUM } from "../given/constants.js";
import { TEXT } from "../given/texts.js";

const KEY_STEPS = { ArrowRight: 0.005, ArrowUp: 0.005, ArrowLeft: -0.005, ArrowDown: -0.005, PageUp: 0.05, PageDown: -0.05 };

// picture: what the line stands in. onTheta(theta).
export function makeCutHandle(measure, picture, onTheta) {
  const words = TEXT.gauges, maximum = ENTROPY_MAXIMUM[measure];
  const root = make("span", "cut", make("span", "cut-grip", "θ"));
  root.setAttribute("role", "slider");
  root.setAttribute("aria-label", say(words.handle, { measure: TEXT.card[measure] }));
  root.setAttribute("aria-valuemin", 0);
  root.setAttribute("aria-valuemax", maximum.toFixed(3));
  root.tabIndex = 0;
  let now = 0, valueAt = null; // valueAt(x): of a place in the picture

  // scale: {top, size, x(value)}; counts: {sure, unsure}.
  function place(theta, width, { top, size, x }, counts) {
    now = theta;
    valueAt = (px) => ((px - size / 2) / (width - size)) * top;
    root.style.left = x(theta) + "px";
    root.classList.toggle("beyond", theta > top);
    root.setAttribute("aria-valuenow", theta);
    root.setAttribute("aria-valuetext", say(words.value, { theta: short(theta), ...counts }));
  }

  function move(value) {
    now = +Math.max(0, Math.min(maximum, value)).toFixed(3); // at once: the next key may come before the next frame
    onTheta(now);
  }

  root.addEventListener("pointerdown", (event) => { root.setPointerCapture(event.pointerId); root.focus(); event.preventDefault(); });
  root.addEventListener("pointermove", (event) => {
    if (root.hasPointerCapture(event.pointerId)) move(valueAt(event.clientX - picture.getBoundingClientRect().left));
  });
  root.addEventListener("keydown", (event) => {
    const wanted = { Home: 0, End: maximum }[event.key] ?? now + KEY_STEPS[event.key];
    if (Number.isNaN(wanted)) return;
    event.preventDefault();
    event.stopPropagation();
    move(wanted);
  });
  return { root, place };
}
