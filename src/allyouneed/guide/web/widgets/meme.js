/** Titles that answer a title. */

import { el } from "../lib/dom.js";
import { keepFocus, walk } from "../lib/picks.js";
import { pieces } from "../lib/text.js";

function build(kit) {
  const { t } = kit;
  const list = el("div", { class: "titles", role: "group", "aria-label": t("meme.titles") });
  const about = el("div", { class: "title-about", "aria-live": "polite" });
  const count = el("p", { class: "hint" });
  list.addEventListener("keydown", event => walk([...list.querySelectorAll("button")], event, { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }));
  const show = one => about.replaceChildren(...(one ? details(kit, one) : [t("meme.none")]));
  return {
    node: el("div", { class: "meme" }, list, about, count),
    draw(result) {
      const { titles, used } = result;
      const chip = (one, at) =>
        el("button", { type: "button", class: "pill", "aria-pressed": String(at + 1 === used.chosen), on: { click: () => kit.set("chosen", at + 1), focus: () => show(one), pointerenter: () => show(one) } }, one.title);
      keepFocus(list, () => list.replaceChildren(...titles.map(chip)));
      show(titles[used.chosen - 1]);
      count.replaceChildren(...pieces(t, "meme.count", { count: kit.out("count", result.count, 0), total: kit.out("total", result.total, 0) }));
    },
    tables: result => [
      {
        caption: t("meme.titles"),
        columns: [t("meme.title-name"), t("meme.year"), "arXiv", t("meme.needs-name")],
        rows: result.titles.map(({ title, year, arxiv, needs }, at) => [title, { key: `table.year.${at}`, value: year, digits: 0 }, arxiv, needs]),
      },
    ],
  };
}

export const meme = { controls: [{ field: "query", kind: "text", blank: () => "" }], build };

function details({ t }, { title, year, arxiv, needs }) {
  const when = el("data", { class: "cited", value: year, data: { source: `arXiv:${arxiv}` } }, String(year));
  return [el("strong", { lang: "en" }, title), el("span", {}, pieces(t, "meme.about-one", { year: when, needs: el("em", { lang: "en" }, needs), arxiv: el("code", {}, `arXiv:${arxiv}`) }))];
}
