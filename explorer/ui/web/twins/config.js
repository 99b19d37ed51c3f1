// What of the settings has an effect, twin of explorer/config.py. Pure.

import { RELEVANT_WHEN } from "../given/constants.js";

// Whether a knob has an effect under these settings (explorer/config.py, Knob.needs).
export const isRelevant = (config, name) => RELEVANT_WHEN[name].every((need) =>
  Object.entries(need).some(([other, choices]) => (choices.length ? choices.includes(config[other]) : Boolean(config[other]))));
