import assert from "node:assert/strict";
import { test } from "node:test";

import { PageModel } from "../../../src/allyouneed/guide/web/lib/model.js";

/** A fetch whose answers come when the test says so. */
function slowFetch() {
  const waiting = [];
  const fetch = (address, { body }) =>
    new Promise((resolve, reject) => {
      const answer = (content, status = 200) => resolve({ ok: status < 400, status, json: async () => content });
      waiting.push({ address, inputs: JSON.parse(body), answer, fail: () => reject(new TypeError("no server")) });
    });
  return { fetch, waiting };
}

const settle = () => new Promise(resolve => setTimeout(resolve, 5));
const state = () => ({ name: "scaling", inputs: { n: 1 }, result: null, error: null });

test("one request in flight, the last value wins, stale answers are dropped", async () => {
  const { fetch, waiting } = slowFetch();
  const model = new PageModel(state(), { fetch });
  const painted = [];
  model.on("change:result", () => painted.push(model.get("result").n));
  for (const n of [1, 2, 3, 4]) {
    model.set("inputs", { n });
    model.save_changes();
  }
  assert.equal(waiting.length, 1);
  waiting[0].answer({ n: 1 });
  await settle();
  assert.equal(waiting.length, 2);
  assert.deepEqual(waiting[1].inputs, { n: 4 });
  waiting[1].answer({ n: 4 });
  await settle();
  assert.deepEqual(painted, [4]);
  assert.equal(waiting[0].address, "api/scaling");
});

test("a refusal becomes an error and the result stays", async () => {
  const { fetch, waiting } = slowFetch();
  const model = new PageModel({ ...state(), result: { n: 0 } }, { fetch });
  model.save_changes();
  waiting[0].answer({ key: "error.range" }, 422);
  await settle();
  assert.deepEqual(model.get("error"), { key: "error.range" });
  assert.deepEqual(model.get("result"), { n: 0 });
});

test("a failed computation says so", async () => {
  const { fetch, waiting } = slowFetch();
  const model = new PageModel(state(), { fetch });
  model.save_changes();
  waiting[0].answer("Internal Server Error", 500);
  await settle();
  assert.equal(model.get("error").key, "error.unexpected");
});

test("without a server the model tells, asks again, and recovers with the newest inputs", async () => {
  const { fetch, waiting } = slowFetch();
  const model = new PageModel(state(), { fetch, patience: 1 });
  model.save_changes();
  waiting[0].fail();
  await settle();
  assert.equal(model.get("error").key, "frame.offline");
  model.set("inputs", { n: 9 });
  model.save_changes();
  waiting[1].fail();
  await settle();
  assert.deepEqual(waiting[2].inputs, { n: 9 });
  waiting[2].answer({ n: 9 });
  await settle();
  assert.equal(model.get("error"), null);
  assert.deepEqual(model.get("result"), { n: 9 });
});

test("a listener can leave", () => {
  const model = new PageModel(state());
  let count = 0;
  const listener = () => (count += 1);
  model.on("change:inputs", listener);
  model.set("inputs", {});
  model.off("change:inputs", listener);
  model.set("inputs", {});
  assert.equal(count, 1);
});
