// What the status bar says.  Words only: the item itself is made in extension.ts.

/** What the language server reports about itself, in the notification `codecoil/status`; it may leave out any field. */
export interface ServerStatus {
  readonly model?: string;
  readonly memory?: { readonly files: number; readonly tokens: number };
  /** A run in the desktop program that this server talks to; `fraction` is how much of it is done, 0 to 1. */
  readonly training?: { readonly phase: string; readonly fraction?: number };
}

export type Condition =
  | { readonly kind: "off" }
  | { readonly kind: "starting" }
  | { readonly kind: "on"; readonly status: ServerStatus }
  | { readonly kind: "failed"; readonly problem: string };

/** `text` with an icon of VS Code, `details` a line each, `warns`: painted so that it is noticed. */
export interface Shown {
  readonly text: string;
  readonly details: readonly string[];
  readonly warns: boolean;
}

export function shown(condition: Condition): Shown {
  switch (condition.kind) {
    case "off":
      return { text: "$(circle-slash) Codecoil", details: ["Completions are turned off."], warns: false };
    case "starting":
      return { text: "$(loading~spin) Codecoil", details: ["Starting…"], warns: false };
    case "failed":
      return { text: "$(warning) Codecoil", details: [condition.problem], warns: true };
    case "on":
      return { text: onText(condition.status), details: onDetails(condition.status), warns: false };
  }
}

function onText(status: ServerStatus): string {
  if (status.training === undefined) {
    return "$(check) Codecoil";
  }
  const done = percent(status.training.fraction);
  return done === undefined ? "$(sync~spin) Codecoil" : `$(sync~spin) Codecoil ${done}`;
}

function onDetails(status: ServerStatus): string[] {
  const details = ["Completions are on."];
  if (status.model !== undefined) {
    details.push(`Model: ${status.model}`);
  }
  if (status.memory !== undefined) {
    const { files, tokens } = status.memory;
    details.push(`Memory: ${counted(tokens, "token")} in ${counted(files, "file")}`);
  }
  if (status.training !== undefined) {
    const done = percent(status.training.fraction);
    details.push(`Training: ${status.training.phase}${done === undefined ? "" : `, ${done}`}`);
  }
  return details;
}

function percent(fraction: number | undefined): string | undefined {
  return fraction === undefined ? undefined : `${Math.floor(100 * Math.min(1, Math.max(0, fraction)))} %`;
}

function counted(count: number, thing: string): string {
  return `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
}
