// What of the settings has an effect, twin of explorer/knobs.py. Pure.

import { RELEVANT_WHEN } from "../given/constants.js";

// Whether a knob of the settings has one of these values; where none is named, any but 0 (explorer/knobs.py, has_value).
export const hasValue = (settings, knob, values) => (values.length ? values.includes(settings[knob]) : Boolean(settings[knob]));

// Whether a knob has an effect under these settings (explorer/knobs.py, Knob.relevant_when).
export const isRelevant = (settings, name) => RELEVANT_WHEN[name].every((condition) =>
  Object.entries(condition).some(([knob, values]) => hasValue(settings, knob, values)));
