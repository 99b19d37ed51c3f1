// Tables of figures.

import { make } from "./dom.js";

export function cell(tag, content, scope) {
  const node = make(tag, "", content);
  if (scope) node.scope = scope;
  return node;
}

// A table: its heads, rows of which the first cell is the head, and the class of a row by its index.
export function dataTable(heads, rows, classOf = () => "") {
  const shown = (value) => (value instanceof Node ? value : String(value));
  return make("div", "data-scroll", make("table", "data", make("thead", "", make("tr", "", ...heads.map((head) => cell("th", head, "col")))),
    make("tbody", "", ...rows.map(([first, ...rest], index) =>
      make("tr", classOf(index), cell("th", shown(first), "row"), ...rest.map((value) => cell("td", shown(value))))))));
}
