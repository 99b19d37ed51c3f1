// What-if, in words: what moved, where the text would part, and the figures of both parts; it stays in sight while thresholds
// move. And the comparison of two real runs of one prompt.

import { button, fill, make, makeMemo, say } from "../core/dom.js";
import { knobWords } from "../core/knob_words.js";
import { number } from "../core/numbers.js";
import { RULE_KNOBS } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { addToSpan, newSpan, tauOf } from "../twins/replay.js";
import { rejectedIn } from "../twins/wire.js";
import { ownCosts, timesOfRounds } from "./run_costs.js";

// onRerun(), onReset(); costs: of makeCostsChoice(), at whose costs speeds are modelled.
export function makeWhatIf({ onRerun, onReset, costs }) {
  const words = TEXT.whatif;
  const headline = make("p", "whatif-head"), verdict = make("p", "whatif-verdict"), figures = make("div", "whatif-figures"), note = make("p", "whatif-note", words.other_pair);
  const rerun = button("primary", words.rerun, onRerun), reset = button("", words.reset, onReset);
  const root = make("section", "whatif", make("div", "whatif-words", headline, verdict, note), make("div", "whatif-buttons", rerun, reset), figures);
  root.setAttribute("aria-label", words.title);
  const drawn = makeMemo();
  const clear = () => { root.hidden = true; drawn(); };

  // again: of replay(), or null where these settings cannot be replayed, `refusal` saying why.
  function draw(run, again, settings, refusal, busy) {
    const recorded = run.head.config;
    root.hidden = false;
    rerun.disabled = busy;
    note.hidden = run.head.here !== false;
    const moved = RULE_KNOBS.filter((name) => settings[name] !== recorded[name]);
    headline.replaceChildren(make("b", "", words.title + " "), moved.map((name) =>
      say(words.moved, { name: words.knobs[name], now: knobValue(name, settings[name]), was: knobValue(name, recorded[name]) })).join(", "));
    figures.hidden = !again;
    const profile = costs.profile() ?? (run.end && again ? ownCosts(run) : null);
    if (drawn(run.head.run, run.rounds.length, refusal, again?.outcome, JSON.stringify(profile))) return;
    if (!again) { verdict.textContent = words.refusals[refusal]; return; }
    const rounds = run.rounds.length;
    verdict.replaceChildren(...fill(again.firstChange === null ? words.same : again.firstChange === rounds - 1 ? words.parts_last : words.parts,
      { round: again.firstChange + 1, rounds }), " ", ...lostAndGained(run, again));
    const spanOfRecorded = (from, to) => {
      const span = newSpan();
      run.rounds.slice(from, to).forEach((round) => addToSpan(span, round.judgement.verdicts, round.emitted));
      return span;
    };
    const timesIn = (from, to) => ({ tokens }) => (profile ? number(timesOfRounds(run, profile, from, to, tokens)) + "×" : null);
    const split = again.firstChange === null ? rounds : again.firstChange + 1;
    figures.replaceChildren(
      spanFigures(say(split === 1 ? words.exact_one : words.exact, { to: split }), spanOfRecorded(0, split), again.exact, timesIn(0, split)),
      split < rounds ? spanFigures(say(words.counterfactual, { from: split + 1, to: rounds }), spanOfRecorded(split), again.counterfactual, timesIn(split, rounds), "unsure") : "");
  }

  clear();
  return { root, clear, draw };
}

export const LOOSENED = ["deferred", "relaxed"];

export const knobValue = (name, value) => knobWords(TEXT.whatif.values, name, value);

function lostAndGained(run, again) {
  let lost = 0, gained = 0, refused = 0;
  again.rounds.forEach(({ after }, index) => {
    const difference = after.accepted - run.rounds[index].judgement.accepted;
    if (difference > 0) gained += difference;
    else if (difference < 0) { lost -= difference; refused += 1; }
  });
  const words = TEXT.whatif;
  return [lost ? say(lost === refused ? words.lost_alone : words.lost, { lost, refused, behind: lost - refused }) : "", lost && gained ? " " : "", gained ? say(words.gained, { gained }) : ""];
}

// timesOf(span): how many times plain greedy these rounds are with its tokens, null where that is not known.
function spanFigures(title, before, after, timesOf, tone = "") {
  const words = TEXT.whatif;
  const row = (name, one, other) => make("span", one === other ? "pair" : "pair moved", make("span", "pair-name", name), " ",
    make("span", "figure", one === other ? one : `${one} → ${other}`));
  return make("div", `whatif-span ${tone}`, make("span", "span-title", title), " ",
    row(words.tau, number(tauOf(before)), number(tauOf(after))),
    ...(timesOf(before) ? [row(words.times, timesOf(before), timesOf(after))] : []),
    ...LOOSENED.filter((kind) => kind === "deferred" || before.counts[kind] || after.counts[kind])
      .map((kind) => row(words[kind], String(before.counts[kind] ?? 0), String(after.counts[kind] ?? 0))),
    row(words.refused, String(rejectedIn(before.counts)), String(rejectedIn(after.counts))));
}

