// A state of the page as the fragment of its address: our own fields, versioned, never a prompt and never a trace. Pure.
//
//   v         1
//   run       the name of a recorded run; without it the link is a configuration
//   pair      of a configuration: the name of the pair
//   round     of a recorded run, from 1; position in it, from 1
//   view      words of LINK_VIEWS, joined by dots: what is unfolded
//   and every knob by its name: of a configuration all, of a recorded run those that are not its own
// A step of the lesson has an address of its own kind: learn=3, counted from 1.
// A reader ignores fields it does not know, and follows a link only if all those it knows make sense.

import { KNOBS } from "../given/constants.js";
import { conflicts } from "../twins/conflicts.js";

const LINK_VERSION = "1", LINK_LIMIT = 2000;
const LINK_VIEWS = ["refused", "pinned", "table"];
const LINK_COUNT = 1_000_000; // the highest round or position worth reading

// state: {run, pair, round, position, knobs: {name: value}, view: [word]}, all but knobs and view possibly null.
export function writeLink({ run, pair, round, position, knobs, view }) {
  const fields = [["v", LINK_VERSION], ["run", run], ["pair", pair], ["round", round], ["position", position],
    ...Object.entries(knobs).filter(([name]) => Object.hasOwn(KNOBS, name)), ["view", view.length ? view.join(".") : null]];
  return fields.filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}

// index: of the step, from 0.
export const writeStep = (index) => `learn=${index + 1}`;

// fragment: without its #; known: {runs, pairs, offers}, the names this page has, and what
// its pairs offer. Returns null for a fragment that is not ours, a
// state as above, {step: a number from 1}, {refused: the name of the field that makes no sense}, or for settings
// that cannot go together {refused: "conflict", code: of the row, settings}.
export function readLink(fragment, known) {
  if (!/^(v|learn)=/.test(fragment)) return null;
  if (fragment.length > LINK_LIMIT) return { refused: "length" };
  const fields = new Map(new URLSearchParams(fragment));
  if (fragment.startsWith("learn=")) {
    const step = readNumber(fields.get("learn"), { kind: "int", low: 1, high: LINK_COUNT });
    return step === undefined ? { refused: "step" } : { step };
  }
  if (fields.get("v") !== LINK_VERSION) return { refused: "v" };
  const state = { run: null, pair: null, round: null, position: null, knobs: {}, view: [] };
  for (const [name, names] of [["run", known.runs], ["pair", known.pairs]]) {
    if (!fields.has(name)) continue;
    if (!names.includes(fields.get(name))) return { refused: name };
    state[name] = fields.get(name);
  }
  for (const name of ["round", "position"]) {
    if (!fields.has(name)) continue;
    state[name] = readNumber(fields.get(name), { kind: "int", low: 1, high: LINK_COUNT });
    if (state[name] === undefined) return { refused: name };
  }
  for (const [name, limits] of Object.entries(KNOBS)) {
    if (!fields.has(name)) continue;
    const value = readKnob(fields.get(name), limits);
    if (value === undefined) return { refused: name };
    state.knobs[name] = value;
  }
  const settings = { rule: "fly", ...state.knobs }, [row] = conflicts(settings, known.offers?.[state.pair]);
  if (row) return { refused: "conflict", code: row.code, settings };
  state.view = (fields.get("view") ?? "").split(".").filter((word) => LINK_VIEWS.includes(word));
  return state;
}

// The value of a knob from its text; undefined where it cannot have that value.
function readKnob(text, limits) {
  if (limits.kind === "bool") return text === "true" ? true : text === "false" ? false : undefined;
  if (limits.kind === "choice") return limits.choices.includes(text) ? text : undefined;
  return readNumber(text, limits);
}

function readNumber(text, { kind, low, high }) {
  if (!(kind === "int" ? /^\d{1,10}$/ : /^\d{1,10}(\.\d{1,17})?(e-\d{1,3})?$/).test(text)) return undefined;
  const value = Number(text);
  return value >= low && value <= high ? value : undefined;
}
