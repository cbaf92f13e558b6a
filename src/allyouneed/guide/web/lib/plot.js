/** Curves over one axis: lines in a drawing, axes and names in the document, a cursor for pointer and keys. */

import { el, freshId, svg } from "./dom.js";
import { keepFocus } from "./picks.js";
import { number } from "./text.js";

const HEIGHT = 220; // pixels
const TICKS = 4;

/**
 * options: { label, hint, key, name } where `name` is what the axis below counts; draw may give another one.
 * draw({ xs, series, logX, logY, digits, at, marks }): a series is { name, values } with null where it has none, `at` the
 * place of the cursor, `marks` are [{ x, name }] upright lines, `levels` are heights, each beside the series of its place.
 * A series may name its `line`, one of five looks, of which 0 is attention's; without one it has that of its place.
 */
export function plot(kit, options) {
  return new Plot(kit, options);
}

function look({ line }, at) {
  return `line-${(line ?? at) % 5}`;
}

class Plot {
  #kit;
  #options;
  #data = null;
  #at = null;

  constructor(kit, options) {
    this.#kit = kit;
    this.#options = options;
    const help = freshId("help");
    this.lines = svg("svg", { class: "plot-lines", viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.cursor = el("div", { class: "plot-cursor", hidden: true });
    this.field = el(
      "div",
      { class: "plot-field", tabindex: 0, role: "application", "aria-label": options.label, "aria-describedby": help, vars: { "--height": `${options.height ?? HEIGHT}px` } },
      this.lines, this.cursor,
    );
    this.left = el("div", { class: "plot-left", "aria-hidden": "true" });
    this.below = el("div", { class: "plot-below", "aria-hidden": "true" });
    this.legend = el("div", { class: "plot-legend" });
    this.reading = el("p", { class: "reading", "aria-live": "polite" }, options.hint);
    this.node = el(
      "div",
      { class: "plot" },
      this.legend, this.left, this.field, this.below,
      (this.name = el("div", { class: "plot-name" }, options.name)),
      this.reading,
      el("p", { class: "unseen", id: help }, kit.t("frame.plot-help")),
    );
    this.#listen();
  }

  draw(data) {
    this.#data = { ...data, ...this.#bounds(data) };
    const { xs, series, marks = [], name = this.#options.name, levels = [] } = this.#data;
    this.name.textContent = name;
    this.lines.replaceChildren(
      ...this.#grid(),
      ...marks.map(({ x }) => svg("line", { class: "plot-mark", x1: this.#x(x), x2: this.#x(x), y1: 0, y2: 100, "vector-effect": "non-scaling-stroke" })),
      ...levels.map((level, at) => svg("line", { class: `plot-level ${look(series[at], at)}`, x1: 0, x2: 100, y1: this.#y(level), y2: this.#y(level), "vector-effect": "non-scaling-stroke" })),
      ...series.flatMap((one, at) => this.#curve(one, at)),
    );
    const heights = this.#ticks();
    this.left.replaceChildren(...heights.map(value => el("span", { vars: { "--y": `${this.#y(value)}%` } }, this.#short(value, heights))));
    const shown = data.ticks ?? [...new Set([xs[0], xs[Math.floor((xs.length - 1) / 2)], xs.at(-1)])];
    this.below.replaceChildren(...shown.map(value => el("span", { vars: { "--x": `${this.#x(value)}%` } }, number(this.#kit.lang, value, 0))));
    keepFocus(this.legend, () =>
      this.legend.replaceChildren(...(series.length > 1 || data.always ? series.map((one, at) => el("span", {}, svg("svg", { class: `line-sample ${look(one, at)}`, viewBox: "0 0 26 8", "aria-hidden": "true" }, svg("line", { x1: 1, x2: 25, y1: 4, y2: 4 })), one.name)) : [])),
    );
    if (data.at !== undefined || this.#at !== null) this.#move(data.at ?? Math.min(this.#at, xs.length - 1), false);
  }

  #bounds({ series, low, high, logY }) {
    const values = series.flatMap(one => one.values).filter(value => value !== null && (!logY || value > 0));
    const [least, most] = [low ?? Math.min(...values), high ?? Math.max(...values)];
    const spare = logY || low !== undefined ? 0 : 0.06 * (most - least || 1);
    return { low: least - spare, high: most + (high === undefined ? spare || (logY ? 0 : 0.06 * (most - least)) : 0) };
  }

  #x(value) {
    const { xs, logX } = this.#data;
    const place = logX ? Math.log : x => x;
    return xs.length === 1 ? 50 : (100 * (place(value) - place(xs[0]))) / (place(xs.at(-1)) - place(xs[0]));
  }

  #y(value) {
    const { low, high, logY } = this.#data;
    const place = logY ? Math.log : y => y;
    return high === low ? 50 : 100 - (100 * (place(value) - place(low))) / (place(high) - place(low));
  }

  #ticks() {
    const { low, high, logY } = this.#data;
    if (logY) {
      const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
      const every = Math.max(1, Math.ceil((last - first) / TICKS));
      const found = [];
      for (let power = first; power <= last; power += every) found.push(10 ** power);
      return found.length > 1 ? found : [low, high];
    }
    const rough = (high - low) / TICKS;
    const base = 10 ** Math.floor(Math.log10(rough || 1));
    const step = [1, 2, 5, 10].map(one => one * base).find(one => one >= rough) ?? base;
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high + 1e-9; value += step) found.push(Math.abs(value) < step / 1e6 ? 0 : value);
    return found;
  }

  /** The name of a height, with as many decimals as tell it from the next, which is less far away where it is small. */
  #short(value, heights) {
    const next = this.#data.logY ? value / 10 : Math.abs(heights.at(-1) - heights.at(-2));
    const places = Math.min(6, Math.max(0, Math.ceil(-Math.log10(next || 1) - 1e-9)));
    const format = new Intl.NumberFormat(this.#kit.lang, { maximumFractionDigits: places, notation: Math.abs(value) >= 1e5 ? "compact" : "standard" });
    return format.format(value).replace("-", "−");
  }

  #grid() {
    return this.#ticks().map(value => svg("line", { class: "plot-grid", x1: 0, x2: 100, y1: this.#y(value), y2: this.#y(value), "vector-effect": "non-scaling-stroke" }));
  }

  #curve({ values, faint, line }, at) {
    const { xs, logY } = this.#data;
    let path = "";
    values.forEach((value, place) => {
      if (value === null || (logY && value <= 0)) return;
      const before = place > 0 && values[place - 1] !== null && path;
      path += `${before ? "L" : "M"} ${this.#x(xs[place]).toFixed(3)} ${this.#y(value).toFixed(3)} `;
    });
    return [svg("path", { class: `plot-line ${look({ line }, at)}${faint ? " faint" : ""}`, d: path, fill: "none", "vector-effect": "non-scaling-stroke" })];
  }

  #listen() {
    const nearest = event => {
      const box = this.field.getBoundingClientRect();
      const wanted = (100 * (event.clientX - box.left)) / box.width;
      return this.#data.xs.reduce((best, x, at) => (Math.abs(this.#x(x) - wanted) < Math.abs(this.#x(this.#data.xs[best]) - wanted) ? at : best), 0);
    };
    this.field.addEventListener("pointermove", event => this.#data && this.#move(nearest(event)));
    this.field.addEventListener("click", event => {
      if (!this.#data) return;
      this.#move(nearest(event));
      this.#options.pick?.(nearest(event));
    });
    this.field.addEventListener("focus", () => this.#data && this.#at === null && this.#move(0));
    this.field.addEventListener("keydown", event => {
      if (!this.#data) return;
      const last = this.#data.xs.length - 1;
      const to = { ArrowLeft: (this.#at ?? 0) - 1, ArrowRight: (this.#at ?? 0) + 1, Home: 0, End: last }[event.key];
      if (event.key === "Escape") this.field.blur();
      else if (event.key === "Enter" && this.#at !== null) this.#options.pick?.(this.#at);
      else if (to !== undefined) this.#move(Math.min(Math.max(to, 0), last));
      else return;
      event.preventDefault();
    });
  }

  #move(at, say = true) {
    if (at === this.#at && say) return;
    this.#at = at;
    const { xs, series, digits = 3 } = this.#data;
    this.cursor.hidden = false;
    this.cursor.style.setProperty("--x", `${this.#x(xs[at])}%`);
    const values = series.filter(({ values }) => values[at] !== null).map((one, place) => el("span", { class: "reading-part" }, `${one.name} `, this.#kit.out(`${this.#options.key}.${place}.reading`, one.values[at], digits)));
    this.reading.replaceChildren(el("span", { class: "reading-part" }, `${this.name.textContent} `, this.#kit.out(`${this.#options.key}.x`, xs[at], 0)), ...values);
  }
}
