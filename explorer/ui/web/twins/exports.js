// What is kept of a run without asking a server: its rounds as CSV, and the run as a page of its own. Pure.

import { PAGE } from "../given/alone.js";
import { PHASES } from "../given/constants.js";
import { csvTable } from "./spreadsheet.js";

export const CSV_HEAD = ["round", "drafted", "verified", "kept", "emitted", "verdicts", "own", "cut", "cut_entropy_normalized", "cut_entropy_top3", "text",
  ...PHASES.map((phase) => `${phase}_seconds_measured`)];

// One row per target pass; twin of explorer/ui/exports.py.
export function roundsCsv(run) {
  const rows = run.rounds.map((round) => {
    const { judgement } = round;
    const text = run.tokens.slice(round.first, round.first + round.emitted).map((token) => token.text).join("");
    const at = (measure) => (judgement.cut === null ? null : round.entropy[measure][judgement.cut]);
    return [round.index + 1, round.size, round.verified, judgement.accepted, round.emitted, judgement.verdicts.join(" "), judgement.last,
      judgement.cut === null ? null : judgement.cut + 1, at("normalized"), at("top3"), text, ...PHASES.map((phase) => round.seconds[phase])];
  });
  return csvTable(CSV_HEAD, rows);
}

// A page that needs no server: our own scripts and styles, and the text of the run as data. Twin of explorer/ui/exports.py.
// values: {language, title, nonce, styles, script, run, record}; record: the text of a trace, or `null`. The template is filled in one pass, so that no value is read as one.
export function page(values) {
  const escapes = { "<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029" };
  const escaped = (text) => text.replace(/[<\u2028\u2029]/g, (character) => escapes[character]);
  const filled = {
    ...values,
    title: values.title.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`),
    run: escaped(JSON.stringify(values.run)),
    record: escaped(values.record), // in JSON such characters stand in strings only
  };
  return PAGE.replace(/%\{(\w+)\}/g, (_, name) => filled[name]);
}
