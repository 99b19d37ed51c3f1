// What is kept of a run without asking a server: its rounds as CSV, and the run as a page of its own. Pure.

const CSV_HEAD = ["round", "drafted", "verified", "kept", "emitted", "verdicts", "own", "cut", "cut_entropy_normalized", "cut_entropy_top3", "text",
  ...["prefill", "draft", "preverify", "verify", "other"].map((phase) => `${phase}_seconds_measured`)];

// One row per target pass; twin of explorer/ui/exports.py.
function csvOfRounds(run) {
  const rows = run.rounds.map((round) => {
    const { judged } = round;
    const text = run.tokens.slice(round.first, round.first + round.emitted).map((token) => token.text).join("");
    const at = (measure) => (judged.cut === null ? null : round.entropy[measure][judged.cut]);
    return [round.index + 1, round.size, round.verified, judged.kept, round.emitted, judged.verdicts.join(" "), judged.last,
      judged.cut === null ? null : judged.cut + 1, at("normalized"), at("top3"), text, ...SECONDS.map((phase) => round.seconds[phase])];
  });
  return csvTable(CSV_HEAD, rows);
}

// Twin of explorer/analysis/spreadsheet.py: a text that a spreadsheet would run gets an apostrophe in front.
function csvTable(head, body) {
  const cell = (value) => {
    if (value === null) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r＝＋－＠]/.test(value) ? "'" + value : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [head, ...body].map((row) => row.map(cell).join(",") + "\r\n").join("");
}

// A page that needs no server: our own scripts and styles, and the text of the run as data. Twin of explorer/ui/exports.py.
// values: {language, title, nonce, styles, script, run, record}; record: the text of a trace, or `null`. The template is filled in one pass, so that no value is read as one.
function pageOf(values) {
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
