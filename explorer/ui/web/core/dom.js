// Small helpers shared by every part of the run view. Text enters the page through textContent or attributes only.

function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// "{name}" in a template becomes the value of that name: a text, or a node. Returns children for make().
function fill(template, values) {
  return template.split(/\{(\w+)\}/).map((part, index) => (index % 2 ? values[part] ?? "" : part));
}

function say(template, values) {
  return fill(template, values).join("");
}

// Characters that would be invisible, or that would reorder their neighbours: controls, bidi marks, zero widths.
// Zero-width joiners stay as they are, because emoji and several scripts are written with them.
const UNSEEN = /([\n\t]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb])/;

// Text as nodes whose textContent is that text exactly; what cannot be seen gets a quiet sign drawn beside it.
function glyphs(text) {
  if (!UNSEEN.test(text)) return [text];
  return text.split(UNSEEN).filter(Boolean).map((part) => {
    if (!UNSEEN.test(part)) return part;
    if (part === "\n") return make("span", "nl", part);
    if (part === "\t") return make("span", "tab", part);
    const sign = make("span", "ctl", make("span", "gone", part));
    sign.dataset.code = code(part);
    return sign;
  });
}

function code(character) {
  return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

// The same, for attributes and labels, where no node can stand: one text with visible signs.
function visible(text) {
  return text.split(UNSEEN).map((part) =>
    !UNSEEN.test(part) ? part : part === "\n" ? "↵" : part === "\t" ? "⇥" : `⟨${code(part)}⟩`).join("");
}

// A token quoted in a sentence or a table: its spaces count, so they are drawn too.
function quote(text) {
  const shown = text.length > 60 ? text.slice(0, 60) + "…" : text;
  const node = make("code", "quote");
  for (const part of shown.split(/([ \n])/)) {
    if (part === " ") node.append(make("span", "sp", " "));
    else if (part === "\n") node.append(make("span", "nl", make("span", "gone", part))); // the sign, without the break
    else node.append(...glyphs(part));
  }
  return node;
}

const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const short = (value) => (value === 0 ? "0" : value < 0.001 ? value.toExponential(0) : String(+value.toPrecision(3)));
const percent = (value) =>
  value === 0 ? "0 %" : value >= 0.9995 ? "100 %" : value >= 0.1 ? (value * 100).toFixed(0) + " %" : value >= 0.001 ? (value * 100).toFixed(1) + " %" : "<0.1 %";

// One flat bar of labelled parts, widths by share; the figures stand in the list below it, so the bar itself is decoration.
function stackedBar(parts) {
  const total = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  const bar = make("div", "bar");
  bar.setAttribute("aria-hidden", "true");
  const list = make("ul", "bar-key");
  for (const part of parts) {
    const piece = make("span", `bar-part ${part.tone}`);
    piece.style.flexGrow = part.value / total;
    bar.append(piece);
    list.append(make("li", "", make("span", `bar-dot ${part.tone}`), make("b", "", part.figure), " " + part.label));
  }
  return [bar, list];
}

// An SVG element; attributes by name.
function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A text of a picture.
function svgText(x, y, text, attributes = {}) {
  const node = svg("text", { x, y, ...attributes });
  node.textContent = text;
  return node;
}

// The path of a disc.
const disc = (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;

// The two axes of a chart.
const axes = (left, top, right, bottom) => svg("path", { d: `M${left} ${top}V${bottom}H${right}`, class: "trade-axis" });

function cell(tag, content, scope) {
  const node = make(tag, "", content);
  if (scope) node.scope = scope;
  return node;
}

// A table: its heads, rows of which the first cell is the head, and the class of a row by its index.
function dataTable(heads, rows, classOf = () => "") {
  const shown = (value) => (value instanceof Node ? value : String(value));
  return make("div", "data-scroll", make("table", "data", make("thead", "", make("tr", "", ...heads.map((head) => cell("th", head, "col")))),
    make("tbody", "", ...rows.map(([first, ...rest], index) =>
      make("tr", classOf(index), cell("th", shown(first), "row"), ...rest.map((value) => cell("td", shown(value))))))));
}

// Where and when a run was made: the number formats of both models, the device, the day.
function madeBy({ dtype, device, date }, words) {
  const { target, draft } = dtype;
  return [draft === undefined || draft === target ? target : say(words, { target, draft }), device,
    new Date(date).toLocaleDateString(TEXT.locale, { dateStyle: "medium", timeZone: "UTC" })];
}

function button(className, label, onClick) {
  const node = make("button", className, label);
  node.type = "button";
  node.addEventListener("click", onClick);
  return node;
}

// Call back with the width of a node now and whenever it changes; not for widths of nothing, when it is out of sight.
function onWidth(node, callback) {
  let known = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width && width !== known) callback(known = width);
  }).observe(node);
}

// Tells whether it was called with the same values before: what is drawn already need not be drawn again. Forgets on ().
function makeMemo() {
  let last = null;
  return (...values) => {
    const key = values.length ? values.join("|") : null;
    const same = key !== null && key === last;
    last = key;
    return same;
  };
}
