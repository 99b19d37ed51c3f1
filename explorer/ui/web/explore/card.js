// The card: everything the record holds about one position of a round, and the reason for its verdict in one sentence.

import { fill, make, say } from "../core/dom.js";
import { quote } from "../core/glyphs.js";
import { percent, short } from "../core/numbers.js";
import { ENTROPY_MAXIMUM, EVIDENCE, KNOBS, RULES } from "../given/constants.js";
import { TEXT } from "../given/texts.js";
import { following, isLoosened } from "../twins/verdicts.js";
import { committedAt, kindAt, nextMismatch } from "../twins/wire.js";
import { badge } from "./kinds.js";

export function makeCard(onUnpin) {
  const root = make("aside", "card");
  root.setAttribute("aria-label", TEXT.card.title);

  function clear() {
    root.classList.remove("pinned", "filled");
    root.replaceChildren(make("p", "empty", TEXT.card.empty));
  }

  // at: {run, round, position, judgement (under the settings in force), settings, kinds}.
  function show(at, pinned) {
    const { run, round, position, judgement } = at;
    const kind = kindAt(judgement, position), recorded = kindAt(round.judgement, position);
    const close = make("button", "unpin", "×");
    close.type = "button";
    close.title = TEXT.unpin;
    close.setAttribute("aria-label", TEXT.unpin);
    close.addEventListener("click", onUnpin);
    const token = judgement === round.judgement || kind === recorded ? run.tokens[round.first + position] : null;
    const emitted = token?.round === round && token.position === position ? token : null;
    const piece = run.pieces[position <= judgement.accepted ? committedAt(round, position, judgement) : round.drafted[position]];
    root.classList.toggle("pinned", pinned);
    root.classList.add("filled");
    root.replaceChildren(
      make("header", "card-head",
        badge(kind, at.kinds),
        make("span", "where", say(position === round.size ? TEXT.card.where_own : TEXT.card.where,
          { round: round.index + 1, position: position + 1, size: round.size })),
        pinned ? close : null),
      make("p", "face", quote(emitted?.text || piece.text),
        ...(emitted?.hex ? [make("small", "", say(TEXT.card.bytes, { hex: emitted.hex }))] : []),
        ...(piece.stop ? [make("small", "", TEXT.card.stop)] : [])),
      ...(kind === recorded ? [] : [make("p", "rejudged", ...fill(TEXT.card.rejudged, { kind: badge(recorded, at.kinds) }))]),
      make("p", "reason", ...reason(at)),
      chances(at, kind),
      make("h4", "", TEXT.card.entropy),
      gauge("normalized", at),
      gauge("top3", at),
      make("h4", "", TEXT.card.alternatives),
      alternatives(at, kind),
    );
  }

  clear();
  return { root, clear, show };
}

function reason({ run, round, position, judgement, settings }) {
  const sentences = TEXT.reasons;
  const text = (token) => quote(run.pieces[token].text);
  const own = position === round.size;
  const values = {
    h: own ? "" : short(round.entropy[settings.entropy][position]),
    theta: short(settings.theta), n: following(settings), w: settings.window, k: round.size,
    choice: text(round.replacement[position]), draft: own ? "" : text(round.drafted[position]),
    m: nextMismatch(round, position) ?? "", cut: (judgement.cut ?? 0) + 1,
    ...(own ? {} : evidenceAt(round, position, settings)),
  };
  const verdict = own ? "bonus" : judgement.verdicts[position];
  const key = {
    exact: () => (settings.temperature > 0 ? "exact_sampled" : "exact"),
    deferred: () => (values.n ? "deferred" : "deferred_alone"),
    bonus: () => (settings.rule === "autoregressive" ? "alone" : round.size ? "bonus" : round.ahead.length ? "bonus_ahead" : "bonus_no_room"),
  }[verdict]?.() ?? verdict;
  return fill(sentences[key][settings.rule] ?? sentences[key], values); // what another rule than FLy decides has a sentence for each
}

