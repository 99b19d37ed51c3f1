// A part of the page as a picture of its own: boxes, lines and texts drawn again as plain SVG where the browser put them, so
// that any program opens it. Buttons and closed parts are left out. PNG is the same picture, drawn by the browser.

import { make } from "../core/dom.js";
import { svg } from "../core/svg.js";

const PICTURE_MARGIN = 16, CAPTION_LINE = 18, PNG_SCALE = 2, PNG_LIMIT = 16_000; // px
const NOT_DRAWN = "button, input, select, details, .costs-choose, .sr-only";
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

// node: an element of the page; caption: texts to stand below it. Returns {text, width, height}.
export function pictureOf(node, title, caption) {
  const restore = unfold(node);
  const frame = node.getBoundingClientRect();
  const layer = svg("g", { transform: `translate(${PICTURE_MARGIN - frame.left} ${PICTURE_MARGIN - frame.top})` });
  for (const child of node.children) drawElement(child, layer, "none"); // without the line that sets it off on the page
  restore();
  const width = Math.ceil(frame.width) + 2 * PICTURE_MARGIN, below = Math.ceil(frame.height) + 2 * PICTURE_MARGIN;
  const style = getComputedStyle(node);
  pen().font = `12px ${style.fontFamily}`;
  const foot = svg("g", { "font-size": 12, "font-family": style.fontFamily, ...paint(style.color), opacity: 0.8 });
  brokenLines(caption, frame.width * 0.85).forEach((text, index) => {
    const line = svg("text", { x: PICTURE_MARGIN, y: below + (index + 0.6) * CAPTION_LINE });
    line.textContent = clean(text);
    foot.append(line);
  });
  const height = below + foot.children.length * CAPTION_LINE + PICTURE_MARGIN;
  const ground = paint(getComputedStyle(document.body).backgroundColor) ?? { fill: "#ffffff" };
  const name = svg("title");
  name.textContent = clean(title);
  const picture = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    name, svg("rect", { width, height, ...ground }), layer, foot);
  return { text: new XMLSerializer().serializeToString(picture), width, height };
}

export async function pngOf({ text, width, height }) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const scale = Math.min(PNG_SCALE, PNG_LIMIT / Math.max(width, height));
  const canvas = make("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.drawImage(image, 0, 0, width, height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// Texts in as few lines as their width allows, in the font of the pen; another program's font may be wider.
function brokenLines(texts, room) {
  const lines = [];
  for (const text of texts) {
    const longer = lines.length ? `${lines[lines.length - 1]} · ${text}` : text;
    if (lines.length && pen().measureText(longer).width <= room) lines[lines.length - 1] = longer;
    else lines.push(text);
  }
  return lines;
}

const clean = (text) => text.replace(NOT_XML, "\ufffd");

// Leave out what is no picture, and give what scrolls sideways its full width, while nothing is painted; returns a function
// that takes it back.
function unfold(node) {
  const changed = [];
  const set = (part, name, value) => { changed.push([part, name, part.style[name]]); part.style[name] = value; };
  set(node, "contentVisibility", "visible");
  for (const part of node.querySelectorAll(NOT_DRAWN)) set(part, "display", "none");
  for (const part of node.querySelectorAll(".tree-scroll")) set(part, "maxHeight", "none");
  const scrollers = [node, ...node.querySelectorAll("*")].filter((part) => part.scrollWidth > part.clientWidth && getComputedStyle(part).overflowX === "auto");
  const places = scrollers.map((part) => part.scrollLeft);
  const more = Math.max(0, ...scrollers.map((part) => part.scrollWidth - part.clientWidth));
  if (more) set(node, "width", `${node.getBoundingClientRect().width + more}px`);
  return () => {
    for (const [part, name, value] of changed.reverse()) part.style[name] = value;
    scrollers.forEach((part, index) => { part.scrollLeft = places[index]; });
  };
}

function drawElement(node, layer, decoration) {
  if (node.matches(NOT_DRAWN)) return;
  const style = getComputedStyle(node);
  if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
  if (style.opacity !== "1" || (style.overflowX === "hidden" && node.scrollWidth > node.clientWidth)) {
    const group = svg("g", style.opacity === "1" ? {} : { opacity: style.opacity });
    if (style.overflowX === "hidden") clipTo(group, layer, node.getBoundingClientRect());
    layer.append(group);
    layer = group;
  }
  if (node.namespaceURI.endsWith("/svg")) { layer.append(drawnSvg(node)); return; }
  const boxes = style.display === "inline" ? [...node.getClientRects()] : [node.getBoundingClientRect()];
  for (const box of boxes) drawBox(box, style, layer);
  if (style.textDecorationLine !== "none") decoration = style.textDecorationLine;
  drawPseudo(node, "::before", layer);
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) drawText(child, style, layer, decoration);
    else if (child.nodeType === Node.ELEMENT_NODE) drawElement(child, layer, decoration);
  }
  drawPseudo(node, "::after", layer);
}

