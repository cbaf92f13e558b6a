/** Arcs from one element up to many: the wider, the more weight. */

import { svg } from "./dom.js";

const WIDEST = 14;
const MOST = 40; // thinner ones beyond these would only be noise

/**
 * Draws over `stage`, which holds the elements `tops` and `bottom`. Where either row is wrapped, arcs would run through other
 * words: there the tint alone tells the weights.
 */
export function drawArcs(layer, stage, tops, bottom, weights) {
  tops.forEach((node, at) => node.style.setProperty("--share", weights[at]));
  const wrapped = [tops, [...bottom.parentElement.children]].some(row => row.some(node => node.offsetTop > row[0].offsetTop + row[0].offsetHeight));
  stage.classList.toggle("wrapped", wrapped);
  if (wrapped) return layer.replaceChildren();
  const frame = stage.getBoundingClientRect();
  for (const [name, value] of Object.entries({ width: frame.width, height: frame.height, viewBox: `0 0 ${frame.width} ${frame.height}` })) layer.setAttribute(name, value);
  const from = bottom.getBoundingClientRect();
  const [x0, y0] = [from.left + from.width / 2 - frame.left, from.top - frame.top];
  const order = weights.map((_, at) => at).sort((a, b) => weights[b] - weights[a]).slice(0, MOST);
  return layer.replaceChildren(
    ...order.map(at => {
      const box = tops[at].getBoundingClientRect();
      const [x1, y1] = [box.left + box.width / 2 - frame.left, box.bottom - frame.top];
      const middle = (y0 + y1) / 2;
      const path = `M ${x0} ${y0} C ${x0} ${middle}, ${x1} ${middle}, ${x1} ${y1}`;
      return svg("path", { d: path, class: "arc", "stroke-width": Math.max(0.5, WIDEST * weights[at]), "stroke-opacity": 0.25 + 0.75 * weights[at] });
    }),
  );
}
