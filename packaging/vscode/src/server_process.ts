// One process `codecoil lsp` and the client library's connection to it, from start to end.  server.ts decides when.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import * as path from "node:path";

import type * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient } from "vscode-languageclient/node";

import type { ServerStatus } from "./status";

const PATIENCE = 2000; // milliseconds from "please exit" to the end of the process
const MOST_WORDS = 500; // characters of its last message that are kept

export interface Listener {
  /** The server's own report. */
  onStatus(status: ServerStatus): void;
  /** It ended although it was not asked to; not called before `start` has succeeded. */
  onCrash(lastWords: string): void;
}

export class ServerProcess {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly client: LanguageClient;
  private readonly ended: Promise<void>;
  private lastWords = "";
  private isRunning = false;
  private settled: Promise<unknown> = Promise.resolve();

  constructor(file: string, log: vscode.LogOutputChannel, listener: Listener) {
    // Not in the folder that is open: it could not be deleted or renamed on Windows.
    this.child = spawn(file, ["lsp"], { cwd: path.dirname(file), windowsHide: true });
    this.child.stderr.on("data", (chunk: Buffer) => {
      this.lastWords = (this.lastWords + chunk.toString()).slice(-MOST_WORDS);
    });
    this.ended = new Promise((resolve) => {
      this.child.on("close", () => resolve());
      this.child.on("error", (error) => {
        this.lastWords = error.message;
        resolve();
      });
    });
    this.client = new QuietClient("codecoil", "Codecoil", () => this.spawned(), {
      initializationOptions: { statusChanged: true }, // have changes of the status reported
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
      outputChannel: log,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: async () => {
          await this.settled; // the library would forget that starting has failed
          if (this.isRunning) {
            this.isRunning = false;
            void this.ended.then(() => listener.onCrash(this.lastWords.trim()));
          }
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      initializationFailedHandler: () => false,
    });
    this.client.onNotification("codecoil/statusChanged", (status: ServerStatus) => listener.onStatus(status));
  }

  /** Wait until it answers.  Returns what was wrong, in the process's own words, if it does not. */
  start(): Promise<string | undefined> {
    const starting = this.startClient();
    this.settled = starting;
    return starting;
  }

  /** The server's report of now; undefined from a server that makes none. */
  async status(): Promise<ServerStatus | undefined> {
    if (!this.client.initializeResult?.capabilities.experimental?.codecoilStatus) {
      return undefined;
    }
    return (await this.client.sendRequest<ServerStatus | null>("codecoil/status", {})) ?? undefined;
  }

  /** Ask it to exit; kill it if it does not, or if it is still starting. */
  async stop(): Promise<void> {
    if (this.isRunning) {
      this.isRunning = false;
      const timer = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE);
      try {
        await this.client.dispose(PATIENCE);
      } finally {
        await this.ended;
        clearTimeout(timer);
      }
    } else {
      this.child.kill();
      await this.ended;
    }
  }

  private async startClient(): Promise<string | undefined> {
    try {
      await this.client.start();
      this.isRunning = true;
      return undefined;
    } catch (error) {
      this.child.kill();
      await this.ended;
      return this.lastWords.trim() || (error instanceof Error ? error.message : String(error));
    }
  }

  private async spawned(): Promise<ChildProcessWithoutNullStreams> {
    if (this.child.pid === undefined) {
      await this.ended;
      throw new Error(this.lastWords);
    }
    return this.child;
  }
}

/** The extension has its own words for what the library would show in a pop-up, and for one that failed to start. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override stop(timeout?: number): Promise<void> {
    return this.isRunning() ? super.stop(timeout) : Promise.resolve();
  }
}
