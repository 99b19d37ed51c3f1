// A run from a visitor's own file: read here, checked by the server, and remembered as it was while it is on show.

import { make, say } from "../core/dom.js";
import { IMPORT_LIMIT } from "../given/constants.js";
import { TEXT } from "../given/texts.js";

// ask(name, data): an event for the page; tell(text, wrong): what to say.
export function makeOwnFile({ ask, tell }) {
  const words = TEXT.share;
  let text = null, coming = null; // of the file on show, and of the one that was just opened

  async function open() {
    const [file] = chooser.files;
    chooser.value = "";
    if (!file) return;
    const { name, size } = file;
    if (size > IMPORT_LIMIT) return tell(say(words.too_large, { name, size: megabytes(size), limit: megabytes(IMPORT_LIMIT) }), true);
    try {
      coming = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      return tell(say(words.not_text, { name }), true);
    }
    tell(say(words.opening, { name }));
    ask("opened", { text: coming, name });
  }

  const chooser = make("input");
  chooser.type = "file";
  chooser.accept = ".json,application/json";
  chooser.hidden = true;
  chooser.addEventListener("change", open);
  document.addEventListener("explorer-refused", () => { coming = null; tell(""); });

  return {
    chooser,
    // The record of a run that was on show before, in place of a file.
    reopen(record) {
      coming = record;
      ask("opened", { text: record, name: "" });
    },
    text: () => text, // null while another run is on show
    // A run begins: is it the file that was just opened?
    begun(head) {
      text = head.imported ? coming : null;
      coming = null;
    },
  };
}

const megabytes = (bytes) => (bytes / 2 ** 20).toFixed(1);
