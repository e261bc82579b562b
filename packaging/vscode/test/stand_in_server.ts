// A language server as small as the protocol allows, in place of `codecoil lsp`.  What it does is in the file
// `behaviour` beside it: "answer", "report" (its status as well), "hang" (never answers initialize), "refuse" (ends at
// once with a message), "crash" (ends a moment after it has started).

import * as fs from "node:fs";
import * as path from "node:path";

const HERE = path.dirname(process.argv[1]);
const BEHAVIOUR = fs.readFileSync(path.join(HERE, "behaviour"), "utf8").trim();
fs.appendFileSync(path.join(HERE, "starts"), `${process.pid} ${process.argv.slice(2).join(" ")}\n`);

interface Message {
  id?: number;
  method: string;
  params: Record<string, unknown>;
}

const LOADING = {
  state: "loading",
  model: "",
  memory: { files: 0, tokens: 0 },
  training: "",
  problem: "",
  sharedWithProgram: false,
};
const MEMORY = { files: 1, tokens: 12345 };
const READY = { ...LOADING, state: "ready", model: "starter", memory: MEMORY, training: "step 5 of 10" };

let wantsStatus = false;
let text = "";
let unread = Buffer.alloc(0);

if (BEHAVIOUR === "refuse") {
  process.stderr.write("codecoil: invalid choice: 'lsp'\n");
  process.exit(2);
}
process.stdin.on("data", (chunk) => {
  unread = Buffer.concat([unread, chunk]);
  for (let message = next(); message !== undefined; message = next()) {
    handle(message);
  }
});
process.stdin.on("end", () => process.exit(0));

function next(): Message | undefined {
  const end = unread.indexOf("\r\n\r\n");
  if (end < 0) {
    return undefined;
  }
  const length = Number(/Content-Length: (\d+)/.exec(unread.toString("utf8", 0, end))?.[1]);
  if (unread.length < end + 4 + length) {
    return undefined;
  }
  const body = unread.toString("utf8", end + 4, end + 4 + length);
  unread = unread.subarray(end + 4 + length);
  return JSON.parse(body);
}

function send(message: object): void {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function handle({ id, method, params }: Message): void {
  switch (method) {
    case "initialize":
      if (BEHAVIOUR !== "hang") {
        const textDocumentSync = { openClose: true, change: 1 };
        const experimental = BEHAVIOUR === "report" ? { codecoilStatus: true } : undefined;
        send({ id, result: { capabilities: { textDocumentSync, inlineCompletionProvider: {}, experimental } } });
        wantsStatus = (params.initializationOptions as { statusChanged?: boolean })?.statusChanged === true;
      }
      break;
    case "initialized":
      if (BEHAVIOUR === "crash") {
        process.stderr.write("out of memory\n", () => process.exit(1));
      }
      break;
    case "codecoil/status":
      send({ id, result: LOADING });
      if (wantsStatus) {
        send({ method: "codecoil/statusChanged", params: READY });
      }
      break;
    case "textDocument/didOpen":
      text = (params.textDocument as { text: string }).text;
      break;
    case "textDocument/inlineCompletion":
      send({ id, result: { items: [{ insertText: `${text}-and-more` }] } });
      break;
    case "shutdown":
      send({ id, result: null });
      break;
    case "exit":
      process.exit(0);
  }
}
