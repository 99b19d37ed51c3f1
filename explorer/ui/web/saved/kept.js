// What a page that is loaded anew would lose, because a server that was restarted knows nothing of it: the prompt, and the last run of one's
// own. Both stay in the storage of this tab, and go with it.

import { KEPT_PROMPT } from "../given/constants.js";

const RECORD = "explorer-record";

// open(text): show a record; ask(name): an event for the page.
export function makeKept({ open, ask }) {
  const before = read(RECORD); // of the page before it was loaded anew
  let restoring = false, opening = true; // whether a record is on its way; whether the page's own first run is still to come

  document.addEventListener("input", ({ target }) => { if (target.closest?.("#prompt")) write(KEPT_PROMPT, target.value); });

  return {
    // Bring the last run back.
    restore() {
      if (before === null) return;
      restoring = true;
      open(before);
    },
    restoring: () => restoring,
    // A run begins: one that was brought back changes nothing of what is kept.
    begun({ recorded, imported, prompt }) {
      const kept = restoring && imported, first = opening && recorded && !imported;
      opening = false;
      if (imported) restoring = false;
      if (kept || first) return;
      write(KEPT_PROMPT, recorded && !imported ? null : prompt);
      if (!recorded) write(RECORD, null);
    },
    // A run of one's own is through: its record is the server's file.
    ended: () => ask("store"),
    async store(url) {
      const answer = url ? await fetch(url).catch(() => null) : null;
      write(RECORD, answer?.ok ? await answer.text() : null);
    },
  };
}

function read(name) {
  try { return sessionStorage.getItem(name); } catch { return null; } // a frame without storage
}

// null forgets it; so does a text that is too large for the storage.
function write(name, text) {
  try {
    sessionStorage.removeItem(name);
    if (text !== null) sessionStorage.setItem(name, text);
  } catch { /* full, or a frame without storage */ }
}
