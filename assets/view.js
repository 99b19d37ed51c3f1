// The run view: legend, status, strip and card, summary, rounds. Reads the growing text of explorer/ui/strip.py and parses
// only what is new. Nothing here asks the server for anything.

const kindsOf = (head) =>
  head.rule === "autoregressive" ? { ...TEXT.kinds, bonus: { ...TEXT.kinds.bonus, ...TEXT.alone } } : TEXT.kinds;

let head = null, headLine = "", offset = 0, kinds = TEXT.kinds;
let rounds = [], tokens = []; // tokens: {token, round, position}
let counts = {}, pinned = null, looked = null;

const card = makeCard(() => pin(null, true));
const strip = makeStrip(look, (index) => pin(index === pinned ? null : index));
const summary = makeSummary();
const table = makeRounds((first) => strip.focus(first));
table.clear();

const legend = make("ul", "legend");
legend.setAttribute("aria-label", TEXT.legend);
const status = make("span", "status-text", TEXT.idle);
const dot = make("span", "status-dot");
dot.setAttribute("aria-hidden", "true");
const spoken = make("span", "sr-only");
spoken.setAttribute("role", "status");
spoken.setAttribute("aria-live", "polite");
const refused = make("input");
refused.type = "checkbox";
const notes = make("div", "run-notes");
const root = make("div", "run-view",
  legend,
  make("div", "toolbar",
    make("span", "status", dot, status), spoken,
    make("label", "toggle", refused, " " + TEXT.show_refused)),
  notes,
  make("div", "stage", strip.root, card.root),
  summary.root,
  table.root);
element.append(root);
refused.addEventListener("change", () => strip.root.classList.toggle("with-refused", refused.checked));

function drawLegend() {
  legend.replaceChildren(...Object.entries(kinds).filter(([kind]) => head?.rule !== "autoregressive" || kind === "bonus").map(([kind, words]) => {
    const sample = make("span", `tok ${kind}`, words.name);
    if (kind !== "exact") sample.dataset.mark = words.mark;
    const count = make("span", "count");
    count.dataset.kind = kind;
    return make("li", "", make("span", "legend-name", sample, count), make("span", "means", words.means));
  }));
  drawCounts();
}

function drawCounts() {
  for (const cell of legend.querySelectorAll(".count")) cell.textContent = head ? counts[cell.dataset.kind] ?? 0 : "";
}

let spokenAt = 0;
function setStatus(phase, text, always) {
  root.dataset.phase = phase;
  status.textContent = text;
  // A screen reader hears a short line now and then, not twenty a second.
  if (always || Date.now() - spokenAt > 4000) { spokenAt = Date.now(); spoken.textContent = text; }
}

const progress = () => say(TEXT.status, { rounds: rounds.length, tokens: tokens.length });

function begin(parsed) {
  head = parsed;
  kinds = kindsOf(head);
  rounds = []; tokens = []; counts = {}; pinned = looked = null;
  strip.clear(); card.clear(); summary.clear(); table.clear();
  notes.replaceChildren(...(head.notes || []).map((note) => make("p", "note", note)));
  drawLegend();
  setStatus("preparing", TEXT.phases.preparing, true);
}

function sync() {
  const value = props.value;
  if (typeof value !== "string" || !value) return;
  const end = value.indexOf("\n");
  const first = value.slice(0, end);
  if (first !== headLine) { headLine = first; offset = end + 1; begin(JSON.parse(first)); }
  if (offset >= value.length) return;
  for (const text of value.slice(offset).split("\n")) if (text) read(JSON.parse(text));
  offset = value.length;
  drawCounts();
}

function read(event) {
  if (event.tokens) {
    const index = rounds.length, before = tokens.length;
    strip.addRound(event, index, kinds);
    rounds.push(event);
    event.tokens.forEach((token, position) => {
      tokens.push({ token, round: event, place: { round: index + 1, position: position + 1, size: event.k } });
      counts[token.v] = (counts[token.v] ?? 0) + 1;
    });
    table.add(event, index, before, head.entropy);
    setStatus("running", progress(), false);
  } else if (event.phase) {
    table.flush();
    const words = TEXT.phases[event.phase] + (event.message ? ": " + event.message : "");
    setStatus(event.phase, tokens.length ? `${progress()}. ${words}` : words, true);
  } else if (event.tail) {
    strip.addTail(event.tail);
  } else if (event.end) {
    table.flush();
    const why = say(TEXT.ends[event.end], { budget: head.budget });
    setStatus(event.partial ? "stopped" : "done", `${progress()}: ${why}`, true);
    if (event.summary) summary.show(event, head);
  }
}

function look(index) {
  looked = index;
  if (pinned === null) drawCard(index);
}

function pin(index, back) {
  const was = pinned;
  pinned = index;
  strip.select(index);
  if (index === null && looked === null) card.clear();
  else drawCard(index ?? looked);
  if (back && was !== null) strip.focus(was);
  else if (index !== null) strip.reveal(index, card.root);
}

function drawCard(index) {
  const at = tokens[index];
  if (at) card.show(at.token, at.place, at.round, head, kinds, pinned !== null);
}

drawLegend();
watch("value", sync);
sync();
