// Every disagreement by the target's entropy there, once for each measure; on the one in use, theta is a line to drag.

import { make, makeMemo, say } from "../core/dom.js";
import { svg } from "../core/svg.js";
import { ENTROPY_MAXIMUM } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { makeDotPlot } from "./dot_plot.js";
import { allDisagreements } from "./figures.js";
import { flatCurves } from "./flat_curves.js";
import { SHAPES, shapeClass } from "./shapes.js";

// onPick(round, position), onTheta(theta), onMeasure(measure).
export function makeGauges({ onPick, onTheta, onMeasure }) {
  const words = TEXT.gauges;
  const root = make("section", "gauges");
  root.setAttribute("aria-label", words.title);
  const heading = make("h3", "", words.title);
  const lead = make("p", "quiet lead");
  const key = make("ul", "shape-key");
  const plots = Object.fromEntries(Object.keys(ENTROPY_MAXIMUM).map((measure) =>
    [measure, makeDotPlot(measure, { onPick, onTheta, onMeasure })]));
  const why = make("details", "why", make("summary", "", words.why), make("p", "", words.why_text), flatCurves(), make("p", "quiet", words.why_axis));
  root.append(heading, lead, make("div", "plots", ...Object.values(plots).map((plot) => plot.root)), key, why);
  const drawn = makeMemo();
  const clear = () => { root.hidden = true; drawn(); };

  // outcome: of the replay whose judgements are shown, if one is. While it stays, only the cut line moves.
  function draw(run, judgementOf, settings, at, outcome) {
    if (drawn(run.head.run, run.rounds.length, outcome, settings.rule, settings.entropy, at.round, at.position)) {
      for (const plot of Object.values(plots)) plot.cut(settings);
      return;
    }
    const all = allDisagreements(run, judgementOf);
    root.hidden = !all.length;
    if (!all.length) return;
    lead.textContent = say(words.lead, { count: all.length }) + (settings.rule === "fly" ? " " + words.drag : "");
    const counts = {};
    for (const { verdict } of all) counts[verdict] = (counts[verdict] ?? 0) + 1;
    key.replaceChildren(...Object.keys(SHAPES).filter((verdict) => counts[verdict]).map((verdict) =>
      make("li", "", sampleOf(verdict), make("b", "", String(counts[verdict])), " " + words.outcomes[verdict])));
    for (const plot of Object.values(plots)) plot.draw(all, settings, at);
  }

  clear();
  return { root, clear, draw };
}

function sampleOf(verdict) {
  return svg("svg", { width: 14, height: 14, class: "sample", "aria-hidden": "true" }, svg("path", { d: SHAPES[verdict](7, 7, 13), class: shapeClass(verdict) }));
}
