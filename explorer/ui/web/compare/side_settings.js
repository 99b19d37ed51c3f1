// The settings of a side in words.

import { knobWords } from "../core/knob_words.js";
import { short } from "../core/numbers.js";
import { RULES } from "../given/constants.js";
import { TEXT } from "../given/texts.js";

export const valueInWords = (name, value) => knobWords(TEXT.values, name, value);

// The settings of its rule, where the loose rule has any.
function pointOf(config) {
  if (config.rule === "fly") return [`θ ${short(config.theta)}`, `W ${config.window}`];
  return (RULES[config.rule]?.knobs ?? []).map((name) => `${TEXT.knobs[name]} ${valueInWords(name, config[name])}`);
}

export function settingsOf(config) {
  const { rule, length, drafter, phrases, tree, schedule } = config;
  if (rule === "autoregressive") return "";
  return [
    valueInWords("rule", rule), ...pointOf(config), `K ${config.draft_length}`,
    ...(length === "fixed" ? [] : [TEXT.choices.length[length]]), ...(drafter === "model" ? [] : [TEXT.choices.drafter[drafter]]),
    ...(phrases ? [`${TEXT.knobs.phrases} ${phrases}`] : []), ...(drafter === "features" && tree ? [`${TEXT.knobs.tree} ${tree}`] : []),
    ...(schedule === "pearl" ? ["PEARL"] : []),
  ].join(", ");
}
