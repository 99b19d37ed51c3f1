// Elements of a picture.

// An SVG element; attributes by name.
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A text of a picture.
export function svgText(x, y, text, attributes = {}) {
  const node = svg("text", { x, y, ...attributes });
  node.textContent = text;
  return node;
}
