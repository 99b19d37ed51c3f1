// How far a sweep is, in a line, a bar and words that are spoken; and whose it is.

import { make, say } from "../core/dom.js";
import { duration } from "../core/numbers.js";
import { madeBy } from "../core/origin.js";
import { makeStatus } from "../core/progress.js";
import { TEXT } from "../given/texts.js";
import { isBusy } from "./sweep.js";

export function makeSweepStatus() {
  const origin = make("p", "origin"), status = makeStatus(TEXT.idle, TEXT.progress);

  function begin(sweep) {
    status.reach(0);
    drawOrigin(sweep, null);
    tell(sweep, TEXT.phases.preparing, true);
  }

  function take(sweep, event) {
    const { head, through, phase } = sweep, all = head.prompts.length;
    if (event.done) {
      status.reach(through / all);
      tell(sweep, say(TEXT.through, { done: through, all }), true);
    } else if (event.measured) tell(sweep, TEXT.phases.measured, true);
    else if (event.passes) {
      const words = event.left === null ? TEXT.passes : TEXT.left;
      tell(sweep, say(words, { prompt: event.prompt, all, passes: event.passes, left: duration(event.left ?? 0) }), false);
    } else if (event.end) {
      drawOrigin(sweep, event);
      status.busy(isBusy(sweep));
      if (event.end !== "measured") tell(sweep, say(TEXT.ends[event.end], { done: event.through, all }), true);
    } else if (event.phase) tell(sweep, TEXT.phases[phase] + (event.message ? ": " + event.message : ""), true);
  }

  function tell(sweep, text, always) {
    status.busy(isBusy(sweep));
    status.tell(text, always);
  }

  function drawOrigin({ head }, end) {
    const parts = [head.title, TEXT.measure[head.measure], say(TEXT.budget, { tokens: head.tokens })];
    if (end?.device) parts.push(...madeBy(end, TEXT));
    origin.replaceChildren(...parts.map((text) => make("span", "", text)));
  }

  return { origin, parts: status.parts, begin, take };
}
