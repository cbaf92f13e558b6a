import assert from "node:assert/strict";
import { test } from "node:test";

import { step } from "../../../src/allyouneed/guide/web/lib/colour.js";
import { notebookCell } from "../../../src/allyouneed/guide/web/lib/notebook.js";
import { fieldLabel, number, pieces, power, sentence, translator } from "../../../src/allyouneed/guide/web/lib/text.js";

const t = translator({ "a.b": "{x} of {y}", "w.n": "Keys", "field.layer": "Layer", "error.range": "{field}: {value}" });

test("texts are filled, and an unknown key shows itself", () => {
  assert.equal(t("a.b", { x: 1, y: "<b>" }), "1 of <b>");
  assert.equal(t("a.b", { x: 1 }), "1 of {y}");
  assert.equal(t("no.key"), "no.key");
  const node = name => ({ cloneNode: () => name });
  assert.deepEqual(pieces(t, "a.b", { x: node("X"), y: node("Y") }), ["", "X", " of ", "Y", ""]);
});

test("an input is called what its control is called", () => {
  assert.equal(fieldLabel(t, "w", "n"), "Keys");
  assert.equal(fieldLabel(t, "w", "layer"), "Layer");
  assert.equal(fieldLabel(t, "w", "other"), "other");
  assert.equal(sentence(t, "w", { key: "error.range", params: { field: "n", value: 3 } }), "Keys: 3");
});

test("numbers are written for reading", () => {
  assert.equal(number("en", 0.3456, 2), "0.35");
  assert.equal(number("en", -1.5, 1), "−1.5");
  assert.equal(number("en", 0, 3), "0");
  assert.equal(number("en", -0.04, 1), "0.0");
  assert.equal(number("en", 1, 3), "1.000");
  assert.deepEqual(power("en", [1.52, -27]), ["1.5 × 10", "−27"]);
  assert.deepEqual(power("en", [1, -28]), ["10", "−28"]);
  assert.equal(number("en", 0.0004, 3), "0.000");
  assert.equal(number("ko", 1234567, 0), "1,234,567");
  assert.equal(number("en", null, 2), "−∞");
});

test("a notebook cell is Python", () => {
  const fields = { d_k: { default: 64 }, scale: { default: true }, source: { default: "" } };
  assert.equal(
    notebookCell("scaling", { d_k: 512, scale: false, source: 'l"é' }, fields, "en"),
    'import allyouneed as ayn\n\nayn.widget("scaling", lang="en", d_k=512, scale=False, source="l\\"é")',
  );
  assert.match(notebookCell("scaling", { d_k: 64, scale: true, source: "" }, fields, "ko"), /ayn\.widget\("scaling", lang="ko"\)$/);
});

test("shares beyond the ends take the colour of the end", () => {
  assert.deepEqual([-1, 0, 0.5, 1, 2].map(step), [0, 0, 128, 255, 255]);
});
