// What the status bar says.  Words only: the item itself is made in extension.ts.

/** The server's report, the answer to `codecoil/status`; an empty text: there is none of it. */
export interface ServerStatus {
  readonly state: "loading" | "ready" | "failed";
  readonly model: string;
  readonly memory: { readonly files: number; readonly tokens: number };
  readonly training: string; // in words
  readonly problem: string; // of a failed one
  readonly sharedWithProgram: boolean; // the window that is open answers, and not a process of this editor
}

export type Condition =
  | { readonly kind: "off" }
  | { readonly kind: "starting" }
  | { readonly kind: "on"; readonly status: ServerStatus | undefined } // undefined: it makes no reports
  | { readonly kind: "failed"; readonly problem: string };

/** `text` with an icon of VS Code, `details` a line each, `warns`: painted so that it is noticed. */
export interface Shown {
  readonly text: string;
  readonly details: readonly string[];
  readonly warns: boolean;
}

const ON = "$(check) Codecoil";
const BUSY = "$(loading~spin) Codecoil";
const IS_ON = "Completions are on.";

export function shown(condition: Condition): Shown {
  switch (condition.kind) {
    case "off":
      return { text: "$(circle-slash) Codecoil", details: ["Completions are turned off."], warns: false };
    case "starting":
      return { text: BUSY, details: ["Starting…"], warns: false };
    case "failed":
      return { text: "$(warning) Codecoil", details: [condition.problem], warns: true };
    case "on":
      return condition.status === undefined ? { text: ON, details: [IS_ON], warns: false } : reported(condition.status);
  }
}

function reported(status: ServerStatus): Shown {
  if (status.state === "failed") {
    return shown({ kind: "failed", problem: status.problem });
  }
  const details = [status.state === "loading" ? "Reading the folder…" : IS_ON];
  if (status.model) {
    details.push(`Model: ${status.model}`);
  }
  if (status.memory.tokens) {
    details.push(`Memory: ${counted(status.memory.tokens, "token")} in ${counted(status.memory.files, "file")}`);
  }
  if (status.training) {
    details.push(`Training: ${status.training}`);
  }
  if (status.sharedWithProgram) {
    details.push("The Codecoil window answers.");
  }
  const isBusy = status.state === "loading" || status.training;
  return { text: isBusy ? BUSY : ON, details, warns: false };
}

function counted(count: number, thing: string): string {
  return `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
}
