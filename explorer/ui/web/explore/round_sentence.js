// A round in one sentence.

import { fill, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { number, short } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { following } from "../twins/verdicts.js";
import { disagreements, goesOn, nextMismatch } from "../twins/wire.js";

// What the length policy compared with its threshold: a key of `scores` and `scored`. (A visitor's record may name any policy.)
export const scoreOf = ({ length, statistic }) => (length !== "pacer" && length in TEXT.lanes.policies ? length : statistic);

// The whole round in one line: marks of all positions, then a clause for each mismatch up to the cut, then the last token.
export function roundSentence(at) {
  const { run, round, judgement, settings } = at;
  const words = TEXT.lanes.sentence;
  const text = (token) => quote(run.pieces[token].text);
  const parts = [];
  if (!round.size) return [...fill(words.alone, { token: text(round.replacement[0]) }), ...meanwhile(at)];
  parts.push(...fill(words.kept, { kept: judgement.accepted, size: round.size }));
  disagreements(round).filter((position) => position <= judgement.accepted && position < round.size).forEach((position) => {
    const verdict = judgement.verdicts[position];
    parts.push(" ", ...fill(words[verdict], {
      position: position + 1, draft: text(round.drafted[position]), target: text(round.replacement[position]),
      h: short(round.entropy[settings.entropy][position]), theta: short(settings.theta), n: following(settings),
      m: nextMismatch(round, position) ?? "", w: settings.window, left: round.size - 1 - position,
    }));
  });
  if (judgement.last === "bonus") parts.push(" ", ...fill(words.bonus, { token: text(round.replacement[round.size]) }));
  const stop = round.blocks.find((block) => !block.passed && block.mean !== null), own = round.size - round.fromPool;
  if (stop) parts.push(" ", say(judgement.accepted >= own ? words.stopped_early : words.stopped, { policy: TEXT.lanes.policies[settings.length] ?? TEXT.lanes.policies.pacer, score: TEXT.lanes.scored[scoreOf(settings)], size: own, mean: number(stop.mean), threshold: number(stop.threshold), cut: judgement.accepted + 1 }));
  if (round.tree) parts.push(" ", say(words.tree, { nodes: round.tree.length, beside: round.tree.length - round.size }));
  parts.push(...tried(at), ...meanwhile(at));
  return parts;
}

// The phrases that were tried behind the draft in the same pass, each with how far the target agreed.
function tried({ run, round }) {
  if (!round.branches.length) return [];
  const words = TEXT.lanes.sentence, text = (tokens) => quote(tokens.map((token) => run.pieces[token].text).join(""));
  const list = round.branches.flatMap(({ agreed, ids }, index) =>
    [index ? ", " : "", ...fill(words.phrase, { text: text(ids), agreed, size: ids.length })]);
  return [" ", say(words.phrases, { count: round.branches.length }), " ", ...list, "."];
}

// What PEARL's draft made while the target checked, and whether it stands.
function meanwhile({ run, round }) {
  if (!round.ahead.length) return [];
  const words = TEXT.lanes.sentence, text = quote(round.ahead.map((token) => run.pieces[token].text).join(""));
  return [" ", ...fill(goesOn(round) ? words.ahead_stands : words.ahead_falls, { text })];
}
