// A note that comes as English text, in the reader's language where that is known (explorer/ui/messages.py). Pure.

import { NOTES } from "../given/constants.js";
import { LANGUAGE } from "../given/texts.js";

export function told(text, language = LANGUAGE) {
  if (language !== "ko") return text;
  for (const [english, korean] of Object.entries(NOTES)) {
    const parts = english.split(/\{(\w+)\}/);
    const pattern = parts.map((part, index) => (index % 2 ? `(?<${part}>.+?)` : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))).join("");
    const found = text.match(new RegExp(`^${pattern}$`));
    if (found) return korean.replace(/\{(\w+)\}/g, (_, name) => found.groups[name]);
  }
  return text;
}
