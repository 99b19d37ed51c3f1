// Share and keep: the link in the address bar, files made from the run on show, and a run from a visitor's own file.

import { button, make, say } from "../core/dom.js";
import { STYLES } from "../given/alone.js";
import { IMPORT_LIMIT } from "../given/constants.js";
import { LANGUAGE, TEXT } from "../given/texts.js";
import { csvOfRounds, pageOf } from "../twins/exports.js";
import { readLink, writeLink, writeStep } from "./fragment.js";
import { pictureOf, pngOf } from "./picture.js";

const ADDRESS_REST = 300; // ms without a change before the address is written: browsers allow a few writes a second
const HUB = "https://huggingface.co"; // a Space's page frames the app and takes its fragment from such a message only

// state(): what a link should hold, as writeLink takes it, or null; step(): the step of the lesson from 0, or null outside it;
// onLink(found): go where readLink says, or with null where the address asks for nothing any more; parts: {name: () => {node, title,
// caption}}; runNow(): the run on show; busy(): whether one is going on, which nothing else may push aside; names: {runs, pairs};
// alone: no server behind the page; record: of such a page, the text of the whole trace; ask(name, data): an
// event for the page; runText(): the growing text on show; script(): the text of the function that holds all these modules.
export function makeShare({ state, step, onLink, parts, runNow, busy, names, alone, record, runText, script, ask }) {
  const words = TEXT.share;
  let written = null, timer = 0, imported = null, importing = null;

  // The address ------------------------------------------------------------------------------------------------------
  const known = { runs: names.runs ?? [], pairs: names.pairs ?? [] };
  const fragment = () => {
    if (step() !== null) return writeStep(step());
    const now = state();
    return now && writeLink(now);
  };

  // visited: a place of its own, to which the browser's back button returns.
  function note(visited = false) {
    clearTimeout(timer);
    const write = () => {
      const text = fragment();
      if (text === null || text === written) return;
      written = text;
      history[visited ? "pushState" : "replaceState"](history.state, "", location.pathname + location.search + "#" + text); // the page may have a base of its own
      if (window.parent !== window && (location.ancestorOrigins?.[0] ?? HUB) === HUB) window.parent.postMessage({ hash: "#" + text }, HUB);
    };
    if (visited) write();
    else timer = setTimeout(write, ADDRESS_REST);
  }

  // The state that the address asks for; null where it asks for none, or for one that makes no sense.
  function follow() {
    const text = location.hash.slice(1);
    if (text === written) return null;
    written = text; // what stands there now, whether it can be followed or not
    const found = readLink(text, known);
    if (!found) return null;
    if (found.refused || (busy() && found.step === undefined)) { refuse(found.refused ?? "busy"); return null; }
    say_("");
    return found;
  }
  const refuse = (field) => say_(say(words.refused[field] ?? words.refused.knob, { name: TEXT.compare.knobs[field] ?? field }), true);
  addEventListener("hashchange", () => {
    const found = follow();
    if (found || (step() !== null && !location.hash)) onLink(found);
  });

  // Without the query: in a Space it may hold a visitor's own token.
  const address = () => {
    const text = fragment();
    return location.protocol + "//" + location.host + location.pathname + (text === null ? "" : "#" + text);
  };

  async function copy() {
    const text = address(), { head } = runNow();
    const what = !head || (head.recorded && !head.imported) ? words.copied : words.copied_settings;
    try {
      await navigator.clipboard.writeText(text);
      say_(what);
    } catch { // not a secure page, or not allowed in this frame
      field.value = text;
      field.hidden = false;
      field.select();
      say_(words.copy_by_hand);
    }
  }

  // Files ------------------------------------------------------------------------------------------------------------
  const stem = () => {
    const { head } = runNow();
    return (head.recorded && !head.imported ? head.run.replace(/^recorded /, "") : `run-${head.pair}`).replace(/[^\w.-]+/g, "-").slice(0, 60);
  };

  function save(name, type, content) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = make("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    menu.open = false;
    menu.querySelector("summary").focus();
    say_(say(words.saved, { name }));
  }

  const carried = alone && record !== "null" ? record : null; // what this page carries itself
  const saveTrace = () => {
    if (carried ?? imported) save(`${stem()}.json`, "application/json", carried ?? imported);
    else { ask("keep"); menu.open = false; }
  };
  const saveRounds = () => save(`${stem()}.csv`, "text/csv", "\ufeff" + csvOfRounds(runNow()));
  // The page carries the whole record too: the server's file of it, whose address the app's own controls know.
  const savePage = () => { if (imported === null) ask("whole"); else writePage(imported); };
  async function fetchPage(url) {
    const answer = url ? await fetch(url).catch(() => null) : null;
    writePage(answer?.ok ? await answer.text() : "null");
  }
  const writePage = (record) => {
    const { head } = runNow();
    const prompt = [...head.prompt.split(/\s+/).filter(Boolean).join(" ")].slice(0, 80).join("");
    save(`${stem()}.html`, "text/html", pageOf({
      language: LANGUAGE, title: `${prompt} · ${words.page_title}`, styles: STYLES, script: script(), run: runText(), record,
      nonce: [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
    }));
  };
  async function savePicture(name, kind) {
    const { node, title, caption } = parts[name]();
    const picture = pictureOf(node, title, caption);
    if (kind === "svg") save(`${stem()}-${name}.svg`, "image/svg+xml", picture.text);
    else save(`${stem()}-${name}.png`, "image/png", await pngOf(picture));
  }

  // A visitor's own file ---------------------------------------------------------------------------------------------
  async function open() {
    const [file] = chooser.files;
    chooser.value = "";
    if (!file) return;
    if (file.size > IMPORT_LIMIT) return say_(say(words.too_large, { name: file.name, size: megabytes(file.size), limit: megabytes(IMPORT_LIMIT) }), true);
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      return say_(say(words.not_text, { name: file.name }), true);
    }
    importing = text;
    say_(say(words.opening, { name: file.name }));
    ask("opened", { text, name: file.name });
  }
  const megabytes = (bytes) => (bytes / 2 ** 20).toFixed(1);

  // The bar ----------------------------------------------------------------------------------------------------------
  const chooser = make("input");
  chooser.type = "file";
  chooser.accept = ".json,application/json";
  chooser.hidden = true;
  chooser.addEventListener("change", open);
  const field = make("input", "share-link");
  field.readOnly = true;
  field.hidden = true;
  field.setAttribute("aria-label", words.link);
  const message = make("p", "share-message");
  message.setAttribute("role", "status");
  message.hidden = true;
  function say_(text, wrong = false) {
    message.textContent = text;
    message.hidden = !text;
    message.classList.toggle("wrong", wrong);
  }

  const named = (label, name, onClick) => {
    const node = button("", label, onClick);
    node.setAttribute("aria-label", name);
    return node;
  };
  const row = (name, ...buttons) => make("div", "save-row", make("span", "save-name", name), ...buttons);
  const whole = (name, ...buttons) => { const node = row(name, ...buttons); node.classList.add("whole"); return node; };
  const pictures = Object.keys(parts).map((name) => row(words.parts[name],
    ...["svg", "png"].map((kind) => named(kind.toUpperCase(), `${words.parts[name]}, ${kind.toUpperCase()}`, () => savePicture(name, kind)))));
  const menu = make("details", "save", make("summary", "", words.save), make("div", "save-panel",
    ...(alone && carried === null ? [] : [whole(words.trace, named("JSON", `${words.trace}, JSON`, saveTrace))]),
    whole(words.rounds, named("CSV", `${words.rounds}, CSV`, saveRounds)),
    ...(alone ? [] : [whole(words.page, named("HTML", `${words.page}, HTML`, savePage))]),
    ...pictures));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  document.addEventListener("explorer-refused", () => { importing = null; say_(""); });
  menu.hidden = true;
  menu.addEventListener("toggle", () => {
    for (const one of menu.querySelectorAll(".whole button")) one.disabled = !runNow().end;
    pictures.forEach((part, index) => { for (const one of part.querySelectorAll("button")) one.disabled = parts[Object.keys(parts)[index]]().node.hidden; });
  });
  const root = make("div", "share", make("div", "share-bar", button("", words.copy, copy), menu,
    ...(alone ? [] : [button("", words.open, () => (busy() ? refuse("busy") : chooser.click())), chooser])), field, message);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", words.title);

  return {
    root, note, follow, refuse, fetchPage,
    imported: () => imported, // the text of a visitor's own record, while it is on show
    // A run begins: is it the file that was just opened?
    begun(head) {
      imported = head.imported ? importing : null;
      importing = null;
      field.hidden = true;
      menu.hidden = false;
      say_(head.imported ? words.imported : "");
    },
  };
}
