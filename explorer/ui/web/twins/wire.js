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
  const match = line.m ? [...line.m].map((digit) => digit === "1") : line.d.map((token, position) => token === line.c[position]);
  const round = {
    index: run.rounds.length,
    ...draftOf(line),
    replacement: line.c,
    match,
    protected: line.d.map((_, position) => line.g?.includes(position) ?? false),
    entropy: { normalized: line.n, top3: line.h },
    evidence: evidenceOf(line, match),
    draftedProbs: line.p, replacementProbs: line.r, // of the target
    top: line.a.map(pairsOf),
    verified: verifiedOf(line),
    seconds: Object.fromEntries(PHASES.map((name, index) => [name, line.s[index]])),
    judgement: judgementOf(line),
    emitted: line.e,
    first: run.tokens.length,
  };
  for (let position = 0; position < round.emitted; position++) {
    const piece = run.pieces[committedAt(round, position, round.judgement)];
    const [text, hex] = line.x?.[position] ?? [piece.stop ? "" : piece.text, null];
    run.tokens.push({ round, position, text, hex, stop: piece.stop ? piece.text : null });
  }
  run.rounds.push(round);
  return round;
}

// What was drafted, and how; tokens are numbers of run.pieces, here and everywhere.
const draftOf = ({ d, q, f, k, t, o, b }) => ({
  size: d.length,
  drafted: d,
  draftProbs: q,
  sources: f ?? d.map(() => "model"),
  fromPool: fromPoolOf(f), // they stand after all others
  branches: (k ?? []).map(([agreed, ...ids]) => ({ agreed, ids })),
  tree: readTree(t, d), // null: none
  ahead: o ?? [],
  blocks: (b ?? []).map(([size, mean, threshold, passed, ...scores]) => ({ size, mean, threshold, passed, scores })),
});

const fromPoolOf = (sources) => (sources ?? []).filter((source) => source === "phrase pool").length;

// Drafted tokens fed to the pass, other branches' too.
function verifiedOf({ d, f, k, t }) {
  if (t) return t[0].length;
  return d.length + (k ?? []).reduce((sum, [, ...ids]) => sum + ids.length, 0) - fromPoolOf(f);
}

// What rules read beside the entropy, by name: [K], null at a match and where it was not recorded.
function evidenceOf(line, match) {
  let mismatch = 0;
  const rows = match.map((agrees) => (agrees ? null : line.l?.[mismatch++] ?? null));
  return Object.fromEntries(EVIDENCE.map((name, column) => [name, rows.map((row) => row && row[column])]));
}

function judgementOf(line) {
  const verdicts = [...line.w].map((letter) => VERDICT_OF[letter]);
  const cut = verdicts.findIndex((verdict) => verdict.startsWith("rejected"));
  return cut < 0 ? { verdicts, accepted: verdicts.length, cut: null, last: "bonus" } : { verdicts, accepted: cut, cut, last: "correction" };
}

// A flat list of tokens and probabilities as pairs.
function pairsOf(flat) {
  const pairs = [];
  for (let index = 0; index < flat.length; index += 2) pairs.push({ token: flat[index], prob: flat[index + 1] });
  return pairs;
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

// The token that a round commits at a position under a judgement: an accepted drafted one, or after them the target's own.
export const committedAt = (round, position, judgement) => (position < judgement.accepted ? round.drafted[position] : round.replacement[position]);

// How many tokens were refused, of counts by verdict.
export const rejectedIn = (counts) =>
  Object.entries(counts).reduce((sum, [verdict, count]) => sum + (verdict.startsWith("rejected") ? count : 0), 0);

// Whether what PEARL's draft made ahead stands: all of the draft accepted, and the first token ahead the target's own.
export const goesOn = (round) => round.judgement.cut === null && round.ahead[0] === round.replacement[round.size];

// What stands at a position: a verdict, or for the target's own token `correction` or `bonus`.
export const kindAt = (judgement, position) => (position === judgement.accepted ? judgement.last : judgement.verdicts[position]);

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

