// The text of the strip as it grows.
//
// Each line of the text (up to a line break the model wrote) is a block of its own. The browser lays out a block as a
// whole, so a growing text costs only its last line, and lines off the screen cost nothing.

import { make } from "../core/dom.js";
import { glyphs, visible } from "../core/glyphs.js";
import { tokenNodes } from "../core/token.js";
import { TEXT } from "../given/texts.js";
import { kindAt } from "../twins/wire.js";

export function makeStripText(root) {
  const spans = []; // by token
  const groups = []; // by round: its groups, one for each line it touches
  let line = null; // the block that grows

  function clear() {
    spans.length = groups.length = 0;
    line = null;
  }

  function openLine() {
    line = make("div", "line");
    line.setAttribute("role", "presentation");
    root.append(line);
  }

  function openGroup(index, continued) {
    if (!line) openLine();
    const group = make("span", continued ? "round continued" : "round");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", `${TEXT.rounds.round} ${index + 1}`);
    (groups[index] ??= []).push(group);
    line.append(group);
    return group;
  }

  function addRound(run, round, kinds) {
    let group = openGroup(round.index, false);
    for (const token of run.tokens.slice(round.first)) {
      const kind = kindAt(round.judgement, token.position);
      if (!line) group = openGroup(round.index, true);
      const [space, span] = tokenNodes(token, kind, kinds[kind]);
      if (kind === "correction") span.dataset.refused = visible(run.pieces[round.drafted[token.position]].text).trimStart() || "␣";
      describe(span, spans.length, `${visible(token.text || token.stop || token.hex || "")}, ${kinds[kind].name}`);
      spans.push(span);
      group.append(space, span);
      if (token.text.endsWith("\n")) line = null;
    }
  }

  // Bytes at the end of a text that never became a character.
  function addTail(text) {
    if (!line) openLine();
    line.append(make("span", "tail", ...glyphs(text)));
  }

  return { spans, groups, clear, addRound, addTail };
}

function describe(span, index, label) {
  span.dataset.i = index;
  span.tabIndex = -1;
  span.setAttribute("role", "option");
  span.setAttribute("aria-selected", "false");
  span.setAttribute("aria-label", label);
}
