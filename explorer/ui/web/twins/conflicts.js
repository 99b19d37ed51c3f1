// What cannot go together, twin of explorer/conflicts.py: the rows are Python's own. Pure.

import { CONFLICTS } from "../given/constants.js";
import { hasValue } from "./config.js";

// The rows that hold for settings (knobs by name; those that are not there are in no conflict) on a pair that offers this (by the
// names of Offers; what is not named, it has). use: "run" or "sweep".
export function conflicts(settings, offers = {}, use = "run") {
  return CONFLICTS.filter((row) => !(settings.rule === "autoregressive" && row.use === "run")
    && [use, "run"].includes(row.use)
    && (!row.lacks || offers[row.lacks] === false)
    && Object.entries(row.when).every(([knob, values]) => hasValue(settings, knob, values)));
}

// Why one value of a knob cannot be chosen beside the other settings: the first row that has a part for it, or undefined.
export const ruledOut = (settings, knob, value, offers, use) =>
  conflicts({ ...settings, [knob]: value }, offers, use).find((row) => knob in row.when);
