// The Compare tab's view: three runs of one prompt as they are written, where their texts part and why, and their figures.

import { make } from "../core/dom.js";
import { madeBy } from "../core/origin.js";
import { makeReader, makeStatus } from "../core/progress.js";
import { TEXT } from "../given/texts.js";
import { relaxes } from "../twins/verdicts.js";
import { newRun, readEvent } from "../twins/wire.js";
import { drawPartings } from "./partings.js";
import { drawFigures } from "./side_figures.js";
import { SIDES, makeSideText, markParting } from "./side_text.js";

const BUSY = ["preparing", "loading", "warming", "running"];

// element, props, watch: as Gradio gives them; props.value is the text of explorer/ui/compare/handlers.py.
export function mount({ element, props, watch }) {
  let comparison = null; // {head, sides: [{run, parting, text}], apart, gap}; parting null: none, undefined: not known yet
  let writing = 0; // the side whose events come now
  const origin = make("p", "origin"), status = makeStatus(TEXT.idle), notes = make("div", "run-notes"), empty = make("p", "empty", TEXT.empty);
  const legend = makeLegend();
  const [texts, partings, figures] = ["texts", "partings", "figures"].map((name) => make("section", `compare-${name}`));
  const root = make("div", "run-view tune-view", origin, make("div", "toolbar", ...status.parts), notes, empty, partings, texts, figures);
  element.append(root);
  hideParts();

  function hideParts() {
    for (const part of [texts, partings, figures]) part.hidden = true;
  }

  function begin(head) {
    writing = 0;
    comparison = { head, apart: undefined, gap: null, sides: head.configs.map((config, index) => newSide(config, index)) };
    hideParts();
    empty.hidden = false;
    origin.replaceChildren(make("span", "", head.title));
    notes.replaceChildren(...head.notes.flatMap((ofSide, index) => ofSide.map((note) => make("p", "note", `${SIDES[index]}: ${note}`))));
    legend.offer(head.configs);
    texts.replaceChildren(legend.root, make("div", "compare-columns", ...comparison.sides.map((side) => side.text.root)));
    tell("preparing");
  }

  function take(event) {
    const { sides } = comparison, side = sides[writing];
    if (event.side !== undefined) {
      writing = event.side;
      empty.hidden = true;
      texts.hidden = false;
    } else if (event.d) side.text.addRound(side.run, readEvent(side.run, event));
    else if (event.tail) side.text.addTail(event.tail);
    else if (event.end) {
      readEvent(side.run, event);
      drawOrigin(event.provenance);
      drawFigures(figures, comparison);
      markParting(sides, side);
    } else if (event.parting !== undefined) {
      side.parting = event.parting;
      markParting(sides, side);
      drawPartings(partings, comparison);
    } else if (event.apart !== undefined) {
      Object.assign(comparison, { apart: event.apart, gap: event.gap });
      drawPartings(partings, comparison);
    } else if (event.phase) tell(event.phase, event.message);
  }

  function tell(phase, message) {
    root.dataset.phase = BUSY.includes(phase) ? "running" : phase;
    status.tell(TEXT.phases[phase] + (message ? ": " + message : ""), true);
  }

  function drawOrigin(provenance) {
    origin.replaceChildren(...[comparison.head.title, ...madeBy(provenance, TEXT)].map((text) => make("span", "", text)));
  }

  const read = makeReader(begin, take);
  const sync = () => read(props.value);
  watch("value", sync);
  sync();
}

const newSide = (config, index) => ({ run: newRun({ config }), parting: undefined, text: makeSideText(config, index) });

function makeLegend() {
  const items = Object.entries(TEXT.kinds).map(([kind, words]) => {
    const sample = make("span", `tok ${kind}`, words.name), item = make("li", "", sample);
    if (kind !== "exact") sample.dataset.mark = words.mark;
    item.dataset.kind = kind;
    return item;
  });
  const root = make("ul", "shape-key compare-legend", ...items);
  return { root, offer(configs) { root.querySelector('[data-kind="relaxed"]').hidden = !configs.some(({ rule }) => relaxes(rule)); } };
}
