/** The soft lookup as a library. */

import { el } from "../lib/dom.js";
import { matrixTable, measure, part } from "../lib/parts.js";
import { keepFocus, walk } from "../lib/picks.js";
import { pieces } from "../lib/text.js";
import { tokenChip, tokenText } from "../lib/tokens.js";

function build(kit) {
  const { t } = kit;
  const card = el("div", { class: "library-card" });
  const shelf = el("div", { class: "shelf", role: "group", "aria-label": t("library.shelf") });
  const notes = el("div", { class: "library-notes" });
  const facts = el("dl", { class: "measures" });
  shelf.addEventListener("keydown", event => walk([...shelf.querySelectorAll("button")], event, { ArrowLeft: -1, ArrowRight: 1 }));
  return {
    node: el("div", { class: "library" }, card, part(t("library.shelf"), shelf, el("p", { class: "hint" }, t("library.shelf-help"))), part(t("library.read"), notes), facts),
    draw(result) {
      const { names, weights, contents, read, at } = result;
      card.replaceChildren(...pieces(t, "library.card", { word: tokenChip(t, names[at - 1]) }));
      const reach = Math.max(...contents.flat().map(Math.abs), ...read.map(Math.abs), 1e-9);
      const offset = result.at - result.used.visitor;
      const book = (name, place) =>
        el(
          "button",
          { type: "button", class: "book", vars: { "--share": weights[place] }, "aria-pressed": String(place + 1 === at), tabindex: place + 1 === at ? 0 : -1, on: { click: () => kit.set("visitor", Math.max(place + 1 - offset, 1)) } },
          tokenChip(t, name),
          strip(contents[place], reach),
          kit.out(`weight.${place}`, weights[place], 2),
        );
      keepFocus(shelf, () => shelf.replaceChildren(...names.map(book)));
      notes.replaceChildren(strip(read, reach));
      facts.replaceChildren(measure(t("library.sum"), kit.out("sum", result.sum, 3)));
    },
    tables: result => {
      const words = result.names.map(name => tokenText(t, name));
      return [
        { caption: t("library.shelf"), columns: [t("library.word"), t("library.weight")], rows: words.map((word, at) => [word, { key: `table.weight.${at}`, value: result.weights[at], digits: 4 }]) },
        matrixTable(t("library.contents"), "contents", [...result.contents, result.read], [...words, t("library.read")], result.read.map((_, at) => String(at))),
      ];
    },
  };
}

export const library = {
  controls: [
    { field: "sentence", kind: "text", blank: result => result.sentence },
    { field: "visitor", kind: "slider" },
    { field: "layer", kind: "slider" },
    { field: "head", kind: "slider" },
  ],
  build,
};

/** The numbers of a vector as a strip of colours. */
function strip(values, reach) {
  return el("span", { class: "vector", "aria-hidden": "true" }, values.map(value => el("span", { class: value < 0 ? "below" : "above", vars: { "--share": Math.abs(value) / reach } })));
}
