// Codecoil in VS Code: the language server gives the completions, this file makes the status item and the commands.
// The extension opens no connection and reports nothing to anybody.

import * as vscode from "vscode";

import { openDesktop } from "./desktop";
import { desktopProgram, findProgram, isFound, thisMachine } from "./program";
import { type Failure, Server } from "./server";
import { type Condition, shown } from "./status";

const OPEN_SETTINGS = "Open settings";
const SHOW_LOG = "Show log";
const RESTART = "Restart";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("Codecoil", { log: true });
  const item = vscode.window.createStatusBarItem("codecoil.status", vscode.StatusBarAlignment.Right, 100);
  item.name = "Codecoil";
  item.command = "codecoil.showActions";
  const started = new Server(log);
  server = started;

  const command = (name: string, run: () => unknown) => vscode.commands.registerCommand(`codecoil.${name}`, run);
  context.subscriptions.push(
    log,
    item,
    started,
    started.onConditionChanged((condition) => paint(item, condition)),
    started.onFailure((failure) => void tell(failure, log)),
    command("adapt", () => adapt(context)),
    command("restart", () => started.restart()),
    command("toggle", toggle),
    command("showLog", () => log.show()),
    command("showActions", () => showActions()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("codecoil")) {
        void started.restart();
      }
    }),
  );
  paint(item, started.condition);
  item.show();
  await started.restart();
}

export function deactivate(): Promise<void> | undefined {
  return server?.stop();
}

function paint(item: vscode.StatusBarItem, condition: Condition): void {
  const { text, details, warns } = shown(condition);
  item.text = text;
  item.tooltip = details.join("\n");
  item.backgroundColor = warns ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  item.accessibilityInformation = { label: `Codecoil: ${details.join(" ")}` };
}

async function tell(failure: Failure, log: vscode.OutputChannel): Promise<void> {
  const remedy = failure.inSettings ? OPEN_SETTINGS : SHOW_LOG;
  const answer = await vscode.window.showErrorMessage(`Codecoil: ${failure.message}`, remedy, RESTART);
  if (answer === OPEN_SETTINGS) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "codecoil.path");
  } else if (answer === SHOW_LOG) {
    log.show();
  } else if (answer === RESTART) {
    await server?.restart();
  }
}

/** Open the desktop program on the folder of the active file, or on the only one, or on one that the user picks. */
async function adapt(context: vscode.ExtensionContext): Promise<void> {
  const folder = await chosenFolder();
  if (folder === undefined) {
    return;
  }
  const machine = thisMachine();
  const result = findProgram(vscode.workspace.getConfiguration("codecoil").get<string>("path", ""), machine);
  if (!isFound(result)) {
    const answer = await vscode.window.showErrorMessage(`Codecoil: ${result.problem} ${result.remedy}`, OPEN_SETTINGS);
    if (answer === OPEN_SETTINGS) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "codecoil.path");
    }
    return;
  }
  const logFile = vscode.Uri.joinPath(context.logUri, "desktop.log").fsPath;
  openDesktop(desktopProgram(result.file, machine), folder.uri.fsPath, logFile, (why) => {
    void vscode.window.showErrorMessage(`Codecoil's window did not open. ${why}`);
  });
}

async function chosenFolder(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
  if (folders.length === 0) {
    await vscode.window.showInformationMessage("Open a folder first: Codecoil adapts a model to a folder of code.");
    return undefined;
  }
  const active = vscode.window.activeTextEditor?.document.uri;
  const own = active && vscode.workspace.getWorkspaceFolder(active);
  if (own !== undefined && folders.includes(own)) {
    return own;
  }
  return folders.length === 1 ? folders[0] : vscode.window.showWorkspaceFolderPick({ placeHolder: "Adapt to" });
}

/** In the workspace if it has a value of its own, else for the user. */
async function toggle(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("codecoil");
  const isLocal = settings.inspect<boolean>("enabled")?.workspaceValue !== undefined;
  const target = isLocal ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await settings.update("enabled", !settings.get<boolean>("enabled", true), target);
}

async function showActions(): Promise<void> {
  const condition = server?.condition ?? { kind: "off" };
  const actions = [
    { label: condition.kind === "off" ? "Turn completions on" : "Turn completions off", command: "codecoil.toggle" },
    { label: "Adapt to this workspace", command: "codecoil.adapt" },
    { label: RESTART, command: "codecoil.restart" },
    { label: SHOW_LOG, command: "codecoil.showLog" },
  ];
  const placeHolder = shown(condition).details.join(" · ");
  const chosen = await vscode.window.showQuickPick(actions, { title: "Codecoil", placeHolder });
  if (chosen !== undefined) {
    await vscode.commands.executeCommand(chosen.command);
  }
}
