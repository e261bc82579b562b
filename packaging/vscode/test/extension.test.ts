// The extension as it is shipped (the bundle), in a stand-in for VS Code, with a stand-in for the language server.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import { fake, Position, Uri } from "./fake_vscode";

const BUNDLE = path.resolve(__dirname, "..", "..", "extension.js");
const SERVER = path.join(__dirname, "stand_in_server.js");
const DOCUMENT = { languageId: "python", version: 1, isClosed: false, getText: () => "total", lineCount: 1 };
const NOT_CANCELLED = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };

let folder: string;
let extension: { activate(context: object): Promise<void>; deactivate(): Promise<void> };
let context: { subscriptions: { dispose(): unknown }[]; logUri: Uri };

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "codecoil-extension-"));
  fake.reset();
  context = { subscriptions: [], logUri: Uri.file(path.join(folder, "logs")) };
  delete require.cache[BUNDLE];
  extension = require(BUNDLE);
});

afterEach(async () => {
  await extension.deactivate();
  context.subscriptions.forEach((each) => each.dispose());
  for (const pid of starts()) {
    assert.throws(() => process.kill(pid, 0), `process ${pid} is left over`);
  }
  fs.rmSync(folder, { recursive: true });
});

/** A program called codecoil that behaves like this; its path goes into the settings. */
function install(behaviour: string): string {
  const program = path.join(folder, "codecoil");
  fs.copyFileSync(SERVER, path.join(folder, "server.js"));
  fs.writeFileSync(path.join(folder, "behaviour"), behaviour);
  fs.writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${folder}/server.js" "$@"\n`, { mode: 0o755 });
  fake.settings["codecoil.path"] = program;
  return program;
}

