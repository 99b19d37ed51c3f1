// What a point wrote: the mismatches it accepted, and its text for each prompt.

import { fill, make, say } from "../core/dom.js";
import { glyphs, quote, visible } from "../core/glyphs.js";
import { number, percent } from "../core/numbers.js";
import { TEXT } from "../given/texts.js";
import { nameOf, runsOf } from "./sweep.js";

const SHOWN_TOKENS = 40; // loosened tokens listed; the JSON file has all
const TITLE_LENGTH = 90; // characters of a prompt

export function drawLoosened(root, sweep, point) {
  const words = TEXT.loosened;
  const all = runsOf(sweep, point).flatMap((run, prompt) => run.loosened.map((token) => ({ prompt, token })));
  root.replaceChildren(make("h3", "", say(words.title, { count: all.length }), make("small", "", nameOf(sweep, point))),
    all.length ? make("p", "quiet lead", words.lead) : make("p", "quiet", words.none),
    make("ul", "loosened-list", ...all.slice(0, SHOWN_TOKENS).map(({ prompt, token }) => loosenedItem(sweep, prompt, token))),
    all.length > SHOWN_TOKENS ? make("p", "quiet", say(words.more, { count: all.length - SHOWN_TOKENS })) : "");
}

function loosenedItem({ head }, prompt, [before, drafted, own, after, draftedProb, ownProb, normalized, top3]) {
  const node = make("span", "tok deferred", ...glyphs(drafted.trim() ? drafted.trim() : visible(drafted)));
  node.dataset.mark = "D";
  return make("li", "",
    make("span", "loosened-text", "… ", ...glyphs(before), drafted.startsWith(" ") ? " " : "", node, ...glyphs(after), " …"),
    make("span", "quiet loosened-why", ...fill(TEXT.loosened.why, {
      prompt: String(prompt + 1), own: quote(own), kept: percent(draftedProb), chance: percent(ownProb),
      entropy: number(head.measure === "top3" ? top3 : normalized, 3),
    })));
}

export function drawTexts(root, sweep, point) {
  const open = new Set([...root.querySelectorAll("details[open]")].map((node) => node.dataset.prompt));
  root.replaceChildren(make("h3", "", TEXT.texts.title, make("small", "", nameOf(sweep, point))),
    ...runsOf(sweep, point).map((run, index) => {
      const node = textOf(sweep, run, index);
      node.dataset.prompt = index;
      node.open = open.has(String(index));
      return node;
    }));
}

// The text of one prompt, beside the target's own where they differ.
function textOf({ head, runs }, run, index) {
  const words = TEXT.texts, { prompt } = head.prompts[index], own = runs[index].find(({ points }) => points.includes(0));
  const title = prompt.length > TITLE_LENGTH ? prompt.slice(0, TITLE_LENGTH - 1) + "…" : prompt;
  const facts = [
    ...(run.right === null ? [] : [run.right ? words.right : own.right ? words.lost : words.wrong]),
    run.parts === null ? words.same : say(words.parts, { index: run.parts + 1 }), say(words.loosened, { count: run.loosened.length }),
  ];
  return make("details", "", make("summary", "", make("span", "", `${index + 1}. `, ...glyphs(title.replace(/\n/g, " "))), " ", make("span", "quiet", facts.join(", "))),
    make("p", "tune-text", ...glyphs(run.text)),
    ...(run === own || run.parts === null ? [] : [make("p", "quiet", words.own), make("p", "tune-text quiet", ...glyphs(own.text))]));
}
