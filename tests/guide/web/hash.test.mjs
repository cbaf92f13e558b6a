import assert from "node:assert/strict";
import { test } from "node:test";

import { clamp, formatHash, parseHash } from "../../../src/allyouneed/guide/web/lib/hash.js";

const FIELDS = {
  d_k: { type: "integer", default: 64, choices: [1, 2, 4, 64, 512, 1024] },
  n: { type: "integer", default: 8, min: 2, max: 32 },
  how: { type: "number", default: 0.693, min: -4, max: 8 },
  scale: { type: "boolean", default: true },
  mask: { type: "string", default: "causal", choices: ["none", "causal"] },
  source: { type: "string", default: "", longest: 10 },
};
const DEFAULTS = Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, field.default]));

test("a link says the place, what is not a default, and the language", () => {
  assert.deepEqual(parseHash("#s5.scaling?d_k=512&scale=0&lang=en"), { place: "s5.scaling", given: { d_k: "512", scale: "0" }, lang: "en" });
  assert.deepEqual(parseHash("#s5"), { place: "s5", given: {}, lang: null });
  assert.deepEqual(parseHash(""), { place: "", given: {}, lang: null });
});

test("state -> link -> state", () => {
  const inputs = { ...DEFAULTS, d_k: 512, scale: false, how: -1.5, mask: "none", source: "l'é & ?=#" };
  const hash = formatHash("s5.scaling", inputs, FIELDS);
  assert.deepEqual(clamp(parseHash(hash).given, FIELDS), { inputs, notes: [] });
  assert.equal(formatHash("s5.scaling", DEFAULTS, FIELDS), "#s5.scaling");
});

for (const [field, given, used] of [
  ["d_k", "9999", 1024],
  ["d_k", "60", 64],
  ["n", "0", 2],
  ["n", "2.6", 3],
  ["n", "Infinity", 32],
  ["how", "99", 8],
  ["source", "12345678901", "1234567890"],
]) {
  test(`${field}=${given} is brought to ${used}, and a note says so`, () => {
    const { inputs, notes } = clamp({ [field]: given }, FIELDS);
    assert.deepEqual(inputs, { ...DEFAULTS, [field]: used });
    assert.deepEqual(notes, [{ key: "note.clamped", params: { field, given, used: String(used) } }]);
  });
}

for (const [field, given] of [["n", "NaN"], ["n", ""], ["how", "x"], ["d_k", "NaN"], ["scale", "7"], ["mask", "all"]]) {
  test(`${field}=${given} says nothing, so the default is shown, and a note says so`, () => {
    const { inputs, notes } = clamp({ [field]: given }, FIELDS);
    assert.deepEqual(inputs, DEFAULTS);
    assert.deepEqual(notes, [{ key: "note.unusable", params: { field, used: String(DEFAULTS[field]) } }]);
  });
}

test("an unknown setting is left out, and a note says so", () => {
  const { inputs, notes } = clamp({ colour: "red" }, FIELDS);
  assert.deepEqual(inputs, DEFAULTS);
  assert.deepEqual(notes, [{ key: "note.unknown", params: { field: "colour" } }]);
});
