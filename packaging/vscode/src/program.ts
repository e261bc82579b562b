// Where the Codecoil program is.  Only absolute paths are returned: Windows would otherwise look in the folder that is
// open before it looks on the PATH, and run whatever a repository keeps there.

import * as fs from "node:fs";
import * as path from "node:path";

export const PROGRAM = "codecoil";

/** What the search depends on; tests have their own. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
  isProgram(file: string): boolean;
}

export interface Found {
  readonly file: string;
}

/** `problem` and `remedy` are sentences for people. */
export interface Missing {
  readonly problem: string;
  readonly remedy: string;
}

export function isFound(result: Found | Missing): result is Found {
  return "file" in result;
}

/** The program that the setting `codecoil.path` means. */
export function findProgram(setting: string, machine: Machine): Found | Missing {
  const paths = machine.platform === "win32" ? path.win32 : path.posix;
  const wanted = setting.trim() || PROGRAM;
  if (wanted.includes("/") || wanted.includes(paths.sep)) {
    return findFile(wanted, machine, paths);
  }
  const folders = [...pathFolders(machine, paths), ...usualFolders(machine, paths)];
  for (const folder of folders) {
    const file = paths.join(folder, withExtension(wanted, machine));
    if (machine.isProgram(file)) {
      return { file };
    }
  }
  return {
    problem: `The program "${wanted}" is not on the PATH.`,
    remedy: "Install Codecoil, or set codecoil.path to where it is.",
  };
}

/** The starter without a console beside this program, else the program itself: both take the same arguments. */
export function desktopProgram(file: string, machine: Machine): string {
  const paths = machine.platform === "win32" ? path.win32 : path.posix;
  const desktop = paths.join(paths.dirname(file), withExtension(`${PROGRAM}-desktop`, machine));
  return machine.isProgram(desktop) ? desktop : file;
}

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    home: process.env.HOME ?? process.env.USERPROFILE ?? "",
    environment: process.env,
    isProgram(file: string): boolean {
      try {
        fs.accessSync(file, fs.constants.X_OK);
        return fs.statSync(file).isFile();
      } catch {
        return false; // not there, or not for this user
      }
    },
  };
}

function findFile(wanted: string, machine: Machine, paths: path.PlatformPath): Found | Missing {
  const remedy = "Correct the setting codecoil.path.";
  const file = /^~[/\\]/.test(wanted) ? paths.join(machine.home, wanted.slice(2)) : wanted;
  if (!paths.isAbsolute(file)) {
    return { problem: `codecoil.path is "${wanted}", which is neither a name nor an absolute path.`, remedy };
  }
  for (const each of [file, withExtension(file, machine)]) {
    if (machine.isProgram(each)) {
      return { file: each };
    }
  }
  return { problem: `codecoil.path is "${wanted}", but there is no such program.`, remedy };
}

function pathFolders(machine: Machine, paths: path.PlatformPath): string[] {
  const name = Object.keys(machine.environment).find((each) => each.toUpperCase() === "PATH") ?? "PATH";
  const folders = (machine.environment[name] ?? "").split(paths.delimiter);
  return folders.filter((folder) => paths.isAbsolute(folder));
}

/** A VS Code that was started from a desktop's menu may have a shorter PATH than a terminal. */
function usualFolders(machine: Machine, paths: path.PlatformPath): string[] {
  if (machine.platform === "win32") {
    return [];
  }
  const bundle = "/Applications/Codecoil.app/Contents/MacOS";
  const folders = machine.platform === "darwin" ? [bundle, "/opt/homebrew/bin", "/usr/local/bin"] : [];
  return machine.home ? [paths.join(machine.home, ".local", "bin"), ...folders] : folders;
}

/** Windows: only .exe, since a script cannot be started without a shell. */
function withExtension(name: string, machine: Machine): string {
  return machine.platform === "win32" && !/\.exe$/i.test(name) ? `${name}.exe` : name;
}
