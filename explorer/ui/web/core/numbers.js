// Numbers in words of a page. Pure.

import { TEXT } from "../given/texts.js";
import { say } from "./dom.js";

export const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));

export const short = (value) => (value === 0 ? "0" : value < 0.001 ? value.toExponential(0) : String(+value.toPrecision(3)));

export const percent = (value) =>
  value === 0 ? "0 %" : value >= 0.9995 ? "100 %" : value >= 0.1 ? (value * 100).toFixed(0) + " %" : value >= 0.001 ? (value * 100).toFixed(1) + " %" : "<0.1 %";

export const duration = (seconds) =>
  seconds < 90 ? say(TEXT.seconds, { count: Math.max(1, Math.round(seconds)) }) : say(TEXT.minutes, { count: Math.round(seconds / 60) });

export const signed = (value, digits) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(digits);

// A share for narrow places.
export const shortPercent = (value) => (value === 0 ? "0" : percent(value));
