// What a reader must know to trust a figure.

import { TEXT } from "../given/texts.js";
import { say } from "./dom.js";

// Where and when a run was made: the number formats of both models, the device, the day, and what of the target's own settings it left out.
export function madeBy({ dtype, device, date, ignored }, words) {
  const { target, draft } = dtype;
  return [draft === undefined || draft === target ? target : say(words.dtypes, { target, draft }), device,
    new Date(date).toLocaleDateString(TEXT.locale, { dateStyle: "medium", timeZone: "UTC" }),
    ...(ignored ? [say(words.ignored, { settings: ignored.join(", ") })] : [])];
}
