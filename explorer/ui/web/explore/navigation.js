// Where the view is: from place to place and from round to round, by hand or by itself.

import { highlight, sought, tokenAt, tokenIndex } from "./state.js";

const PLAY_STEP = 900; // ms

// view: as in view.js. onMove(): after something was pinned, so that the address follows.
export function makeNavigation(view, onMove) {
  const { state } = view;
  const player = makePlayer(view, (index) => step(index, false));

  function step(index, tell) {
    const { rounds } = state.run;
    if (!rounds.length) return;
    const round = rounds[Math.max(0, Math.min(rounds.length - 1, index))];
    unpin();
    go({ round: round.index, position: highlight(state, round) }, tell);
  }

  function go(place, tell) {
    const { strip, lanes, status } = view.parts;
    Object.assign(state, { at: place, hovered: null, follow: false });
    strip.bring(state.run.rounds[place.round].first);
    view.drawing.redraw();
    lanes.reveal();
    if (tell) status.speak(lanes.root.querySelector(".round-line").textContent);
  }

  function look(place) {
    if (state.pinned) return;
    player.stop();
    go(place, false);
  }

  function hover(index) {
    state.hovered = index === null ? null : tokenAt(state, index);
    if (!state.pinned && state.run.head) view.drawing.drawCard();
  }

  function unpin() {
    state.pinned = false;
    view.parts.strip.select(null);
  }

  // Let go of what is pinned; back: the focus returns to it.
  function release(back) {
    const index = state.at && tokenIndex(state, state.at);
    unpin();
    if (state.at) view.drawing.redraw();
    if (back && index !== null) view.parts.strip.focus(index);
  }

  // place null lets go; the same place again lets go too.
  function pin(place, back = false) {
    const { at, pinned } = state, { strip, card } = view.parts;
    if (place === null || (pinned && place.round === at.round && place.position === at.position)) return release(back);
    state.pinned = false;
    look(place);
    state.pinned = true;
    const index = tokenIndex(state, place);
    strip.select(index);
    view.drawing.drawCard();
    onMove();
    if (index !== null) strip.reveal(index, card.root);
  }

  function seek(kind, direction) {
    const places = sought(state, kind);
    if (!places.length || !state.at) return;
    player.stop();
    unpin();
    const order = (place) => place.round * 1000 + place.position, now = order(state.at);
    const next = direction > 0 ? places.find((place) => order(place) > now) ?? places[0]
      : places.findLast((place) => order(place) < now) ?? places[places.length - 1];
    go(next, true);
  }

  return { step, go, look, hover, unpin, pin, seek, player };
}

// Plays a run round by round. show(index): bring a round on show.
function makePlayer({ state, parts }, show) {
  let playing = 0;

  function next(index) {
    show(index);
    parts.strip.dimAfter(state.at.round);
  }

  function toggle() {
    if (playing) return stop();
    const last = state.run.rounds.length - 1;
    if (last < 0) return;
    if (state.at.round === last) show(0);
    parts.scrubber.setPlaying(true);
    parts.strip.dimAfter(state.at.round);
    playing = setInterval(() => {
      next(state.at.round + 1);
      if (state.at.round === state.run.rounds.length - 1) stop();
    }, PLAY_STEP);
  }

  function stop() {
    if (!playing) return;
    clearInterval(playing);
    playing = 0;
    parts.strip.dimAfter(null);
    parts.scrubber.setPlaying(false);
  }

  return { toggle, stop };
}

// The keys of the view: brackets walk, letters search, p plays.
export function listenToKeys(root, { state, navigation }) {
  const { step, seek, player } = navigation;
  const walk = (by) => { player.stop(); step(state.at.round + by, true); };
  const KEYS = {
    "[": () => walk(-1), "]": () => walk(1), p: player.toggle,
    n: () => seek("disagreement", 1), N: () => seek("disagreement", -1), d: () => seek("deferred", 1), D: () => seek("deferred", -1),
    r: () => seek("refused", 1), R: () => seek("refused", -1),
  };
  root.addEventListener("keydown", (event) => {
    if (!state.at || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
}
