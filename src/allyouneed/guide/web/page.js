/** The page: language, theme, choice of model, deep links, and figures that start when the reader comes near. */

import { clamp, formatHash, parseHash } from "./lib/hash.js";
import { BakedModel, PageModel } from "./lib/model.js";
import { translator } from "./lib/text.js";
import { render } from "./render.js";

const data = JSON.parse(document.getElementById("data").textContent);
const NEAR = "600px";
const HEADROOM = 60; // pixels under the bar at the top
const REST = 400; // milliseconds between two changes of the address
const figures = new Map(); // place, as in "s5.scaling" -> { model, node }
let lang = document.documentElement.lang;
let chosen = "";
let cards = [];

const pickers = Object.fromEntries(["language", "theme", "model"].map(name => [name, document.getElementById(name)]));

// Figures

function place(node) {
  return `${node.closest("section").id}.${node.dataset.widget}`;
}

/** The model that the page has chosen, for the figures that can use one with its stacks. */
function choice(fields) {
  const card = cards.find(({ name }) => name === chosen);
  return fields.model?.lines.includes(card?.line) ? { model: chosen } : {};
}

function start(node, given = {}) {
  const name = node.dataset.widget;
  const fields = data.fields[name];
  const { inputs, notes } = clamp({ ...choice(fields), ...given }, fields);
  const state = { name, fields, inputs, notes, lang, strings: data.strings[lang], place: place(node), chosen: choice(fields), result: null, error: null };
  const model = data.baked ? new BakedModel(state, data.baked[name]) : new PageModel(state);
  figures.set(place(node), { model, node });
  render({ model, el: node });
  model.on("change:inputs", () => readdress(formatHash(place(node), model.get("inputs"), fields)));
  model.save_changes();
}

const near = new IntersectionObserver(
  entries => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      if (!figures.has(place(target))) start(target);
    }
  },
  { rootMargin: NEAR },
);

/** Marks the section that is being read in the table of contents: the one that crosses the upper third of the window. */
const reading = new IntersectionObserver(
  entries => {
    for (const { isIntersecting, target } of entries) {
      const link = document.querySelector(`.contents a[href="#${target.id}"]`);
      if (isIntersecting) link?.setAttribute("aria-current", "location");
      else link?.removeAttribute("aria-current");
    }
  },
  { rootMargin: "-33% 0px -66%" },
);

function watch() {
  for (const node of document.querySelectorAll("figure[data-widget]")) near.observe(node);
  for (const node of document.querySelectorAll("section")) reading.observe(node);
}

// Language: the prose is exchanged, the figures move over as they are.

/** The piece of prose at the top of the window, or the one `at` a place: both languages have the same pieces. */
function position(at) {
  const tops = [...document.querySelectorAll(".opening, section > *")].map(node => node.getBoundingClientRect().top);
  const found = at ?? Math.max(tops.findIndex(top => top >= HEADROOM), 0);
  return { at: found, top: tops[found] };
}

function speak(next) {
  if (next === lang) return;
  const kept = position();
  lang = next;
  const fresh = document.querySelector(`template[data-lang="${lang}"]`).content.cloneNode(true);
  for (const { node } of figures.values()) fresh.querySelector(`#${node.closest("section").id} [data-widget="${node.dataset.widget}"]`).replaceWith(node);
  document.getElementById("prose").replaceChildren(fresh);
  watch();
  for (const { model } of figures.values()) {
    model.set("lang", lang);
    model.set("strings", data.strings[lang]);
  }
  label();
  scrollBy({ top: position(kept.at).top - kept.top, behavior: "instant" });
  const address = new URL(location.href);
  address.searchParams.set("lang", lang);
  history.replaceState(null, "", address);
}

function label() {
  const t = translator(data.strings[lang]);
  document.documentElement.lang = lang;
  document.title = `${t("page.title")} · allyouneed`;
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of document.querySelectorAll("[data-t-label]")) node.setAttribute("aria-label", t(node.dataset.tLabel));
  pickers.language.value = lang;
  offer();
}

