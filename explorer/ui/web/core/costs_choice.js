// Whose costs speeds are modelled with: this run's own, a profile that ships, one's own numbers, or a file. All of it stays in the browser, and
// the views of a page follow each other.

import { COST_PROFILES, IMPORT_LIMIT } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { passTime, readProfile } from "../twins/costs.js";
import { button, make, say } from "./dom.js";
import { number } from "./numbers.js";

const OWN = "own", ENTERED = "entered", FILE = "file"; // choices beside the names of profiles
const SHIPPED = COST_PROFILES.map(readProfile);
const CHANGED = "explorer-costs"; // told between the views of a page, and kept at the document

// own: what this run's costs are called; onChange(): another choice. Returns {root, profile(): null for this run's own, know(profile), tell(text)}.
export function makeCostsChoice({ own, onChange }) {
  const words = TEXT.costs;
  let chosen = OWN, opened = null, wrong = "", touched = false; // opened: the profile of a file; touched: somebody typed a number

  const list = make("select", "", new Option(own, OWN), ...groups(words),
    group(words.yours, [new Option(words.own, ENTERED), new Option(words.file, FILE)]));
  const fields = Object.fromEntries(Object.keys(words.numbers).map((name) => [name, amount()]));
  const entered = make("div", "costs-own", ...Object.entries(fields).map(([name, field]) => make("label", "costs-field", words.numbers[name] + " ", field)));
  const chooser = make("input");
  Object.assign(chooser, { type: "file", accept: ".json,application/json", hidden: true });
  const file = make("div", "costs-file", button("", words.open, () => chooser.click()), chooser, make("span", "quiet", words.file_hint));
  const note = make("p", "quiet costs-note"), told = make("p", "sr-only");
  told.setAttribute("role", "status");
  const root = make("div", "costs", make("label", "costs-choose", words.label + " ", list), entered, file, note, told);

  list.addEventListener("change", () => { chosen = list.value; wrong = ""; change(); });
  for (const field of Object.values(fields)) field.addEventListener("input", () => { touched = true; change(); });
  chooser.addEventListener("change", async () => {
    const [picked] = chooser.files;
    chooser.value = "";
    if (!picked) return;
    const found = await profileIn(picked);
    opened = found ?? opened;
    wrong = found ? "" : say(words.not_a_profile, { name: picked.name });
    change();
  });
  document.addEventListener(CHANGED, ({ detail }) => {
    if (detail.from === root) return;
    adopt(detail);
    onChange();
  });
  if (document[CHANGED]) adopt(document[CHANGED]); // chosen in another view, before this one was there
  else show();

  function adopt(choice) {
    ({ chosen, opened, wrong, touched } = choice);
    for (const [name, value] of Object.entries(choice.numbers)) fields[name].value = value;
    show();
  }

  function change() {
    show();
    const numbers = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));
    document[CHANGED] = { from: root, chosen, opened, wrong, touched, numbers };
    document.dispatchEvent(new CustomEvent(CHANGED, { detail: document[CHANGED] }));
    onChange();
  }

  function show() {
    list.value = chosen;
    entered.hidden = chosen !== ENTERED;
    file.hidden = chosen !== FILE;
    const found = profile();
    note.replaceChildren(...(wrong ? [wrong] : found ? aboutProfile(found, words) : [chosen === ENTERED ? words.numbers_needed : ""]));
    note.hidden = !note.textContent;
  }

  function profile() {
    if (chosen === OWN) return null;
    if (chosen === FILE) return opened;
    if (chosen !== ENTERED) return SHIPPED.find(({ name }) => name === chosen);
    const [step, one, further] = ["step", "pass", "row"].map((name) => (fields[name].value === "" ? NaN : +fields[name].value));
    return readProfile({ name: words.own, source: "entered", unit: "ms", step, passes: { 1: one, 2: one + further } });
  }

  return {
    root, profile,
    // The costs of this run, which one's own numbers begin with.
    know(mine) {
      if (touched || !mine) return;
      const figures = { step: mine.step, pass: passTime(mine, 1), row: (passTime(mine, 9) - passTime(mine, 1)) / 8 };
      for (const [name, value] of Object.entries(figures)) fields[name].value = number(value, value < 10 ? 2 : 1);
    },
    tell(text) { told.textContent = text; },
  };
}

function groups(words) {
  return ["measured", "published"].map((source) => group(words.sources[source],
    SHIPPED.filter((one) => one.source === source).map((one) => new Option(pairOf(one) || one.name, one.name)))).filter(({ children }) => children.length);
}

function group(label, options) {
  const node = make("optgroup", "", ...options);
  node.label = label;
  return node;
}

function amount() {
  const field = make("input");
  Object.assign(field, { type: "number", min: "0", step: "any", inputMode: "decimal" });
  return field;
}

const pairOf = ({ target, draft }) => [target, draft].filter(Boolean).join(" / ");

// What a reader must know of whose costs these are, as nodes.
function aboutProfile(profile, words) {
  const { source, unit, step, passes, forms, device, date, citation, url } = profile;
  const parts = [pairOf(profile), ...Object.values(forms), device, date.slice(0, 10)].filter(Boolean).join(", ");
  const figures = unit === "pass" ? say(words.ratio, { ratio: number(step / passTime(profile, 1)) })
    : say(words.figures, { step: number(step, 1), pass: number(passTime(profile, 1), 1) });
  return [[words.sources[source], parts].filter(Boolean).join(": "), ". ", figures, passes.length === 1 ? " " + words.flat : "", ...(citation ? [" ", linked(citation, url)] : [])];
}

function linked(text, url) {
  if (!/^https:\/\//.test(url)) return text;
  const node = make("a", "", text);
  Object.assign(node, { href: url, target: "_blank", rel: "noopener noreferrer" });
  return node;
}

async function profileIn(file) {
  if (file.size > IMPORT_LIMIT) return null;
  try {
    return readProfile(JSON.parse(await file.text()));
  } catch {
    return null;
  }
}
