/** Tokens as chips. Marks carry their name, a part of a letter its byte. */

import { el } from "./dom.js";

export function tokenText(t, token) {
  return token.kind === "piece" ? token.text : t(`token.${token.kind}`);
}

export function tokenChip(t, token) {
  const kind = /^⟨[0-9A-F]{2}⟩$/.test(token.text) ? "byte" : token.kind;
  return el("span", { class: "token", data: { kind } }, tokenText(t, token));
}
