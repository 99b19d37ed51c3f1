// What a reader must know to trust a figure.

import { TEXT } from "../given/texts.js";
import { say } from "./dom.js";

// Where and when a run was made: the number formats of both models, the device, the day.
export function madeBy({ dtype, device, date }, words) {
  const { target, draft } = dtype;
  return [draft === undefined || draft === target ? target : say(words, { target, draft }), device,
    new Date(date).toLocaleDateString(TEXT.locale, { dateStyle: "medium", timeZone: "UTC" })];
}
