// Two real runs of one prompt, side by side.

import { make, say } from "../core/dom.js";
import { number } from "../core/numbers.js";
import { cell } from "../core/tables.js";
import { TEXT } from "../given/texts.js";
import { isRelevant } from "../twins/config.js";
import { rejectedIn } from "../twins/wire.js";
import { LOOSENED, knobValue } from "./whatif.js";

// Two real runs of one prompt, side by side. before, after: finished runs.
export function makeTwoRuns() {
  const words = TEXT.compare;
  const root = make("section", "compare");
  root.setAttribute("aria-label", words.title);
  const clear = () => { root.hidden = true; root.replaceChildren(); };

  function show(before, after) {
    const runs = [before, after];
    const summary = (name, digits) => runs.map((run) => (run.end.summary[name] === null ? "–" : number(run.end.summary[name], digits)));
    const counted = (pick) => runs.map((run) => String(pick(run.end.summary.counts)));
    const knobs = Object.keys(after.head.config).filter((name) => String(before.head.config[name]) !== String(after.head.config[name]) && words.knobs[name]
      && runs.some((run) => isRelevant(run.head.config, name)));
    const rows = [
      ...(before.end.provenance.pair === after.end.provenance.pair ? [] : [[words.pair, runs.map((run) => run.head.title)]]),
      ...knobs.map((name) => [words.knobs[name], runs.map((run) => (isRelevant(run.head.config, name) ? knobValue(name, run.head.config[name]) : "–"))]),
      [words.tau, summary("tau", 2)], [words.kept, summary("kept_per_round", 2)], [words.speed, summary("speed", 1)],
      [words.tokens, runs.map((run) => String(run.end.summary.tokens))],
      ...LOOSENED.filter((kind) => kind === "deferred" || runs.some((run) => run.end.summary.counts[kind]))
        .map((kind) => [words[kind], counted((counts) => counts[kind] ?? 0)]),
      [words.refused, counted(rejectedIn)],
    ];
    const parting = after.tokens.findIndex((token, index) => token.text !== before.tokens[index]?.text);
    root.hidden = false;
    root.replaceChildren(make("h3", "", words.title),
      make("table", "", make("thead", "", make("tr", "", make("td"), cell("th", before.head.recorded ? words.recorded : words.before, "col"), cell("th", words.after, "col"))),
        make("tbody", "", ...rows.map(([name, values]) => make("tr", values[0] === values[1] ? "" : "moved", cell("th", name, "row"), ...values.map((value) => cell("td", value)))))),
      make("p", "quiet", parting < 0 ? words.same : say(words.parting, { index: parting + 1 })),
      make("p", "quiet", !before.head.recorded && before.end.provenance.device === after.end.provenance.device ? words.speeds : words.other_machine));
  }

  clear();
  return { root, clear, show };
}
