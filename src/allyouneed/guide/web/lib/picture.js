/** The picture of a figure as a file: what stands on the screen, as plain SVG, and as PNG made from it. */

import { svg } from "./dom.js";

const MARGIN = 16;
const PNG_SCALE = 2;

export function saveSvg(picture, name) {
  download(new Blob([pictureSvg(picture)], { type: "image/svg+xml" }), `${name}.svg`);
}

export async function savePng(picture, name) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(pictureSvg(picture))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * PNG_SCALE;
  canvas.height = image.height * PNG_SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob(blob => download(blob, `${name}.png`));
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Every visible box, canvas, drawing and text of an element, where it stands. */
export function pictureSvg(picture) {
  const frame = picture.getBoundingClientRect();
  const [width, height] = [Math.ceil(frame.width) + 2 * MARGIN, Math.ceil(frame.height) + 2 * MARGIN];
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
  const paper = getComputedStyle(picture).getPropertyValue("--raised");
  root.append(svg("rect", { width, height, fill: opaque(picture, paper) }));
  const origin = { x: frame.left - MARGIN, y: frame.top - MARGIN };
  walk(picture, root, origin);
  return new XMLSerializer().serializeToString(root);
}

function opaque(host, colour) {
  const probe = host.appendChild(document.createElement("span"));
  probe.style.color = colour;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function walk(node, root, origin) {
  if (node.nodeType === Node.TEXT_NODE) return text(node, root, origin);
  if (node.nodeType !== Node.ELEMENT_NODE) return undefined;
  const style = getComputedStyle(node);
  if (style.display === "none" || style.visibility === "hidden" || node.classList.contains("unseen")) return undefined;
  const box = node.getBoundingClientRect();
  const place = { x: box.left - origin.x, y: box.top - origin.y, width: box.width, height: box.height };
  if (node instanceof HTMLCanvasElement) {
    return root.append(svg("image", { ...place, href: node.toDataURL(), preserveAspectRatio: "none", "image-rendering": "pixelated" }));
  }
  if (node instanceof SVGSVGElement) return root.append(drawing(node, place));
  rectangle(style, place, root);
  for (const child of inView(node, style)) walk(child, root, origin);
  if (node.localName === "q") quote(node, style, root, origin);
  return undefined;
}

/** The marks around what is quoted, which the browser sets. */
function quote(node, style, root, origin) {
  const lines = [...node.getClientRects()];
  const opening = newLine(style, lines.at(0), lines.at(0).top, origin, "“").node();
  const closing = newLine(style, lines.at(-1), lines.at(-1).top, origin, "”").node();
  closing.setAttribute("x", lines.at(-1).right - origin.x);
  closing.setAttribute("text-anchor", "end");
  root.append(opening, closing);
}

/** The children of an element; of one that scrolls those that are in view. */
function inView(node, style) {
  if (!["auto", "scroll"].includes(style.overflowY)) return node.childNodes;
  const { top, bottom } = node.getBoundingClientRect();
  const within = box => box.top > top - 1 && box.bottom < bottom + 1;
  return [...node.childNodes].filter(child => child.nodeType !== Node.ELEMENT_NODE || within(child.getBoundingClientRect()));
}

const SIDES = { Top: [0, 0, 1, 0], Right: [1, 0, 1, 1], Bottom: [0, 1, 1, 1], Left: [0, 0, 0, 1] }; // from corner to corner

/** The ground of a box and its border: a frame, or the sides that it has. */
function rectangle(style, place, root) {
  const sides = Object.keys(SIDES).filter(side => Number.parseFloat(style[`border${side}Width`]) > 0 && style[`border${side}Style`] !== "none");
  const ground = style.backgroundColor === "rgba(0, 0, 0, 0)" ? "none" : style.backgroundColor;
  if (place.width === 0 || place.height === 0 || (ground === "none" && sides.length === 0)) return;
  const dashes = { dashed: "4 3", dotted: "1 2" };
  const look = side => ({ stroke: style[`border${side}Color`], "stroke-width": Number.parseFloat(style[`border${side}Width`]), "stroke-dasharray": dashes[style[`border${side}Style`]] });
  const frame = sides.length === 4;
  if (frame || ground !== "none") root.append(svg("rect", { ...place, rx: Math.min(Number.parseFloat(style.borderTopLeftRadius) || 0, place.height / 2), fill: ground, ...(frame ? look("Top") : {}) }));
  if (frame) return;
  for (const side of sides) {
    const [x1, y1, x2, y2] = SIDES[side];
    root.append(svg("line", { x1: place.x + x1 * place.width, y1: place.y + y1 * place.height, x2: place.x + x2 * place.width, y2: place.y + y2 * place.height, ...look(side) }));
  }
}

/** A copy of an inline drawing whose colours are written out. */
function drawing(node, place) {
  const copy = node.cloneNode(true);
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
  const [sources, copies] = [node.querySelectorAll("*"), copy.querySelectorAll("*")];
  sources.forEach((source, at) => {
    const style = getComputedStyle(source);
    for (const name of ["stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "fill", "fill-opacity", "opacity"]) copies[at].setAttribute(name, style.getPropertyValue(name));
    copies[at].removeAttribute("style");
  });
  return copy;
}

/** A run of text, line by line. */
function text(node, root, origin) {
  if (!node.data.trim()) return;
  const style = getComputedStyle(node.parentElement);
  const range = document.createRange();
  const across = style.writingMode === "horizontal-tb" ? "top" : "left";
  let line = null;
  for (let at = 0; at < node.length; at += 1) {
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    const box = range.getBoundingClientRect();
    if (box.width === 0) continue;
    if (line && Math.abs(box[across] - line.at) < 2) line.words += node.data[at];
    else {
      if (line) root.append(line.node());
      line = newLine(style, box, box[across], origin, node.data[at]);
    }
  }
  if (line) root.append(line.node());
}

function newLine(style, box, at, origin, first) {
  return {
    at,
    words: first,
    node() {
      const upright = style.writingMode === "horizontal-tb";
      const [x, y] = [box.left - origin.x, box.top - origin.y];
      const size = Number.parseFloat(style.fontSize);
      const look = { fill: style.color, "font-family": style.fontFamily, "font-size": size, "font-weight": style.fontWeight };
      const place = upright ? { x, y: y + box.height / 2 + size * 0.35 } : { transform: `translate(${x + box.width / 2} ${y}) rotate(90)`, y: size * 0.35 };
      return svg("text", { ...place, ...look, "xml:space": "preserve" }, this.words);
    },
  };
}