let clips = 0;
function clipTo(group, layer, box) {
  const id = `clip${++clips}`;
  layer.append(svg("clipPath", { id }, svg("rect", { x: box.left, y: box.top, width: box.width, height: box.height })));
  group.setAttribute("clip-path", `url(#${id})`);
}

// A colour as SVG attributes of every age; null where nothing would be seen.
function paint(colour, name = "fill") {
  const numbers = colour.match(/-?[\d.]+(?:e-?\d+)?/g)?.map(Number);
  if (!numbers || colour === "none" || colour === "transparent") return null;
  const [channels, alpha] = [numbers.slice(0, 3), numbers[3] ?? 1];
  if (!alpha) return null;
  const scale = colour.startsWith("color(") ? 255 : 1; // color(srgb ...) counts from 0 to 1
  const hex = channels.map((value) => Math.round(Math.max(0, Math.min(255, value * scale))).toString(16).padStart(2, "0")).join("");
  return { [name]: "#" + hex, ...(alpha < 1 ? { [`${name}-opacity`]: alpha } : {}) };
}

const COLOUR = /(?:rgba?|color)\([^()]*\)/g;

function drawBox(box, style, layer) {
  if (!box.width && !box.height) return;
  const radius = Math.min(parseFloat(style.borderTopLeftRadius) * (style.borderTopLeftRadius.endsWith("%") ? box.width / 100 : 1) || 0, box.width / 2, box.height / 2);
  const area = { x: box.left, y: box.top, width: box.width, height: box.height, rx: radius };
  const ground = paint(style.backgroundColor);
  if (ground) layer.append(svg("rect", { ...area, ...ground }));
  if (style.backgroundImage.includes("gradient(")) drawGradient(area, style.backgroundImage, layer);
  const sides = ["Top", "Right", "Bottom", "Left"].map((side) => ({
    width: parseFloat(style[`border${side}Width`]), kind: style[`border${side}Style`], colour: style[`border${side}Color`] }));
  const [first] = sides;
  if (sides.every((side) => side.width === first.width && side.kind === first.kind && side.colour === first.colour)) {
    const stroke = strokeOf(first);
    const half = first.width / 2;
    if (stroke) layer.append(svg("rect", { x: area.x + half, y: area.y + half, width: Math.max(0, area.width - first.width), height: Math.max(0, area.height - first.width), rx: Math.max(0, radius - half), fill: "none", ...stroke }));
    return;
  }
  const { left, top, right, bottom } = box;
  const lines = [[left, top, right, top, 0, 1], [right, top, right, bottom, -1, 0], [left, bottom, right, bottom, 0, -1], [left, top, left, bottom, 1, 0]];
  sides.forEach((side, index) => {
    const stroke = strokeOf(side);
    if (!stroke) return;
    const [x1, y1, x2, y2, dx, dy] = lines[index];
    const line = (inset, width) => svg("line", { x1: x1 + dx * inset, y1: y1 + dy * inset, x2: x2 + dx * inset, y2: y2 + dy * inset, ...stroke, "stroke-width": width });
    if (side.kind === "double" && side.width >= 3) layer.append(line(side.width / 6, side.width / 3), line((side.width * 5) / 6, side.width / 3));
    else layer.append(line(side.width / 2, side.width));
  });
}

function strokeOf({ width, kind, colour }) {
  const stroke = width && kind !== "none" && kind !== "hidden" ? paint(colour, "stroke") : null;
  return stroke && { ...stroke, "stroke-width": width,
    ...(kind === "dashed" ? { "stroke-dasharray": `${width * 2.5} ${width * 1.8}` } : kind === "dotted" ? { "stroke-dasharray": `0.1 ${width * 2}`, "stroke-linecap": "round" } : {}) };
}

