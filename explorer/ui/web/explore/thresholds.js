// The controls of the rule on a page without a server: there are no others there, so this one answers the view as the page's
// own controls would.

import { make } from "../core/dom.js";
import { ENTROPY_MAXIMUM, KNOBS, RULES, RULE_KNOBS, THETA_OF_MEASURE } from "../given/constants.js";
import { TEXT } from "../given/texts.js";

// settings: of the run. Returns {root, set(settings)}.
export function makeThresholds(settings) {
  const words = { ...TEXT.whatif.knobs, ...TEXT.thresholds };
  const now = { ...settings };
  const tell = () => {
    show();
    document.dispatchEvent(new CustomEvent("explorer-controls", { detail: { ...now } }));
  };
  const labelled = (name, control, ...more) => make("label", "threshold", make("span", "threshold-name", words[name]), control, ...more);
  const choice = (name, values) => {
    const list = make("select");
    for (const value of values) list.append(new Option(TEXT.whatif.values[value], value));
    list.addEventListener("change", () => {
      now[name] = list.value;
      if (name === "entropy") now.theta = THETA_OF_MEASURE[list.value];
      tell();
    });
    return list;
  };
  const amount = (name) => {
    const range = make("input"), figure = make("output", "figure");
    Object.assign(range, { type: "range", min: KNOBS[name].low, max: KNOBS[name].high, step: name === "theta" ? 0.005 : KNOBS[name].kind === "int" ? 1 : 0.01 });
    range.addEventListener("input", () => { now[name] = +range.value; tell(); });
    return { range, figure, node: labelled(name, range, figure) };
  };
  const rule = choice("rule", [...Object.keys(RULES), "exact"]), measure = choice("entropy", Object.keys(ENTROPY_MAXIMUM));
  const amounts = Object.fromEntries(RULE_KNOBS.filter((name) => KNOBS[name].low !== undefined).map((name) => [name, amount(name)]));
  const includes = make("input");
  includes.type = "checkbox";
  includes.addEventListener("change", () => { now.window_includes_mismatch = includes.checked; tell(); });
  const nodes = { entropy: labelled("entropy", measure), ...Object.fromEntries(Object.entries(amounts).map(([name, { node }]) => [name, node])),
    window_includes_mismatch: labelled("window_includes_mismatch", includes) };
  const root = make("section", "thresholds", labelled("rule", rule), ...Object.values(nodes));
  root.setAttribute("aria-label", words.title);
  root.hidden = settings.rule === "autoregressive"; // no drafts, nothing to judge

  function show() {
    rule.value = now.rule;
    measure.value = now.entropy;
    includes.checked = now.window_includes_mismatch;
    for (const [name, { range, figure }] of Object.entries(amounts)) {
      range.value = now[name];
      figure.textContent = name === "theta" && now.theta > ENTROPY_MAXIMUM[now.entropy] ? words.never : String(now[name]);
    }
    const used = (RULES[now.rule] ?? RULES.fly).knobs; // of the exact rule none: FLy's stand by
    for (const [name, node] of Object.entries(nodes)) node.hidden = !used.includes(name);
  }
  show();
  return { root, set: (wanted) => { Object.assign(now, wanted); tell(); } };
}
