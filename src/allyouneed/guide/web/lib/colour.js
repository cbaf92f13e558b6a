/** Colour tables for canvases, taken from the style sheet, so that they follow the theme. */

const STEPS = 256;
const tables = new Map();

/** 256 steps between two style variables of an element, as [r, g, b] triples. */
export function ramp(host, from, to) {
  // Asking for a colour costs a style pass, and it changes with the scheme alone.
  const name = [getComputedStyle(host).colorScheme, matchMedia("(prefers-color-scheme: dark)").matches, from, to].join();
  if (!tables.has(name)) tables.set(name, mixed(resolved(host, from), resolved(host, to)));
  return tables.get(name);
}

function resolved(host, variable) {
  const probe = host.appendChild(document.createElement("span"));
  probe.style.color = `var(${variable})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function mixed(from, to) {
  const canvas = document.createElement("canvas");
  canvas.width = STEPS;
  canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  for (let step = 0; step < STEPS; step += 1) {
    pen.fillStyle = `color-mix(in oklab, ${to} ${(100 * step) / (STEPS - 1)}%, ${from})`;
    pen.fillRect(step, 0, 1, 1);
  }
  const { data } = pen.getImageData(0, 0, STEPS, 1);
  return Array.from({ length: STEPS }, (_, step) => Array.from(data.slice(4 * step, 4 * step + 3)));
}

/** The ink that reads better on a colour; the better of the two always has a contrast above 4.5. */
export function ink(colour) {
  const [r, g, b] = colour.map(part => part / 255).map(part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "black" : "white";
}

/** Where a share between 0 and 1 stands in a table. */
export function step(share) {
  return Math.round(Math.min(Math.max(share, 0), 1) * (STEPS - 1));
}