// The two gradients the page uses: a share of a bar from the left, and stripes; any other is its first colour.
function drawGradient(area, gradient, layer) {
  const colours = (gradient.match(COLOUR) ?? []).map((colour) => paint(colour));
  const share = /^linear-gradient\(90deg.*?([\d.]+)%/.exec(gradient);
  if (share) {
    if (colours[1]) layer.append(svg("rect", { ...area, ...colours[1] }));
    if (colours[0]) layer.append(svg("rect", { ...area, width: (area.width * share[1]) / 100, ...colours[0] }));
    return;
  }
  if (colours[0]) layer.append(svg("rect", { ...area, ...colours[0] }));
  const stripe = colours[colours.length - 1];
  if (!gradient.startsWith("repeating") || !stripe || !colours[0]) return;
  const id = `clip${++clips}`;
  const step = 7 * Math.SQRT2, lines = [];
  for (let at = -area.height; at < area.width; at += step) lines.push(`M${area.x + at} ${area.y}l${area.height} ${area.height}`);
  layer.append(svg("clipPath", { id }, svg("rect", area)),
    svg("path", { d: lines.join(""), "clip-path": `url(#${id})`, fill: "none", stroke: stripe.fill, "stroke-width": 3, ...(stripe["fill-opacity"] ? { "stroke-opacity": stripe["fill-opacity"] } : {}) }));
}

let canvas2d = null;
// What measures texts in a font, made at the first use.
const pen = () => (canvas2d ??= make("canvas").getContext("2d"));

function fontOf(style) {
  pen().font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  return { "font-family": style.fontFamily, "font-size": parseFloat(style.fontSize), "font-weight": style.fontWeight, ...(style.fontStyle === "normal" ? {} : { "font-style": style.fontStyle }) };
}

// The text of a node, one element for each line the browser broke it into.
function drawText(node, style, layer, decoration) {
  if (!node.data.trim()) return;
  const range = document.createRange();
  const lines = [];
  range.selectNodeContents(node);
  // Spaces at an end may be drawn or not.
  if (range.getClientRects().length === 1 && node.data === node.data.trim()) lines.push({ text: node.data, box: range.getBoundingClientRect() });
  else {
    let at = 0;
    for (const character of node.data) {
      range.setStart(node, at);
      range.setEnd(node, at += character.length);
      const box = range.getBoundingClientRect(), line = lines[lines.length - 1];
      if (!box.width) continue;
      if (line && Math.abs(line.box.top - box.top) < box.height / 2) {
        line.text += character;
        line.box = DOMRect.fromRect({ x: line.box.x, y: line.box.y, width: box.right - line.box.x, height: line.box.height });
      } else lines.push({ text: character, box });
    }
  }
  const keeps = style.whiteSpaceCollapse === "preserve" || style.whiteSpace.startsWith("pre");
  for (const { text, box } of lines) {
    const shown = keeps ? text : text.replace(/\s+/g, " ");
    if (shown.trim() && box.width) layer.append(textAt(shown, box.left, box.top + box.height / 2, style, decoration, box.width));
  }
}

// A line of text from x on, its middle at a height; `width` holds it to the place it has here, whatever the font there.
function textAt(text, x, middle, style, decoration = "none", width = null) {
  const font = fontOf(style);
  const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } = pen().measureText("x");
  const node = svg("text", { x, y: middle + (ascent - descent) / 2, ...font, ...paint(style.color), "xml:space": "preserve",
    ...(decoration === "none" ? {} : { "text-decoration": decoration }),
    ...(width && text.length > 1 ? { textLength: width, lengthAdjust: "spacingAndGlyphs" } : {}) });
  node.textContent = clean(text);
  return node;
}

// What CSS draws before or after an element: a box at its place, or a sign beside the text.
function drawPseudo(node, name, layer) {
  const style = getComputedStyle(node, name);
  const words = /^"((?:[^"\\]|\\.)*)"/.exec(style.content);
  if (!words || style.display === "none") return;
  const text = words[1].replace(/\\(.)/g, "$1");
  const outer = node.getBoundingClientRect(), own = getComputedStyle(node);
  const size = (side) => parseFloat(style[side]) || 0;
  const group = style.opacity === "1" ? layer : svg("g", { opacity: style.opacity });
  if (group !== layer) layer.append(group);
  if (style.position !== "absolute") {
    fontOf(style);
    const { width } = pen().measureText(text);
    const inside = name === "::before" ? outer.left + parseFloat(own.paddingLeft) : outer.right - parseFloat(own.paddingRight) - width;
    if (text) group.append(textAt(text, inside, outer.top + outer.height / 2, style));
    return;
  }
  const frames = ["Left", "Top"].map((side) => parseFloat(own[`border${side}Width`]) || 0);
  const extra = style.boxSizing === "border-box" ? [0, 0] : [["Left", "Right"], ["Top", "Bottom"]].map((pair) => pair.reduce((sum, side) => sum + size(`border${side}Width`) + size(`padding${side}`), 0));
  const box = DOMRect.fromRect({ x: outer.left + frames[0] + size("left"), y: outer.top + frames[1] + size("top"), width: size("width") + extra[0], height: size("height") + extra[1] });
  drawBox(box, style, group);
  if (!text) return;
  fontOf(style);
  const { width } = pen().measureText(text);
  const centred = style.textAlign === "center" || /grid|flex/.test(style.display);
  group.append(textAt(text, centred ? box.left + (box.width - width) / 2 : box.left, box.top + box.height / 2, style));
}

const INLINED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "text-anchor"];

// An SVG of the page with its looks written into it.
function drawnSvg(node) {
  const box = node.getBoundingClientRect();
  const copy = node.cloneNode(true);
  const originals = [node, ...node.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, index) => {
    const style = getComputedStyle(originals[index]);
    if (style.display === "none") { part.setAttribute("display", "none"); return; }
    for (const name of INLINED) {
      const value = style.getPropertyValue(name);
      const colour = (name === "fill" || name === "stroke") && value !== "none" ? paint(value, name) ?? { [name]: "none" } : { [name]: value };
      for (const [key, one] of Object.entries(colour)) part.setAttribute(key, one);
    }
    for (const name of ["class", "style", "role", "aria-hidden", "aria-label"]) part.removeAttribute(name);
  });
  for (const [name, value] of Object.entries({ x: box.left, y: box.top, width: box.width, height: box.height, opacity: 1 })) copy.setAttribute(name, value);
  return copy;
}
