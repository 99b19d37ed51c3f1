// The value of a knob in words. values: the words of values that are no choice's label.

import { TEXT } from "../given/texts.js";
import { short } from "./numbers.js";

export const knobWords = (values, name, value) =>
  (typeof value === "number" ? short(value) : values[value] ?? TEXT.choices[name]?.[value] ?? String(value));
