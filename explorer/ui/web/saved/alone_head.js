// What a page without a server has in place of the app's own: the prompt, the settings in words, light and dark.

import { make } from "../core/dom.js";
import { glyphs } from "../core/glyphs.js";
import { knobValue } from "../explore/whatif.js";
import { RULES } from "../given/constants.js";
import { TEXT } from "../given/texts.js";

// head: of the run. Returns the nodes that stand above the view.
export function aloneHead(head, thresholds) {
  const { config } = head, words = TEXT.compare.knobs;
  const names = ["rule", ...(RULES[config.rule]?.knobs ?? []), "drafter", "length", "draft_length",
    ...(config.phrases ? ["phrases", "phrase_length"] : []), ...(config.drafter === "features" && config.tree ? ["tree", "tree_width"] : []),
    ...(config.schedule === "pearl" ? ["schedule"] : []), "max_new_tokens"];
  const settings = names.filter((name) => config[name] !== false && config[name] !== undefined)
    .map((name) => `${words[name]} ${knobValue(name, config[name])}`);
  return [make("header", "alone-head", make("h1", "", TEXT.share.page_title), make("p", "alone-prompt", ...glyphs(head.prompt)),
    make("p", "quiet", settings.join(" · "))), thresholds.root];
}

// Without a page around it, the view follows the system's light and dark itself.
export function followScheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const show = () => document.documentElement.classList.toggle("dark", dark.matches);
  dark.addEventListener("change", show);
  show();
}
