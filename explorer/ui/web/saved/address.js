// The address bar: kept true to what is on show, and followed when it changes.

import { readLink, writeLink, writeStep } from "./fragment.js";

const ADDRESS_REST = 300; // ms without a change before the address is written: browsers allow a few writes a second
const HUB = "https://huggingface.co"; // a Space's page frames the app and takes its fragment from such a message only

// state(): what a link should hold, as writeLink takes it, or null; step(): the step of the lesson from 0, or null outside it;
// names: {runs, pairs, offers}; onLink(found): go where readLink says, or with null where the address asks for nothing any more;
// busy(): whether a run is going on, which nothing else may push aside; refuse(as readLink says it), accept(): what to say of what was asked for.
export function makeAddress({ state, step, names, onLink, busy, refuse, accept }) {
  const known = { runs: names.runs ?? [], pairs: names.pairs ?? [], offers: names.offers };
  let written = null, timer = 0;

  function fragment() {
    if (step() !== null) return writeStep(step());
    const now = state();
    return now && writeLink(now);
  }

  // visited: a place of its own, to which the browser's back button returns.
  function note(visited = false) {
    clearTimeout(timer);
    if (visited) write(true);
    else timer = setTimeout(write, ADDRESS_REST, false);
  }

  function write(visited) {
    const text = fragment();
    if (text === null || text === written) return;
    written = text;
    history[visited ? "pushState" : "replaceState"](history.state, "", location.pathname + location.search + "#" + text); // the page may have a base of its own
    if (window.parent !== window && (location.ancestorOrigins?.[0] ?? HUB) === HUB) window.parent.postMessage({ hash: "#" + text }, HUB);
  }

  // The state that the address asks for; null where it asks for none, or for one that makes no sense.
  function follow() {
    const text = location.hash.slice(1);
    if (text === written) return null;
    written = text; // what stands there now, whether it can be followed or not
    const found = readLink(text, known);
    if (!found) return null;
    if (found.refused || (busy() && found.step === undefined)) { refuse(found.refused ? found : { refused: "busy" }); return null; }
    accept();
    return found;
  }

  addEventListener("hashchange", () => {
    const found = follow();
    if (found || (step() !== null && !location.hash)) onLink(found);
  });

  // Without the query: in a Space it may hold a visitor's own token.
  function url() {
    const text = fragment();
    return location.protocol + "//" + location.host + location.pathname + (text === null ? "" : "#" + text);
  }

  return { note, follow, url };
}
