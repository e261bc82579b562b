// Opens the desktop program on a folder.  It outlives VS Code, so its standard error goes to a file and not to a pipe.

import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

const MOST_WORDS = 2000; // characters of its message that are shown

/**
 * Start it and return at once.  `failed` is called if it cannot be started or ends with an exit code other than 0, with
 * the reason in a few lines, for example that there is no display.
 */
export function openDesktop(program: string, folder: string, logFile: string, failed: (why: string) => void): void {
  fs.mkdirSync(path.dirname(logFile), { recursive: true });
  const log = fs.openSync(logFile, "w");
  const child = spawn(program, ["open", folder], {
    cwd: path.dirname(program), // not the folder that is open: the program would keep it busy
    detached: true,
    stdio: ["ignore", "ignore", log],
    windowsHide: true,
  });
  fs.closeSync(log);
  child.on("error", (error) => failed(error.message));
  child.on("exit", (code) => {
    if (code) {
      failed(lastWords(logFile) || `It ended with exit code ${code}.`);
    }
  });
  child.unref();
}

function lastWords(logFile: string): string {
  try {
    return fs.readFileSync(logFile, "utf8").trim().slice(-MOST_WORDS);
  } catch (error) {
    return `Its messages in ${logFile} cannot be read: ${error instanceof Error ? error.message : error}`;
  }
}
