// The card: everything the record holds about one token, and the reason for its verdict in one sentence.

const MAXIMUM = { normalized: 1, top3: Math.log(3) };

function makeCard(onUnpin) {
  const root = make("aside", "card");
  root.setAttribute("aria-label", TEXT.card.title);

  function clear() {
    root.classList.remove("pinned", "filled");
    root.replaceChildren(make("p", "empty", TEXT.card.empty));
  }

  // token: an entry of a round line; place: {round, position, size} counted from 1; head: the run's settings.
  function show(token, place, round, head, kinds, pinned) {
    const kind = kinds[token.v];
    const close = make("button", "unpin", "×");
    close.type = "button";
    close.title = TEXT.unpin;
    close.setAttribute("aria-label", TEXT.unpin);
    close.addEventListener("click", onUnpin);
    const own = token.v === "correction" || token.v === "bonus";
    root.classList.toggle("pinned", pinned);
    root.classList.add("filled");
    root.replaceChildren(
      make("header", "card-head",
        make("span", `badge ${token.v}`, make("b", "", kind.mark), " " + kind.name),
        make("span", "where", say(own ? TEXT.card.where_own : TEXT.card.where, place)),
        pinned ? close : null),
      make("p", "face", quote(token.o ?? (token.t || "")), ...(token.x ? [make("small", "", say(TEXT.card.bytes, { hex: token.x }))] : []),
        ...(token.o !== undefined ? [make("small", "", TEXT.card.stop)] : [])),
      make("p", "reason", ...reason(token, round, head)),
      chances(token),
      make("h4", "", TEXT.card.entropy),
      gauge("normalized", token.n, head),
      gauge("top3", token.s, head),
      make("h4", "", TEXT.card.alternatives),
      alternatives(token),
    );
  }

  clear();
  return { root, clear, show };
}

function reason(token, round, head) {
  const sentences = TEXT.reasons;
  const following = head.includes ? Math.max(0, head.window - 1) : head.window;
  const values = {
    h: short(head.entropy === "normalized" ? token.n : token.s),
    theta: short(head.theta), n: following, w: head.window, k: round.k,
    choice: token.c === undefined ? "" : quote(token.c),
    draft: token.d ? quote(token.d.t) : "", m: token.d?.m ?? "",
  };
  const key = {
    exact: () => (head.temperature > 0 ? "exact_sampled" : "exact"),
    deferred: () => (following ? "deferred" : "deferred_alone"),
    correction: () => token.d.why,
    bonus: () => (head.rule === "autoregressive" ? "alone" : round.k ? "bonus" : "bonus_no_room"),
  }[token.v]();
  return fill(sentences[key], values);
}

function chances(token) {
  const list = make("dl", "chances");
  const row = (name, value, tone) => {
    if (value === undefined) return;
    list.append(make("dt", "", name), make("dd", "", meter(value, tone), make("span", "figure", percent(value))));
  };
  const source = (name) => { if (name) list.append(make("dt", "source", TEXT.card.sources[name] ?? name)); };
  source(token.f);
  row(TEXT.card.draft_gave, token.q, "draft");
  row(TEXT.card.target_gave, token.p, "target");
  if (token.d) {
    list.append(make("dt", "refused", TEXT.card.refused + " ", quote(token.d.t)));
    source(token.d.f);
    row(TEXT.card.draft_gave, token.d.q, "draft");
    row(TEXT.card.target_gave, token.d.p, "target");
  }
  return list;
}

function meter(share, tone) {
  const fillBar = make("span", `meter-fill ${tone}`);
  fillBar.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
  const bar = make("span", "meter", fillBar);
  bar.setAttribute("aria-hidden", "true");
  return bar;
}

// One entropy against theta. Only the measure of the run has a theta; the other is shown without.
function gauge(measure, value, head) {
  const used = head.rule === "fly" && head.entropy === measure;
  const top = MAXIMUM[measure];
  const track = make("span", "gauge-track", make("span", "gauge-fill"));
  track.firstChild.style.width = (Math.min(value, top) / top) * 100 + "%";
  track.setAttribute("aria-hidden", "true");
  const above = used && value >= head.theta;
  if (used && !head.never) {
    const tick = make("span", "gauge-theta");
    tick.style.left = (head.theta / top) * 100 + "%";
    track.append(tick);
  }
  const note = !used ? TEXT.card.unused
    : say(head.never ? TEXT.card.theta_never : TEXT.card.theta, { theta: short(head.theta) }) +
      (head.never ? "" : ": " + (above ? TEXT.card.would_defer : TEXT.card.would_refuse));
  return make("div", "gauge" + (used ? (above ? " used above" : " used") : ""),
    make("span", "gauge-name", TEXT.card[measure]), make("span", "figure", short(value)), track, make("small", "", note));
}

function alternatives(token) {
  const roles = TEXT.card.roles;
  const rows = [];
  for (let i = 0; i * 2 < token.a.length; i++) {
    const text = token.a[2 * i];
    const role = token.i === i ? roles[token.v] : token.d?.i === i ? roles.refused : token.c === text ? roles.choice : "";
    rows.push({ text, share: token.a[2 * i + 1], role, chosen: token.i === i });
  }
  // What stands here, or was refused here, may be too unlikely for the list: it follows at the end.
  if (token.i === undefined && token.p !== undefined) {
    rows.push({ text: token.t || token.o || "", share: token.p, role: roles[token.v], chosen: true });
  }
  if (token.d && token.d.i === undefined && token.d.p !== undefined) {
    rows.push({ text: token.d.t, share: token.d.p, role: roles.refused, chosen: false });
  }
  const body = make("tbody", "", ...rows.map(({ text, share, role, chosen }) => {
    const cell = make("th", "", quote(text), role ? make("small", "role", role) : null);
    cell.scope = "row";
    return make("tr", chosen ? `is-chosen ${token.v}` : "",
      cell, make("td", "", meter(share, "target")), make("td", "figure", percent(share)));
  }));
  return make("table", "alternatives", body);
}