// Theme

function dress(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  dispatchEvent(new Event("aun-theme"));
}

function chooseTheme(theme) {
  if (theme) localStorage.setItem("aun-theme", theme);
  else localStorage.removeItem("aun-theme");
  dress(theme);
}

// Models

/** Fills the list of models; one that cannot be used says so. */
function offer() {
  const t = translator(data.strings[lang]);
  const about = card => (card.problem ? t("page.model-unusable") : t(`page.model-${card.line}`));
  const options = cards.map(card => new Option(`${card.name} (${about(card)})`, card.name));
  pickers.model.replaceChildren(new Option(t("page.model-each"), ""), ...options);
  pickers.model.value = chosen;
}

/** Why a model cannot be chosen, in a sentence, or nothing. */
function obstacle({ name, line, problem }) {
  if (Object.values(data.fields).some(({ model }) => model?.lines.includes(line))) return "";
  const t = translator(data.strings[lang]);
  return problem ? t("error.model", { reason: problem }) : t("page.model-nowhere", { name });
}

/** Gives the model to every figure that can use one. One that cannot be used is refused. */
function choose(name) {
  const card = cards.find(one => one.name === name);
  const problem = card ? obstacle(card) : "";
  document.getElementById("model-status").textContent = problem;
  if (problem) name = "";
  if (name !== chosen) {
    chosen = name;
    for (const { model } of figures.values()) {
      const fields = model.get("fields");
      if (!("model" in fields)) continue;
      model.set("chosen", choice(fields));
      model.set("inputs", { ...model.get("inputs"), model: fields.model.default, ...choice(fields) });
      model.save_changes();
    }
  }
  offer();
}

async function meetModels() {
  cards = data.baked ? [] : await (await fetch("api/models")).json();
  if (data.own.length) choose(data.own[0]);
  offer();
}

// Deep links

let resting = false;
let awaited = null;

/** The address follows the figures with rests: Safari refuses more than 100 changes in 30 seconds, Chromium forgets them. */
function readdress(hash) {
  awaited = hash;
  if (resting || hash === null) return;
  history.replaceState(null, "", hash);
  [resting, awaited] = [true, null];
  setTimeout(() => {
    resting = false;
    readdress(awaited);
  }, REST);
}

/** Shows what the address names: a language, and a figure in a state. */
function follow() {
  awaited = null; // the reader has gone elsewhere
  const { place: wanted, given, lang: named } = parseHash(location.hash);
  const asked = named ?? new URLSearchParams(location.search).get("lang");
  if (asked in data.strings) speak(asked);
  if (!wanted.includes(".")) return;
  const [section, widget] = wanted.split(".");
  const node = document.getElementById(section)?.querySelector(`[data-widget="${CSS.escape(widget)}"]`);
  if (!node) return;
  if (figures.has(wanted)) {
    const { model } = figures.get(wanted);
    const { inputs, notes } = clamp({ ...choice(model.get("fields")), ...given }, model.get("fields"));
    model.set("notes", notes);
    model.set("inputs", inputs);
    model.save_changes();
  } else {
    near.unobserve(node);
    start(node, given);
  }
  node.scrollIntoView({ block: "start", behavior: "instant" });
}

// Printing is done in the light.
addEventListener("beforeprint", () => dress("light"));
addEventListener("afterprint", () => dress(localStorage.getItem("aun-theme")));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("aun-theme")));

pickers.language.addEventListener("change", () => speak(pickers.language.value));
pickers.theme.addEventListener("change", () => chooseTheme(pickers.theme.value));
pickers.model.addEventListener("change", () => choose(pickers.model.value));
pickers.theme.value = localStorage.getItem("aun-theme") ?? "";
pickers.language.value = lang;
addEventListener("hashchange", follow);
const met = meetModels();
if (data.own.length) await met; // the figures begin with the reader's own model: which of them can use it, it says itself
follow();
watch();
