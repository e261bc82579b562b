// What the status bar says.

import assert from "node:assert/strict";
import { test } from "node:test";

import { type ServerStatus, shown } from "../src/status";

const READY: ServerStatus = {
  state: "ready",
  model: "the starter model",
  memory: { files: 2, tokens: 1234567 },
  training: "",
  problem: "",
  sharedWithProgram: false,
};

function on(change: Partial<ServerStatus>) {
  return shown({ kind: "on", status: { ...READY, ...change } });
}

test("model and memory of a server that is ready", () => {
  const { text, details, warns } = on({});
  assert.match(text, /check/);
  assert.deepEqual(details.slice(1), ["Model: the starter model", "Memory: 1,234,567 tokens in 2 files"]);
  assert.equal(warns, false);
});

test("training, and that the window answers", () => {
  const { text, details } = on({ training: "step 3 of 50", sharedWithProgram: true });
  assert.match(text, /spin/);
  assert.ok(details.includes("Training: step 3 of 50") && details.some((line) => line.includes("window")));
});

test("nothing is said of what the server does not know yet", () => {
  const { text, details } = on({ state: "loading", model: "", memory: { files: 0, tokens: 0 } });
  assert.match(text, /spin/);
  assert.equal(details.length, 1);
});

test("a server that cannot complete warns and says why", () => {
  const { details, warns } = on({ state: "failed", problem: "The folder is gone." });
  assert.deepEqual([details, warns], [["The folder is gone."], true]);
});

test("a server without reports is simply on", () => {
  assert.match(shown({ kind: "on", status: undefined }).text, /check/);
});
