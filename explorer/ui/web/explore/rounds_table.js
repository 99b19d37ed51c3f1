// The table of rounds: one row per target pass, growing with the run.

import { make, say } from "../core/dom.js";
import { visible } from "../core/glyphs.js";
import { number, short } from "../core/numbers.js";
import { VERDICT_OF } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { kindAt } from "../twins/wire.js";

const OWN_LETTER = { correction: "C", bonus: "B" };
const LETTER_OF = Object.fromEntries(Object.entries(VERDICT_OF).map(([letter, verdict]) => [verdict, letter]));

export function makeRounds(onShow) {
  const words = TEXT.rounds;
  const root = make("details", "rounds");
  const body = make("tbody");
  const columns = ["round", "drafted", "kept", "verdicts", "entropy", "text", "seconds"];
  const head = make("tr", "", ...columns.map((name) => {
    const cell = make("th", `c-${name}`, words[name]);
    cell.scope = "col";
    return cell;
  }));
  const scroller = make("div", "rounds-scroll", make("table", "", make("caption", "sr-only", words.caption), make("thead", "", head), body));
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "region");
  scroller.setAttribute("aria-label", words.caption);
  root.append(make("summary", "", make("h3", "", words.title)), scroller, make("p", "quiet letters", words.letters));
  body.addEventListener("click", (event) => {
    const link = event.target.closest("button");
    if (link) onShow(+link.dataset.round);
  });
  // A closed table costs nothing: its rows are made when it is opened, and by then wait for no others.
  let waiting = [];
  const clear = () => { root.hidden = true; waiting = []; body.replaceChildren(); };

  function addRows() {
    body.append(...waiting.map(([run, round]) => row(run, round)));
    waiting = [];
  }
  root.addEventListener("toggle", addRows);

  function add(run, round) {
    root.hidden = false;
    waiting.push([run, round]);
    if (root.open) addRows();
  }

  function row(run, round) {
    const { entropy: measure } = run.head.config;
    const { judgement, emitted } = round;
    const tokens = run.tokens.slice(round.first, round.first + emitted);
    const go = make("button", "round-link", String(round.index + 1));
    go.type = "button";
    go.dataset.round = round.index;
    go.setAttribute("aria-label", say(words.show, { round: round.index + 1 }));
    const header = make("th", "c-round", go);
    header.scope = "row";
    const cut = judgement.cut !== null && judgement.cut < emitted ? short(round.entropy[measure][judgement.cut]) : "–";
    const text = make("td", "c-text", ...tokens.map((token) => make("span", kindAt(judgement, token.position), ...(token.text ? [visible(token.text)] : []))));
    const line = round.judgement.verdicts.map((verdict) => LETTER_OF[verdict]).join("") + (judgement.accepted < emitted ? OWN_LETTER[judgement.last] : "");
    const seconds = Object.values(round.seconds).reduce((sum, value) => sum + value, 0);
    return make("tr", "", header,
      make("td", "c-drafted", String(round.size)), make("td", "c-kept", String(judgement.accepted)),
      make("td", "c-verdicts", letters(line)), make("td", "c-entropy", cut), text, make("td", "c-seconds", number(seconds)));
  }

  return { root, clear, add };
}

function letters(text) {
  return make("span", "letters-line", ...[...text].map((letter) => make("span", letter === "·" ? "L-none" : "L-" + letter, letter)));
}
