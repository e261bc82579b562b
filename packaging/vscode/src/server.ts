// Whether the language server runs: started and stopped with the settings, started again when it crashed.

import * as vscode from "vscode";

import { findProgram, isFound, thisMachine } from "./program";
import { ServerProcess } from "./server_process";
import type { Condition } from "./status";

const MOST_RESTARTS = 3; // after more crashes within the period, only the user starts it again
const RESTART_PERIOD = 3 * 60 * 1000; // milliseconds

/** What went wrong, and whether the setting `codecoil.path` is the way to fix it. */
export interface Failure {
  readonly message: string;
  readonly inSettings: boolean;
}

export class Server implements vscode.Disposable {
  private readonly conditionChanged = new vscode.EventEmitter<Condition>();
  private readonly failureMet = new vscode.EventEmitter<Failure>();
  private process: ServerProcess | undefined;
  private current: Condition = { kind: "off" };
  private crashes: number[] = [];
  private queue: Promise<void> = Promise.resolve();
  private newest = 0;

  readonly onConditionChanged = this.conditionChanged.event;
  readonly onFailure = this.failureMet.event;

  constructor(private readonly log: vscode.LogOutputChannel) {}

  get condition(): Condition {
    return this.current;
  }

  /** Make it agree with the settings; what runs or starts is ended first. */
  restart(): Promise<void> {
    this.crashes = [];
    return this.replace();
  }

  /** End the process; VS Code waits for the promise when it shuts down. */
  stop(): Promise<void> {
    return this.enqueue(() => Promise.resolve());
  }

  dispose(): void {
    this.conditionChanged.dispose();
    this.failureMet.dispose();
  }

  private replace(): Promise<void> {
    return this.enqueue(async () => {
      const settings = vscode.workspace.getConfiguration("codecoil");
      if (settings.get<boolean>("enabled", true)) {
        await this.start(settings.get<string>("path", ""));
      } else {
        this.enter({ kind: "off" });
      }
    });
  }

  /**
   * End the process at once (one that hangs while starting would hold up the queue), then do the job, unless a newer
   * one has come in the meantime.
   */
  private enqueue(job: () => Promise<void>): Promise<void> {
    const ending = this.end(this.process);
    this.process = undefined;
    const number = ++this.newest;
    this.queue = Promise.all([this.queue, ending]).then(() => (number === this.newest ? job() : undefined));
    return this.queue;
  }

  private async start(setting: string): Promise<void> {
    const result = findProgram(setting, thisMachine());
    if (!isFound(result)) {
      this.fail(`${result.problem} ${result.remedy}`, true);
      return;
    }
    this.enter({ kind: "starting" });
    const started: ServerProcess = new ServerProcess(result.file, this.log, {
      onStatus: (status) => this.process === started && this.enter({ kind: "on", status }),
      onCrash: (lastWords) => this.process === started && this.afterCrash(lastWords),
    });
    this.process = started;
    const problem = await started.start();
    if (this.process !== started) {
      return; // ended by a newer job
    }
    if (problem !== undefined) {
      this.process = undefined;
      this.fail(`${result.file} did not start as a language server. ${problem}`, false);
      return;
    }
    if (this.condition.kind === "starting") {
      this.enter({ kind: "on", status: undefined });
    }
    await this.askForStatus(started); // what changed while it started was reported to nobody
  }

  private async askForStatus(process: ServerProcess): Promise<void> {
    try {
      const status = await process.status();
      if (status !== undefined && this.process === process) {
        this.enter({ kind: "on", status });
      }
    } catch (error) {
      this.log.warn(`The status is not known: ${words(error)}`);
    }
  }

  private afterCrash(lastWords: string): void {
    const now = Date.now();
    this.crashes = [...this.crashes.filter((time) => now - time < RESTART_PERIOD), now];
    if (this.crashes.length <= MOST_RESTARTS) {
      this.log.warn("The language server ended; it is started again.");
      void this.replace();
    } else {
      this.process = undefined;
      this.fail(`The language server keeps ending. ${lastWords}`, false);
    }
  }

  private async end(process: ServerProcess | undefined): Promise<void> {
    try {
      await process?.stop();
    } catch (error) {
      this.log.warn(`While stopping: ${words(error)}`); // the process has ended all the same
    }
  }

  private fail(message: string, inSettings: boolean): void {
    this.log.error(message);
    this.enter({ kind: "failed", problem: message });
    this.failureMet.fire({ message, inSettings });
  }

  private enter(condition: Condition): void {
    this.current = condition;
    this.conditionChanged.fire(condition);
  }
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
