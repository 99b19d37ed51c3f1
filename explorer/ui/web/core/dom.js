// Small helpers shared by every part of the run view. Text enters the page through textContent or attributes only.

export function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// "{name}" in a template becomes the value of that name: a text, or a node. Returns children for make().
export function fill(template, values) {
  return template.split(/\{(\w+)\}/).map((part, index) => (index % 2 ? values[part] ?? "" : part));
}

export function say(template, values) {
  return fill(template, values).join("");
}

export function button(className, label, onClick) {
  const node = make("button", className, label);
  node.type = "button";
  node.addEventListener("click", onClick);
  return node;
}

// Call back with the width of a node now and whenever it changes; not for widths of nothing, when it is out of sight.
export function onWidth(node, callback) {
  let known = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width && width !== known) callback(known = width);
  }).observe(node);
}

// Tells whether it was called with the same values before: what is drawn already need not be drawn again. Forgets on ().
export function makeMemo() {
  let last = null;
  return (...values) => {
    const key = values.length ? values.join("|") : null;
    const same = key !== null && key === last;
    last = key;
    return same;
  };
}
