// What of the settings has an effect, twin of explorer/config.py. Pure.

import { NEEDS } from "../given/constants.js";

// Whether a knob has an effect under these settings (explorer/config.py, Knob.needs).
export const matters = (config, name) => NEEDS[name].every((need) =>
  Object.entries(need).some(([other, choices]) => (choices.length ? choices.includes(config[other]) : Boolean(config[other]))));
