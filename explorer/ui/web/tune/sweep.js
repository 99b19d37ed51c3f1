// A sweep as it comes, read event by event (explorer/sweep/wire.py). Knows no page.

import { say } from "../core/dom.js";
import { short } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { readProfile } from "../twins/costs.js";

const BUSY = ["preparing", "loading", "running", "measuring"];

export function newSweep(head = null) {
  return {
    head, phase: head ? "preparing" : "idle",
    through: 0, // prompts that are through
    figures: null, // by point
    runs: [], // by prompt its different runs, each with the points it is of
    costs: null, // what its rounds took, as a cost profile
    sizes: [], cost: null, // what rounds of each size make a machine do, and how many passes points shared
    choice: null, // the server's: {choice, limit, reasons, refused, outside: a set}
    measured: {}, // by point, where its speed was measured alone
  };
}

export const isBusy = ({ phase }) => BUSY.includes(phase);

// Take one event into the sweep.
export function takeEvent(sweep, event) {
  if (event.done) {
    Object.assign(sweep, { through: event.done, figures: event.figures, costs: readProfile(event.costs), sizes: event.sizes, cost: event.cost });
    sweep.runs.push(event.runs);
  } else if (event.choice !== undefined) sweep.choice = { ...event, outside: new Set(event.outside) };
  else if (event.measured) sweep.measured[event.measured.point] = event.measured;
  else if (event.passes) sweep.phase = "running";
  else if (event.end) sweep.phase = event.end;
  else if (event.phase) sweep.phase = event.phase;
}

export const settingsOf = ({ head }, point) => head.points[point].settings;

// The runs of a point by prompt: those prompts that are through.
export const runsOf = ({ runs }, point) => runs.map((ofPrompt) => ofPrompt.find((run) => run.points.includes(point)));

// A point in words.
export function nameOf(sweep, point) {
  const settings = settingsOf(sweep, point), words = TEXT.point, { drafter, length } = settings;
  if (settings.rule === "autoregressive") return words.plain;
  const name = settings.rule === "exact" ? say(words.exact, { length: settings.draft_length })
    : say(words.fly, { theta: short(settings.theta), window: settings.window, length: settings.draft_length });
  return [name, ...(drafter === "model" ? [] : [TEXT.choices.drafter[drafter]]), ...(length === "fixed" ? [] : [TEXT.choices.length[length]])].join(", ");
}
