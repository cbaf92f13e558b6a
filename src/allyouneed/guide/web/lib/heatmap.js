/** A matrix as colours: cells on a canvas, labels and numbers in the document, a cursor for pointer and keys. */

import { ink, ramp, step } from "./colour.js";
import { el, freshId } from "./dom.js";

const MOST_NUMBERS = 16; // more columns leave no room for numbers
const MOST_TICKS = 16; // of more columns that are but counted, the first and the last are named
const TALLEST = 480; // pixels
const LOWEST_NUMBER = 18;
const NARROWEST_NUMBER = 28;
const LOWEST_LABEL = 14;
const NARROWEST_LABEL = 11;
const CELL = 38;

/**
 * options: { label, hint, key, height?, precision? } and what a cell means: `reading(r, c)` names it, `pick(r, c)` acts on it.
 * draw({ cells, rows, columns, span, signed, digits, side, row, column }): `span` is the value of full colour, `digits`
 * those of the numbers in the cells (none without), `side` a number after each row, `row` and `column` the marked ones.
 * A cell of null is minus infinity.
 */
export function heatmap(kit, options) {
  return new HeatMap(kit, options);
}

class HeatMap {
  #kit;
  #options;
  #data = null;
  #cursor = null;
  #fitted = null; // the names that the top was fitted to, at the width that it has