// The figures behind a verdict of another rule than FLy, as texts by placeholder: what it reads, and its knobs.
function evidenceAt({ evidence }, position, settings) {
  const form = (name) => (["prob", "top_prob", "kl_confidence"].includes(name) ? percent : short);
  const shown = (value, as) => (value === null ? "–" : as(value));
  const figures = EVIDENCE.map((name) => [name, shown(evidence[name][position], form(name))]);
  const knobs = (RULES[settings.rule]?.knobs ?? []).map((name) => [name, KNOBS[name].kind === "float" ? form(name)(settings[name]) : settings[name]]);
  const floor = (certainty) => percent(Math.min(settings.typical_epsilon, settings.typical_delta * certainty));
  return {
    ...Object.fromEntries([...figures, ...knobs]),
    rank: evidence.rank[position] ?? "> 8", floor: shown(evidence.certainty[position], floor),
  };
}

function chances({ run, round, position }, kind) {
  const list = make("dl", "chances");
  const row = (name, value, tone) => {
    if (value === undefined || value === null) return;
    list.append(make("dt", "", name), make("dd", "", meter(value, tone), make("span", "figure", percent(value))));
  };
  const drafted = position < round.size;
  const source = drafted && TEXT.card.sources[round.sources[position]];
  if (kind === "correction") {
    row(TEXT.card.target_gave, round.replacementProbs[position], "target");
    list.append(make("dt", "refused", TEXT.card.refused + " ", quote(run.pieces[round.drafted[position]].text)));
  }
  if (source) list.append(make("dt", "source", source));
  if (drafted) {
    row(TEXT.card.draft_gave, round.draftProbs[position], "draft");
    row(TEXT.card.target_gave, round.draftedProbs[position], "target");
  } else row(TEXT.card.target_gave, round.replacementProbs[position], "target");
  return list;
}

function meter(share, tone) {
  const fillBar = make("span", `meter-fill ${tone}`);
  fillBar.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
  const bar = make("span", "meter", fillBar);
  bar.setAttribute("aria-hidden", "true");
  return bar;
}

const isNever = (settings) => settings.theta > ENTROPY_MAXIMUM[settings.entropy];

// One entropy against theta. Only the measure in use has a theta; the other is shown without.
function gauge(measure, { round, position, settings }) {
  const value = round.entropy[measure][position];
  const used = settings.rule === "fly" && settings.entropy === measure && position < round.size;
  const top = ENTROPY_MAXIMUM[measure];
  const track = make("span", "gauge-track", make("span", "gauge-fill"));
  track.firstChild.style.width = (Math.min(value, top) / top) * 100 + "%";
  track.setAttribute("aria-hidden", "true");
  const above = used && value >= settings.theta, never = isNever(settings);
  if (used && !never) {
    const tick = make("span", "gauge-theta");
    tick.style.left = (settings.theta / top) * 100 + "%";
    track.append(tick);
  }
  const note = position >= round.size && settings.rule === "fly" ? TEXT.card.undecided : !used ? TEXT.card.unused
    : say(never ? TEXT.card.theta_never : TEXT.card.theta, { theta: short(settings.theta) }) +
      (never ? "" : ": " + (above ? TEXT.card.would_defer : TEXT.card.would_refuse));
  return make("div", "gauge" + (used ? (above ? " used above" : " used") : ""),
    make("span", "gauge-name", TEXT.card[measure]), make("span", "figure", short(value)), track, make("small", "", note));
}

function alternatives({ run, round, position }, kind) {
  const roles = TEXT.card.roles;
  const drafted = position < round.size ? round.drafted[position] : null, choice = round.replacement[position];
  const kept = kind === "exact" || isLoosened(kind);
  const roleOf = (token) =>
    token === drafted ? (token === choice ? roles.both : kept ? roles.kept : kind === "discarded" ? roles.draft : roles.refused)
      : token === choice ? roles.choice : "";
  const rows = [...round.top[position]];
  // What was drafted or chosen here may be too unlikely for the list: it follows at the end.
  const add = (token, prob) => {
    if (token !== null && !rows.some((row) => row.token === token)) rows.push({ token, prob });
  };
  add(choice, round.replacementProbs[position]);
  add(drafted, round.draftedProbs[position]);
  const committed = kept ? drafted : kind === "discarded" ? null : choice;
  const body = make("tbody", "", ...rows.map(({ token, prob }) => {
    const role = roleOf(token);
    const cell = make("th", "", quote(run.pieces[token].text), role ? make("small", "role", role) : null);
    cell.scope = "row";
    return make("tr", token === committed ? `is-chosen ${kind}` : "",
      cell, make("td", "", meter(prob, "target")), make("td", "figure", percent(prob)));
  }));
  return make("table", "alternatives", body);
}
