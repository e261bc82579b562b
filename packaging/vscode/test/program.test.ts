// Where the program is looked for.

import assert from "node:assert/strict";
import { test } from "node:test";

import { desktopProgram, findProgram, isFound, type Machine } from "../src/program";

function machine(files: string[], more: Partial<Machine> = {}): Machine {
  const environment = { PATH: "/usr/bin:/opt/coil/bin" };
  return { platform: "linux", home: "/home/me", environment, isProgram: (file) => files.includes(file), ...more };
}

function windows(files: string[], searched = "C:\\Tools"): Machine {
  return machine(files, { platform: "win32", home: "C:\\Users\\me", environment: { Path: searched } });
}

function found(setting: string, where: Machine): string | undefined {
  const result = findProgram(setting, where);
  return isFound(result) ? result.file : undefined;
}

test("a name is looked up on the PATH", () => {
  assert.equal(found("codecoil", machine(["/opt/coil/bin/codecoil"])), "/opt/coil/bin/codecoil");
  assert.equal(found("", machine(["/opt/coil/bin/codecoil"])), "/opt/coil/bin/codecoil");
});

test("folders that a desktop session may not have on its PATH are searched, too", () => {
  assert.equal(found("codecoil", machine(["/home/me/.local/bin/codecoil"])), "/home/me/.local/bin/codecoil");
  const bundle = "/Applications/Codecoil.app/Contents/MacOS/codecoil";
  assert.equal(found("codecoil", machine([bundle], { platform: "darwin" })), bundle);
});

test("the folder that is open is never searched", () => {
  const relative = { environment: { PATH: ".:bin::/usr/bin" } };
  const there = ["codecoil", "./codecoil", "bin/codecoil", "/codecoil"];
  assert.equal(found("codecoil", machine(there, relative)), undefined);
  assert.equal(found("./codecoil", machine(["./codecoil", "codecoil"])), undefined);
  assert.equal(found("codecoil", windows(["codecoil.exe", ".\\codecoil.exe"], ".;")), undefined);
});

test("a path is taken as it is, and ~ is the home folder", () => {
  assert.equal(found("/x/coil", machine(["/x/coil"])), "/x/coil");
  assert.equal(found("~/x/coil", machine(["/home/me/x/coil"])), "/home/me/x/coil");
});

test("Windows: .exe only, whatever the PATH is called", () => {
  assert.equal(found("codecoil", windows(["C:\\Tools\\codecoil.exe"])), "C:\\Tools\\codecoil.exe");
  assert.equal(found("codecoil", windows(["C:\\Tools\\codecoil.cmd", "C:\\Tools\\codecoil"])), undefined);
  assert.equal(found("C:\\x\\codecoil", windows(["C:\\x\\codecoil.exe"])), "C:\\x\\codecoil.exe");
});

test("what is missing is named, with what to do", () => {
  for (const setting of ["codecoil", "/x/coil", "x/coil"]) {
    const result = findProgram(setting, machine([]));
    assert.ok(!isFound(result) && result.problem.includes(setting) && result.remedy.includes("codecoil.path"));
  }
});

test("the starter without a console is preferred for the window", () => {
  const both = windows(["C:\\Tools\\codecoil.exe", "C:\\Tools\\codecoil-desktop.exe"]);
  assert.equal(desktopProgram("C:\\Tools\\codecoil.exe", both), "C:\\Tools\\codecoil-desktop.exe");
  assert.equal(desktopProgram("/x/codecoil", machine([])), "/x/codecoil");
});
