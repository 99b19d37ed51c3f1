// What every view that follows work on the server has: a reader of its growing text, and a line that says how far it is.

import { make } from "./dom.js";

const SPEAK_EVERY = 4000; // ms; a screen reader hears a short line now and then, not twenty a second

// Reads a text that only grows within a run: its first line begins the run, every other is an event; both JSON. Only what is new
// is read. Returns a function of the text that tells whether it had anything new.
export function makeReader(begin, take) {
  let first = "", offset = 0;
  return (text) => {
    if (typeof text !== "string" || !text) return false;
    const end = text.indexOf("\n"), line = text.slice(0, end);
    if (line !== first) { first = line; offset = end + 1; begin(JSON.parse(line)); }
    if (offset >= text.length) return false;
    for (const event of text.slice(offset).split("\n")) if (event) take(JSON.parse(event));
    offset = text.length;
    return true;
  };
}

// A dot and a line of words, spoken too. progress: the name of a bar beside them, for work whose end is known.
export function makeStatus(idle, progress = null) {
  const dot = make("span", "status-dot"), words = make("span", "status-text", idle), spoken = make("span", "sr-only");
  dot.setAttribute("aria-hidden", "true");
  spoken.setAttribute("role", "status");
  spoken.setAttribute("aria-live", "polite");
  const bar = progress && make("progress", "status-bar");
  if (bar) {
    bar.setAttribute("aria-label", progress);
    bar.max = 1;
    bar.hidden = true;
  }
  let spokenAt = 0;
  const speak = (text) => { spokenAt = Date.now(); spoken.textContent = text; };
  return {
    parts: [make("span", "status", dot, words), bar, spoken],
    speak,
    // always: spoken even right after another line.
    tell(text, always) {
      words.textContent = text;
      if (always || Date.now() - spokenAt > SPEAK_EVERY) speak(text);
    },
    busy(now) { if (bar) bar.hidden = !now; },
    reach(share) { bar.value = share; },
  };
}

