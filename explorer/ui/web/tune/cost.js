// What a round takes by the number of drafted tokens: what every modelled speed here is made of.

import { columnChart } from "../core/charts.js";
import { make, say } from "../core/dom.js";
import { number } from "../core/numbers.js";
import { dataTable } from "../core/tables.js";
import { TEXT } from "../given/texts.js";

export function drawCost(root, { sizes, cost }) {
  const words = TEXT.cost;
  const columns = sizes.map(([drafted, draft, preverify, verify, other, samples]) =>
    ({ drafted, draft: draft + preverify, verify, other, total: draft + preverify + verify + other, samples }));
  const ms = (seconds) => (seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0);
  const picture = columnChart(columns.map(({ drafted, draft, verify, total }) => ({ name: String(drafted), title: ms(total), parts: [
    { value: total, tone: "time-other" }, { value: draft + verify, tone: "time-draft" }, { value: verify, tone: "time-verify" },
  ] })), Math.max(...columns.map(({ total }) => total)));
  const numbers = dataTable([words.drafted, words.draft, words.verify, words.other, words.total, words.samples],
    columns.map(({ drafted, draft, verify, other, total, samples }) => [drafted, ms(draft), ms(verify), ms(other), ms(total), samples]));
  root.replaceChildren(make("h3", "", words.title), make("p", "quiet lead", words.lead), picture,
    make("ul", "bar-key", ...["verify", "draft", "other"].map((phase) => make("li", "", make("span", `bar-dot time-${phase}`), words[phase]))),
    make("details", "", make("summary", "", words.numbers), numbers),
    cost ? make("p", "quiet", say(words.shared, { passes: cost.passes, points: cost.points, separate: cost.separate_passes, ratio: number(cost.ratio) })) : "");
}
