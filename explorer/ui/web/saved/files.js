// Files made from the run on show, without asking the server where that can be.

import { make } from "../core/dom.js";
import { STYLES } from "../given/alone.js";
import { LANGUAGE, TEXT } from "../given/texts.js";
import { page, roundsCsv } from "../twins/exports.js";
import { pictureOf, pngOf } from "./picture.js";

const TITLE_LENGTH = 80; // characters of the prompt in the title of a page

// runNow(): the run on show; runText(): its growing text; script(): the text of the function that holds all these modules;
// carried(): the text of the whole record where this page has it; parts: {name: () => {node, title, caption}}; ask(name): an event
// for the page; onSaved(name).
export function makeFiles({ runNow, runText, script, carried, parts, ask, onSaved }) {
  function stem() {
    const { head } = runNow();
    const name = head.recorded && !head.imported ? head.run.replace(/^recorded /, "") : `run-${head.pair}`;
    return name.replace(/[^\w.-]+/g, "-").slice(0, 60);
  }

  function save(ending, type, content) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = make("a");
    link.href = url;
    link.download = stem() + ending;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    onSaved(link.download);
  }

  // Returns whether the file is made here: else the server has been asked for it.
  function saveTrace() {
    const record = carried();
    if (record === null) ask("keep");
    else save(".json", "application/json", record);
    return record !== null;
  }

  const saveRounds = () => save(".csv", "text/csv", "\ufeff" + roundsCsv(runNow()));

  // The page carries the whole record too: the server's file of it, whose address the app's own controls know.
  function savePage() {
    const record = carried();
    if (record === null) ask("whole");
    else writePage(record);
  }

  async function fetchPage(url) {
    const answer = url ? await fetch(url).catch(() => null) : null;
    writePage(answer?.ok ? await answer.text() : "null");
  }

  function writePage(record) {
    const prompt = [...runNow().head.prompt.split(/\s+/).filter(Boolean).join(" ")].slice(0, TITLE_LENGTH).join("");
    save(".html", "text/html", page({
      language: LANGUAGE, title: `${prompt} · ${TEXT.share.page_title}`, styles: STYLES, script: script(), run: runText(), record,
      nonce: [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
    }));
  }

  async function savePicture(name, kind) {
    const { node, title, caption } = parts[name]();
    const picture = pictureOf(node, title, caption);
    if (kind === "svg") save(`-${name}.svg`, "image/svg+xml", picture.text);
    else save(`-${name}.png`, "image/png", await pngOf(picture));
  }

  return { saveTrace, saveRounds, savePage, fetchPage, savePicture };
}