function starts(): number[] {
  const file = path.join(folder, "starts");
  const lines = fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n") : [];
  return lines.map((line) => Number(line.split(" ")[0]));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("a completion of the server becomes one of the editor", async () => {
  install("answer");
  const document = { ...DOCUMENT, uri: Uri.file(path.join(folder, "a.py")) };
  fake.documents = [document];
  await extension.activate(context);
  assert.equal(fake.providers.length, 1);
  const list = await fake.providers[0].provideInlineCompletionItems(
    document, new Position(0, 5), { triggerKind: 1, selectedCompletionInfo: undefined }, NOT_CANCELLED,
  );
  assert.deepEqual(list?.items.map((item) => item.insertText), ["total-and-more"]);
  assert.equal(fs.readFileSync(path.join(folder, "starts"), "utf8").trim().split(" ")[1], "lsp");
});

test("the status item says that it starts, and then what the server reports", async () => {
  install("report");
  await extension.activate(context);
  await until(() => fake.item.tooltip.includes("Model"));
  assert.ok(fake.item.isShown);
  assert.match(fake.painted.join(), /Starting.*Reading the folder.*Completions are on/s);
  assert.match(fake.item.tooltip, /Model: starter\nMemory: 12,345 tokens in 1 file\nTraining: step 5 of 10$/);
});

test("a missing program is said once, with a way to the setting", async () => {
  fake.settings["codecoil.path"] = path.join(folder, "nowhere");
  fake.answers = ["Open settings"];
  await extension.activate(context);
  await until(() => fake.called.length > 0);
  assert.equal(fake.messages.length, 1);
  assert.match(fake.messages[0], /nowhere.*codecoil\.path/);
  assert.deepEqual(fake.called, [["workbench.action.openSettings", "codecoil.path"]]);
  assert.ok(fake.item.text.includes("warning") && fake.item.backgroundColor);
});

test("a program that knows no such command: its own words, in one message", async () => {
  install("refuse");
  await extension.activate(context);
  assert.equal(fake.messages.length, 1);
  assert.match(fake.messages[0], /invalid choice: 'lsp'/);
  assert.match(fake.item.text, /warning/);
});

test("the setting switches it off and on", async () => {
  install("answer");
  fake.settings["codecoil.enabled"] = false;
  await extension.activate(context);
  assert.deepEqual(starts(), []);
  assert.match(fake.item.text, /circle-slash/);
  await fake.commands.get("codecoil.toggle")?.();
  await until(() => fake.item.text.includes("check"));
  assert.equal(fake.providers.length, 1);
  await fake.commands.get("codecoil.toggle")?.();
  await until(() => fake.item.text.includes("circle-slash"));
  assert.equal(fake.providers.length, 0);
});

test("restarting ends the old process and starts another", async () => {
  install("answer");
  await extension.activate(context);
  await fake.commands.get("codecoil.restart")?.();
  assert.equal(starts().length, 2);
  assert.throws(() => process.kill(starts()[0], 0));
  assert.match(fake.item.text, /check/);
  assert.deepEqual(fake.messages, []);
});

test("a server that never answers can be restarted", async () => {
  install("hang");
  const activated = extension.activate(context);
  await until(() => starts().length === 1);
  fs.writeFileSync(path.join(folder, "behaviour"), "answer");
  await fake.commands.get("codecoil.restart")?.();
  await activated;
  assert.match(fake.item.text, /check/);
  assert.deepEqual(fake.messages, []);
});

test("one that keeps crashing is given up, with its last words", async () => {
  install("crash");
  await extension.activate(context);
  await until(() => fake.messages.length > 0);
  assert.equal(starts().length, 4);
  assert.match(fake.messages[0], /keeps ending.*out of memory/);
  await new Promise((resolve) => setImmediate(resolve));
  assert.match(fake.item.text, /warning/);
});

test("adapting opens the desktop program on the folder", async () => {
  const program = path.join(folder, "codecoil");
  const noted = path.join(folder, "noted");
  fs.writeFileSync(program, "#!/bin/sh\nexit 9\n", { mode: 0o755 });
  const note = `#!/bin/sh\nprintf '%s|' "$@" > "${noted}.new"; mv "${noted}.new" "${noted}"\n`;
  fs.writeFileSync(`${program}-desktop`, note, { mode: 0o755 });
  fake.settings = { "codecoil.path": program, "codecoil.enabled": false };
  fake.folders = [{ uri: Uri.file("/some/my project"), name: "my project", index: 0 }];
  await extension.activate(context);
  await fake.commands.get("codecoil.adapt")?.();
  await until(() => fs.existsSync(noted));
  assert.equal(fs.readFileSync(noted, "utf8"), "open|/some/my project|");
  assert.deepEqual(fake.messages, []);
});

test("why the desktop program did not open is shown", async () => {
  const program = path.join(folder, "codecoil");
  fs.writeFileSync(program, "#!/bin/sh\necho 'codecoil: there is no display' >&2; exit 2\n", { mode: 0o755 });
  fake.settings = { "codecoil.path": program, "codecoil.enabled": false };
  fake.folders = [{ uri: Uri.file(folder), name: "folder", index: 0 }];
  await extension.activate(context);
  await fake.commands.get("codecoil.adapt")?.();
  await until(() => fake.messages.length > 0);
  assert.match(fake.messages[0], /there is no display/);
});

test("without a folder, adapting asks for one", async () => {
  fake.settings = { "codecoil.enabled": false };
  await extension.activate(context);
  await fake.commands.get("codecoil.adapt")?.();
  assert.match(fake.messages[0], /Open a folder first/);
});

test("every action of the status item is a command that exists, and every command is declared", async () => {
  fake.settings = { "codecoil.enabled": false };
  await extension.activate(context);
  await fake.commands.get("codecoil.showActions")?.();
  assert.ok(fake.picks.length > 0 && fake.picks.every((pick) => fake.commands.has(pick.command)));
  const description = JSON.parse(fs.readFileSync(path.resolve(__dirname, "..", "..", "..", "package.json"), "utf8"));
  const declared = description.contributes.commands.map((each: { command: string }) => each.command);
  assert.deepEqual([...fake.commands.keys()].sort(), declared.sort());
});

test("the bundle is complete: it runs with nothing beside it", () => {
  const alone = path.join(folder, "extension.js");
  fs.copyFileSync(BUNDLE, alone);
  const preload = path.join(__dirname, "fake_vscode.js");
  execFileSync(process.execPath, ["--require", preload, "-e", `require(${JSON.stringify(alone)}).activate`]);
});