  constructor(kit, options) {
    this.#kit = kit;
    this.#options = options;
    const help = freshId("help");
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.numbers = el("div", { class: "heat-numbers" });
    this.frame = el("div", { class: "heat-cursor", hidden: true });
    this.cells = el(
      "div",
      { class: "heat-cells", tabindex: 0, role: "application", "aria-label": options.label, "aria-describedby": help },
      this.canvas, this.numbers, this.frame,
    );
    this.top = el("div", { class: "heat-top", "aria-hidden": "true" });
    this.left = el("div", { class: "heat-left", "aria-hidden": "true" });
    this.right = el("div", { class: "heat-right" });
    this.reading = el("p", { class: "reading", "aria-live": "polite" }, options.hint);
    this.node = el(
      "div",
      { class: "heat" },
      this.top, this.left, this.cells, this.right, this.reading,
      el("p", { class: "unseen", id: help }, kit.t("frame.heat-help")),
    );
    this.#listen();
    new ResizeObserver(() => {
      this.#fitted = null;
      if (this.#data) this.#fit();
    }).observe(this.cells);
  }

  draw(data) {
    this.#data = data;
    const { cells, rows, columns, side = [], row, column } = data;
    const height = Math.max(1, Math.min(this.#options.height ?? CELL, TALLEST / cells.length));
    this.node.style.setProperty("--cell", `${height}px`);
    this.node.style.setProperty("--columns", columns.length);
    this.node.style.setProperty("--rows", rows.length);
    this.left.classList.toggle("ends", height < LOWEST_LABEL);
    this.left.replaceChildren(...labels(height < LOWEST_LABEL ? ends(rows) : rows, height < LOWEST_LABEL ? null : row));
    this.right.replaceChildren(...side.map(({ key, value, digits }) => this.#kit.out(key, value, digits)));
    this.#write(this.#paint());
    this.#fit();
    if (this.#cursor) this.#moveTo(...this.#cursor, false);
  }

  /**
   * Where cells are too narrow for numbers, only the masked ones keep their sign; names that are too wide are turned.
   * Measuring lays the page out, so it is done for other names and other widths alone.
   */
  #fit() {
    const { columns, column } = this.#data;
    const names = columns.join("\n");
    if (names !== this.#fitted) this.#measure(columns);
    this.#fitted = names;
    const all = !this.top.classList.contains("ends");
    [...this.top.children].forEach((node, at) => node.classList.toggle("marked", all && at === column));
  }

  #measure(columns) {
    const width = this.cells.clientWidth / columns.length;
    this.node.classList.toggle("cramped", width < NARROWEST_NUMBER);
    const few = width < NARROWEST_LABEL || (columns.length > MOST_TICKS && columns.every(name => /^\d+$/.test(name)));
    this.top.className = few ? "heat-top ends" : "heat-top";
    this.top.replaceChildren(...labels(few ? ends(columns) : columns, null));
    this.top.classList.toggle("turned", !few && [...this.top.children].some(node => node.scrollWidth > width - 2));
  }

  /** Paints the cells. -> the colour of each. */
  #paint() {
    const { cells, span, signed } = this.#data;
    const [high, low] = [ramp(this.cells, "--paper", "--attention"), signed ? ramp(this.cells, "--paper", "--blue") : null];
    const hidden = ramp(this.cells, "--paper", "--masked")[255];
    const colours = cells.flat().map(value => {
      const share = value / span;
      return value === null ? hidden : (share < 0 && low ? low : high)[step(Math.abs(share))];
    });
    this.canvas.width = cells[0].length;
    this.canvas.height = cells.length;
    const pen = this.canvas.getContext("2d");
    const image = pen.createImageData(this.canvas.width, this.canvas.height);
    colours.forEach((colour, at) => image.data.set([...colour, 255], 4 * at));
    pen.putImageData(image, 0, 0);
    return colours;
  }

  #write(colours) {
    const { cells, digits } = this.#data;
    const shown = digits !== undefined && cells[0].length <= MOST_NUMBERS && cells.length <= TALLEST / LOWEST_NUMBER;
    const number = (value, r, c) =>
      el("span", { data: { ink: value === null ? "quiet" : ink(colours[r * cells[0].length + c]) } }, this.#kit.out(`${this.#options.key}.${r}.${c}`, value, digits));
    this.numbers.replaceChildren(...(shown ? cells.flatMap((row, r) => row.map((value, c) => number(value, r, c))) : []));
  }

  #listen() {
    const at = event => {
      const box = this.cells.getBoundingClientRect();
      const { rows, columns } = this.#data;
      const place = (part, whole, count) => Math.min(Math.max(Math.floor((part / whole) * count), 0), count - 1);
      return [place(event.clientY - box.top, box.height, rows.length), place(event.clientX - box.left, box.width, columns.length)];
    };
    this.cells.addEventListener("pointermove", event => this.#data && this.#moveTo(...at(event)));
    this.cells.addEventListener("click", event => {
      if (!this.#data) return;
      this.#moveTo(...at(event));
      this.#options.pick?.(...at(event));
    });
    this.cells.addEventListener("focus", () => this.#data && !this.#cursor && this.#moveTo(this.#data.row ?? 0, this.#data.column ?? 0));
    this.cells.addEventListener("keydown", event => this.#data && this.#key(event));
  }

  #key(event) {
    const { rows, columns } = this.#data;
    const [r, c] = this.#cursor ?? [0, 0];
    const edge = event.ctrlKey || event.metaKey;
    const moves = {
      ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1],
      Home: [edge ? 0 : r, 0], End: [edge ? rows.length - 1 : r, columns.length - 1],
    };
    if (event.key === "Escape") this.cells.blur();
    else if (event.key === "Enter" || event.key === " ") this.#options.pick?.(r, c);
    else if (event.key in moves) this.#moveTo(...moves[event.key]);
    else return;
    event.preventDefault();
  }

  #moveTo(row, column, say = true) {
    const { cells, rows, columns } = this.#data;
    const r = Math.min(Math.max(row, 0), rows.length - 1);
    const c = Math.min(Math.max(column, 0), columns.length - 1);
    const same = this.#cursor?.[0] === r && this.#cursor?.[1] === c;
    this.#cursor = [r, c];
    this.frame.hidden = false;
    this.frame.style.setProperty("--r", r);
    this.frame.style.setProperty("--c", c);
    if (same && say) return;
    const name = this.#options.reading(r, c);
    this.reading.replaceChildren(name, " ", this.#kit.out("reading", cells[r][c], this.#options.precision ?? 2));
  }
}

function ends(names) {
  return names.length > 1 ? [names[0], names.at(-1)] : names;
}

function labels(texts, marked) {
  return texts.map((text, at) => el("span", { class: at === marked ? "marked" : null }, text));
}
