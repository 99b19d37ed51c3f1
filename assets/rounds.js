// The table of rounds: one row per target pass, growing with the run.

const OWN_LETTER = { correction: "C", bonus: "B" };

function makeRounds(onShow) {
  const words = TEXT.rounds;
  const root = make("section", "rounds");
  root.setAttribute("aria-label", words.title);
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
  root.append(make("h3", "", words.title), scroller, make("p", "quiet letters", words.letters));
  body.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) onShow(+button.dataset.first);
  });
  // A table is laid out as a whole, so rows wait for each other while the run streams.
  const WAIT = 500;
  let waiting = [], flushedAt = 0;
  const clear = () => { root.hidden = true; waiting = []; body.replaceChildren(); };

  function flush() {
    if (!waiting.length) return;
    root.hidden = false;
    body.append(...waiting);
    waiting = [];
    flushedAt = Date.now();
  }

  function add(...round) {
    waiting.push(row(...round));
    if (Date.now() - flushedAt > WAIT) flush();
  }

  function row(round, index, first, measure) {
    const own = round.tokens[round.kept]; // absent where the output ended before it
    const go = make("button", "round-link", String(index + 1));
    go.type = "button";
    go.dataset.first = first;
    go.setAttribute("aria-label", say(words.show, { round: index + 1 }));
    const header = make("th", "c-round", go);
    header.scope = "row";
    const entropy = own?.d ? short(measure === "normalized" ? own.n : own.s) : "–";
    const text = make("td", "c-text");
    round.tokens.forEach((token) => text.append(make("span", token.v, ...(token.t ? [visible(token.t)] : []))));
    return make("tr", "", header,
      make("td", "c-drafted", String(round.k)), make("td", "c-kept", String(round.kept)),
      make("td", "c-verdicts", letters(round.w + (own ? OWN_LETTER[own.v] ?? "" : ""))),
      make("td", "c-entropy", entropy), text, make("td", "c-seconds", number(round.sec)));
  }

  return { root, clear, add, flush };
}

function letters(text) {
  return make("span", "letters-line", ...[...text].map((letter) => make("span", letter === "·" ? "L-none" : "L-" + letter, letter)));
}
