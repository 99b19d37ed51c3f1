// One lane: a position of a round from its draft to its verdict.

import { make, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { short } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { kindAt } from "../twins/wire.js";
import { kindClass } from "./kinds.js";

// at: {run, round, position, judgement, settings, kinds}; selected: whether it is on show; scale: the entropy at the top of its bar.
export function lane(at, selected, scale) {
  const { round, position, judgement } = at, own = position === round.size;
  const verdict = own ? null : judgement.verdicts[position], faded = verdict === "discarded" || position > judgement.accepted;
  const node = make("div", `lane ${faded ? "faded" : kindAt(judgement, position)}`, part("position", own ? TEXT.lanes.own : String(position + 1)),
    draftOf(at), targetOf(at), verdictOf(at), entropyOf(at, scale));
  node.dataset.position = position;
  node.setAttribute("role", "option");
  node.setAttribute("aria-selected", String(selected));
  node.tabIndex = selected ? 0 : -1;
  return node;
}

// Each cell says what its row says, so that the column reads as a sentence.
const part = (row, ...children) => make("span", `lane-cell of-${row}`, ...(children.length ? [make("span", "sr-only", TEXT.lanes.rows[row] + " ")] : []), ...children);

function chip(run, token, ...classes) {
  const node = quote(run.pieces[token].text);
  node.classList.add("chip", ...classes);
  return node;
}

// There is no bonus after a cut.
const isHidden = ({ round, position, judgement }) => position === round.size && position > judgement.accepted;

function draftOf({ run, round, position, judgement }) {
  if (position === round.size) return part("draft");
  const verdict = judgement.verdicts[position], source = round.sources[position], words = TEXT.lanes.sources;
  const classes = verdict.startsWith("rejected") ? ["struck"] : verdict === "discarded" ? ["plain"] : ["tok", kindAt(judgement, position)];
  return part("draft", chip(run, round.drafted[position], ...classes), ...(source === "model" ? [] : [make("small", "", words[source] ?? source)]));
}

function targetOf(at) {
  const { run, round, position, judgement } = at;
  if (round.match[position]) return part("target", make("span", "agrees", TEXT.lanes.agrees));
  if (isHidden(at)) return part("target");
  const classes = position === judgement.accepted ? ["tok", kindAt(judgement, position)] : ["plain"];
  return part("target", chip(run, round.replacement[position], ...classes));
}

function verdictOf(at) {
  const { round, position, judgement, kinds } = at, own = position === round.size;
  if (isHidden(at)) return part("verdict");
  const nameOf = (kind) => { const words = kinds[kind] ?? TEXT.others[kind]; return words.short ?? words.name; };
  const shown = own ? "bonus" : judgement.verdicts[position], recorded = own ? shown : round.judgement.verdicts[position];
  const letter = make("span", `mark ${kindClass(shown)}`, (kinds[shown] ?? TEXT.others[shown]).mark);
  letter.setAttribute("aria-hidden", "true");
  return part("verdict", letter, make("span", "verdict-name", nameOf(shown)),
    ...(recorded === shown ? [] : [make("small", "was", say(TEXT.lanes.was, { kind: nameOf(recorded) }))]));
}

function entropyOf(at, scale) {
  if (isHidden(at)) return part("entropy");
  const { round, position, settings } = at, value = round.entropy[settings.entropy][position];
  const mismatch = position < round.size && !round.match[position];
  return part("entropy", entropyBar(value, settings, scale, mismatch), make("span", mismatch ? "figure" : "figure quiet", short(value)));
}

function entropyBar(value, settings, scale, judgedHere) {
  const tone = !judgedHere ? "idle" : settings.rule !== "fly" ? "" : value >= settings.theta ? "above" : "below";
  const bar = make("span", `bar-fill ${tone}`);
  bar.style.height = Math.min(1, value / scale) * 100 + "%";
  return make("span", "bar-room", bar);
}
