// A run, read line by line from the text of explorer/wire.py, whose table says what the short keys mean; they are
// written out here and nowhere else. Pure; knows no page.

import { EVIDENCE, PHASES, VERDICT_OF } from "../given/constants.js";

export function newRun(head) {
  return { head, pieces: [], rounds: [], tokens: [], tail: "", phase: "preparing", message: "", end: null };
}

// Take one event into the run; returns it, with a round written out.
export function readEvent(run, event) {
  if (event.d) return readRound(run, event);
  if (event.tail) run.tail = event.tail;
  if (event.phase) { run.phase = event.phase; run.message = event.message ?? ""; }
  if (event.end) { run.end = event; run.phase = event.partial ? "stopped" : "done"; }
  return event;
}

// A round: arrays over its K drafted positions, or over its K + 1 rows; `first` is the index of its first emitted token in
// run.tokens, where each is {round, position, text, hex, stop}.
function readRound(run, line) {
  for (const piece of line.v ?? []) {
    run.pieces.push(Array.isArray(piece) ? { text: piece[0], stop: true } : { text: piece, stop: false });
  }
  const verdicts = [...line.w].map((letter) => VERDICT_OF[letter]);
  const cut = verdicts.findIndex((verdict) => verdict.startsWith("rejected"));
  const round = {
    index: run.rounds.length,
    size: line.d.length,
    drafted: line.d, // numbers of run.pieces, as all tokens here
    replacement: line.c,
    match: line.m ? [...line.m].map((digit) => digit === "1") : line.d.map((token, position) => token === line.c[position]),
    protected: line.d.map((_, position) => line.g?.includes(position) ?? false),
    entropy: { normalized: line.n, top3: line.h },
    evidence: null, // what rules read beside the entropy, by name: [K], null at a match and where it was not recorded
    draftProbs: line.q, draftedProbs: line.p, replacementProbs: line.r, // of the draft; of the target: of the drafted token, of its own
    top: line.a.map((flat) => flat.reduce((pairs, value, index) =>
      (index % 2 ? pairs[pairs.length - 1].prob = value : pairs.push({ token: value, prob: 0 }), pairs), [])),
    sources: line.f ?? line.d.map(() => "model"),
    fromPool: (line.f ?? []).filter((source) => source === "phrase pool").length, // they stand behind all others
    branches: (line.k ?? []).map(([agreed, ...ids]) => ({ agreed, ids })),
    tree: readTree(line.t, line.d), // null: none
    verified: line.t ? line.t[0].length : line.d.length + (line.k ?? []).reduce((sum, [, ...tokens]) => sum + tokens.length, 0)
      - (line.f ?? []).filter((source) => source === "phrase pool").length, // drafted tokens fed to the pass, other branches' too
    ahead: line.o ?? [],
    blocks: (line.b ?? []).map(([size, mean, threshold, passed, ...scores]) => ({ size, mean, threshold, passed, scores })),
    seconds: Object.fromEntries(PHASES.map((name, index) => [name, line.s[index]])),
    judgement: { verdicts, kept: cut < 0 ? line.d.length : cut, cut: cut < 0 ? null : cut, last: cut < 0 ? "bonus" : "correction" },
    emitted: line.e,
    first: run.tokens.length,
  };
  let mismatch = 0;
  const rows = round.match.map((match) => (match ? null : line.l?.[mismatch++] ?? null));
  round.evidence = Object.fromEntries(EVIDENCE.map((name, column) => [name, rows.map((row) => row && row[column])]));
  for (let position = 0; position < round.emitted; position++) {
    const piece = run.pieces[committedAt(round, position, round.judgement)];
    const [text, hex] = line.x?.[position] ?? [piece.stop ? "" : piece.text, null];
    run.tokens.push({ round, position, text, hex, stop: piece.stop ? piece.text : null });
  }
  run.rounds.push(round);
  return round;
}

// The nodes of a tree, from its columns: {parent, token, prob (after its parent), along (of its whole path), argmax (the target's,
// after it), depth, position}; position: where in the draft it stands, null for a node beside the path.
function readTree(columns, drafted) {
  if (!columns) return null;
  const [parents, tokens, probs, argmax] = columns, nodes = [];
  for (const [index, parent] of parents.entries()) {
    const before = nodes[parent];
    nodes.push({ parent, token: tokens[index], prob: probs[index], along: probs[index] * (before?.along ?? 1), argmax: argmax[index],
      depth: (before?.depth ?? 0) + 1, position: null });
  }
  let place = -1;
  drafted.forEach((token, position) => {
    place = nodes.findIndex((node) => node.parent === place && node.token === token);
    nodes[place].position = position;
  });
  return nodes;
}

// The token that a round commits at a position under a judgement: a kept drafted one, or behind them the target's own.
export const committedAt = (round, position, judgement) => (position < judgement.kept ? round.drafted[position] : round.replacement[position]);

// How many tokens were refused, of counts by verdict.
export const rejectedIn = (counts) =>
  Object.entries(counts).reduce((sum, [verdict, count]) => sum + (verdict.startsWith("rejected") ? count : 0), 0);

// Whether what PEARL's draft made ahead stands: all of the draft kept, and the first token ahead the target's own.
export const goesOn = (round) => round.judgement.cut === null && round.ahead[0] === round.replacement[round.size];

// What stands at a position: a verdict, or for the target's own token `correction` or `bonus`.
export const kindAt = (judgement, position) => (position === judgement.kept ? judgement.last : judgement.verdicts[position]);

// The mismatches of a round, from left to right, also those behind the cut.
export function disagreements(round) {
  const found = [];
  round.match.forEach((match, position) => { if (!match) found.push(position); });
  return found;
}

// How far behind a position the next mismatch follows; undefined where none does.
export const nextMismatch = (round, position) => {
  const next = round.match.indexOf(false, position + 1);
  return next < 0 ? undefined : next - position;
};

