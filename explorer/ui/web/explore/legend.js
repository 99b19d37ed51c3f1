// The legend: what may become of a token, and how many tokens of the text are of each kind.

import { make } from "../core/dom.js";
import { TEXT } from "../given/texts.js";
import { relaxes } from "../twins/verdicts.js";

export function makeLegend() {
  const root = make("ul", "legend");
  root.setAttribute("aria-label", TEXT.legend);

  // rule: of the run, undefined before there is one.
  function draw(kinds, rule) {
    root.replaceChildren(...Object.entries(kinds).filter(([kind]) => isKindOf(rule, kind)).map(([kind, words]) => {
      const sample = make("span", `tok ${kind}`, words.name);
      if (kind !== "exact") sample.dataset.mark = words.mark;
      const figure = make("span", "count");
      figure.dataset.kind = kind;
      return make("li", "", make("span", "legend-name", sample, figure), make("span", "means", words.means));
    }));
  }

  function count(counts) {
    for (const figure of root.querySelectorAll(".count")) figure.textContent = counts[figure.dataset.kind] ?? 0;
  }

  return { root, draw, count };
}

// Whether a run under a rule can have tokens of a kind. (Under the exact rule FLy's is shown too, with none of them.)
const isKindOf = (rule, kind) => (rule === "autoregressive" ? kind === "bonus" : kind !== (relaxes(rule) ? "deferred" : "relaxed"));
