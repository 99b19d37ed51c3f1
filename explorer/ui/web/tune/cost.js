// What a round takes by the rows of its pass: what every modelled speed here is made of.

import { columnChart } from "../core/charts.js";
import { make, say } from "../core/dom.js";
import { number } from "../core/numbers.js";
import { dataTable } from "../core/tables.js";
import { TEXT } from "../given/texts.js";
import { passTime } from "../twins/costs.js";

// profile: the costs that speeds are modelled with; own: whether they are those of this sweep.
export function drawCost(root, { sizes, cost }, profile, own) {
  const words = TEXT.cost;
  const columns = sizes.map(([rows, steps, blocks, samples]) => {
    const draft = steps * profile.step + blocks * profile.block, verify = passTime(profile, rows);
    return { rows, draft, verify, other: profile.other, total: draft + verify + profile.other, samples };
  });
  const time = profile.unit === "pass" ? (value) => number(value) : (ms) => ms.toFixed(ms < 100 ? 1 : 0);
  const picture = columnChart(columns.map(({ rows, draft, verify, total }) => ({ name: String(rows), title: time(total), parts: [
    { value: total, tone: "time-other" }, { value: draft + verify, tone: "time-draft" }, { value: verify, tone: "time-verify" },
  ] })), Math.max(...columns.map(({ total }) => total)));
  const numbers = dataTable([words.rows, words.draft, words.verify, words.other, words.total, words.samples],
    columns.map(({ rows, draft, verify, other, total, samples }) => [rows, time(draft), time(verify), time(other), time(total), samples]));
  root.replaceChildren(make("h3", "", own ? words.title : words.title_modelled), make("p", "quiet lead", profile.unit === "pass" ? words.lead_ratios : words.lead), picture,
    make("ul", "bar-key", ...["verify", "draft", "other"].map((phase) => make("li", "", make("span", `bar-dot time-${phase}`), words[phase]))),
    make("details", "", make("summary", "", words.numbers), numbers),
    cost ? make("p", "quiet", say(words.shared, { passes: cost.passes, points: cost.points, separate: cost.separate_passes, ratio: number(cost.ratio) })) : "");
}
