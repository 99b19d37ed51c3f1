// Share and keep: the link in the address bar, files made from the run on show, and a run from a visitor's own file.

import { button, make, say } from "../core/dom.js";
import { TEXT } from "../given/texts.js";
import { makeAddress } from "./address.js";
import { makeFiles } from "./files.js";
import { makeOwnFile } from "./own_file.js";
import { makeSaveMenu } from "./save_menu.js";

// state, step, onLink: as of makeAddress(); parts, runNow, runText, script: as of makeFiles(); busy(): whether a run is going on;
// names: {runs, pairs, offers}; alone: no server behind the page; record: of such a page, the text of the whole trace; ask(name, data):
// an event for the page.
export function makeShare({ state, step, onLink, parts, runNow, busy, names, alone, record, runText, script, ask }) {
  const words = TEXT.share, message = makeMessage(), field = makeLinkField();
  const own = makeOwnFile({ ask, tell: message.tell });
  const carried = alone && record !== "null" ? record : null; // what this page carries itself
  const refuse = (name) => refuseLink({ refused: name });
  function refuseLink({ refused: name, code, settings }) { // as readLink says it
    const reason = code && say(TEXT.conflicts[code], settings);
    message.tell(say(words.refused[name] ?? words.refused.knob, { name: TEXT.compare.knobs[name] ?? name, reason }), true);
  }
  const address = makeAddress({ state, step, names, onLink, busy, refuse: refuseLink, accept: () => message.tell("") });
  const files = makeFiles({
    runNow, runText, script, parts, ask, carried: () => carried ?? own.text(),
    onSaved(name) { menu.close(); message.tell(say(words.saved, { name })); },
  });
  const without = alone ? ["page", ...(carried === null ? ["trace"] : [])] : [];
  const menu = makeSaveMenu({ files, parts, ended: () => Boolean(runNow().end), without });

  async function copy() {
    const text = address.url(), { head } = runNow();
    try {
      await navigator.clipboard.writeText(text);
      message.tell(!head || (head.recorded && !head.imported) ? words.copied : words.copied_settings);
    } catch { // not a secure page, or not allowed in this frame
      field.value = text;
      field.hidden = false;
      field.select();
      message.tell(words.copy_by_hand);
    }
  }

  const open = button("", words.open, () => (busy() ? refuse("busy") : own.chooser.click()));
  const root = make("div", "share", make("div", "share-bar", button("", words.copy, copy), menu.root, ...(alone ? [] : [open, own.chooser])),
    field, message.root);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", words.title);

  return {
    root, refuse, note: address.note, follow: address.follow, fetchPage: files.fetchPage,
    reopen: own.reopen,
    imported: own.text, // the text of a visitor's own record, while it is on show
    // brought: by the page itself, out of this tab's storage.
    begun(head, brought) {
      own.begun(head);
      field.hidden = true;
      menu.root.hidden = false;
      message.tell(brought ? words.brought : head.imported ? words.imported : "");
    },
  };
}

function makeMessage() {
  const root = make("p", "share-message");
  root.setAttribute("role", "status");
  root.hidden = true;
  function tell(text, wrong = false) {
    root.textContent = text;
    root.hidden = !text;
    root.classList.toggle("wrong", wrong);
  }
  return { root, tell };
}

// Where the link stands when it cannot be copied.
function makeLinkField() {
  const field = make("input", "share-link");
  field.readOnly = true;
  field.hidden = true;
  field.setAttribute("aria-label", TEXT.share.link);
  return field;
}
