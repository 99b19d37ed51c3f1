// Why the two measures of entropy differ, as a picture.

import { svg, svgText } from "../core/svg.js";
import { TEXT } from "../given/texts.js";

// Both measures of a probability spread evenly over 1 to 1000 tokens: one rises for ever, the other turns.
export function flatCurves() {
  const W = 420, H = 130, V = 49152;
  const at = (n) => (Math.log(n) / Math.log(1000)) * (W - 60) + 30;
  const curve = (value) => Array.from({ length: 121 }, (_, i) => 1000 ** (i / 120)).map((n, i) => `${i ? "L" : "M"}${at(n).toFixed(1)} ${(H - 22 - value(n) * 90).toFixed(1)}`).join("");
  const top3 = (n) => (n < 3 ? Math.log(n) : (3 / n) * Math.log(n));
  const label = (x, y, text, name) => svgText(x, y, text, { class: name });
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "curves", role: "img", "aria-label": TEXT.gauges.why_axis },
    svg("path", { class: "axis", d: `M30 ${H - 22}H${W - 30}` }),
    svg("path", { class: "curve-top3", d: curve(top3) }), svg("path", { class: "curve-normalized", d: curve((n) => Math.log(n) / Math.log(V)) }),
    ...[1, 3, 10, 36, 100, 1000].map((n) => label(at(n) - 6, H - 6, String(n), "tick")),
    label(at(3.4), 14, TEXT.card.top3, "name"), label(at(150), H - 74, TEXT.card.normalized, "name"));
}
