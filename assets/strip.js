// The strip: the text in reading order, one span per token, one group per round; roving focus.
//
// Each line of the text (up to a line break the model wrote) is a block of its own. The browser lays out a block as a
// whole, so a growing text costs only its last line, and lines off the screen cost nothing.

function makeStrip(onLook, onPin) {
  const root = make("div", "strip");
  root.setAttribute("role", "listbox");
  root.setAttribute("aria-label", TEXT.strip);
  const spans = [];
  let stop = null; // the one token in the tab order
  let picked = null;
  let line = null; // the block that grows

  function clear() {
    spans.length = 0;
    stop = picked = line = null;
    root.replaceChildren(make("p", "empty", TEXT.empty));
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
    line.append(group);
    return group;
  }

  function addRound(round, index, kinds) {
    if (!spans.length) root.replaceChildren();
    let group = openGroup(index, false);
    round.tokens.forEach((token) => {
      if (!line) group = openGroup(index, true);
      // A leading space stands before its token, so that washes and underlines end with the words, also at a line's end.
      const space = token.t.length > 1 && token.t.startsWith(" ") ? " " : "";
      const span = make("span", `tok ${token.v}`, ...glyphs(token.t.slice(space.length)));
      if (token.o !== undefined) { span.classList.add("end"); span.dataset.label = visible(token.o); }
      else if (!token.t) { span.classList.add("part"); span.dataset.label = token.x || "∅"; }
      if (token.d) span.dataset.refused = visible(token.d.t).trimStart() || "␣";
      if (token.v !== "exact") span.dataset.mark = kinds[token.v].mark;
      if (token.t.endsWith("\n")) span.classList.add("breaks");
      span.dataset.i = spans.length;
      span.tabIndex = -1;
      span.setAttribute("role", "option");
      span.setAttribute("aria-selected", "false");
      span.setAttribute("aria-label", `${visible(token.t || token.o || token.x || "")}, ${kinds[token.v].name}`);
      spans.push(span);
      group.append(space, span);
      if (token.t.endsWith("\n")) line = null;
    });
    if (!stop) { stop = spans[0]; stop.tabIndex = 0; }
  }

  // Bytes at the end of a text that never became a character.
  function addTail(text) {
    if (!line) openLine();
    line.append(make("span", "tail", ...glyphs(text)));
  }

  function focus(index) {
    const span = spans[Math.max(0, Math.min(spans.length - 1, index))];
    if (!span) return;
    rove(span);
    span.focus();
  }

  function rove(span) {
    if (stop) stop.tabIndex = -1;
    stop = span;
    stop.tabIndex = 0;
  }

  function select(index) {
    if (picked) picked.setAttribute("aria-selected", "false");
    picked = index === null ? null : spans[index];
    if (picked) { picked.setAttribute("aria-selected", "true"); rove(picked); }
  }

  // Where the card lies over the page (a phone), bring the token out from under it.
  function reveal(index, card) {
    if (getComputedStyle(card).position === "fixed") spans[index].scrollIntoView({ block: "nearest" });
  }

  const tokenOf = (event) => event.target.closest?.(".tok");
  root.addEventListener("pointerover", (event) => {
    const span = tokenOf(event);
    if (span && event.pointerType !== "touch") onLook(+span.dataset.i);
  });
  root.addEventListener("focusin", (event) => { const span = tokenOf(event); if (span) onLook(+span.dataset.i); });
  root.addEventListener("click", (event) => { const span = tokenOf(event); if (span) onPin(+span.dataset.i); });
  root.addEventListener("keydown", (event) => {
    const span = tokenOf(event);
    if (!span || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = +span.dataset.i;
    const lineAway = (direction) => {
      // The nearest token one line up or down, by its place on the screen.
      const from = span.getBoundingClientRect();
      for (let i = at + direction, best = null; ; i += direction) {
        const box = spans[i]?.getBoundingClientRect();
        if (!box) return best ?? at;
        if (Math.abs(box.top - from.top) < from.height / 2) continue;
        if (best !== null && Math.abs(box.top - spans[best].getBoundingClientRect().top) > box.height / 2) return best;
        const distance = (n) => Math.abs(spans[n].getBoundingClientRect().left - from.left);
        if (best === null || distance(i) <= distance(best)) best = i;
      }
    };
    const moves = {
      ArrowRight: () => at + 1, ArrowLeft: () => at - 1,
      ArrowDown: () => lineAway(1), ArrowUp: () => lineAway(-1),
      Home: () => 0, End: () => spans.length - 1,
    };
    if (moves[event.key]) focus(moves[event.key]());
    else if (event.key === "Enter" || event.key === " ") onPin(at);
    else if (event.key === "Escape") onPin(null);
    else return;
    event.preventDefault();
  });

  clear();
  return { root, clear, addRound, addTail, focus, select, reveal };
}
