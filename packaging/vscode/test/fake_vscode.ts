// A stand-in for the module `vscode`, which exists only inside the editor.  Loaded first (node --require), it answers
// every later require("vscode").  It has what the extension and the client library touch; tests read what was shown in
// `fake`.

import Module from "node:module";
import * as path from "node:path";

type Listener = (event: unknown) => unknown;

export class EventEmitter {
  private readonly listeners = new Set<Listener>();
  readonly event = (listener: Listener, owner?: unknown) => {
    const bound = owner === undefined ? listener : listener.bind(owner);
    this.listeners.add(bound);
    return new Disposable(() => this.listeners.delete(bound));
  };
  fire(event?: unknown): void {
    for (const listener of [...this.listeners]) {
      listener(event);
    }
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Disposable {
  static from = (...all: { dispose(): unknown }[]) => new Disposable(() => all.forEach((each) => each.dispose()));
  constructor(private readonly undo: () => unknown = () => undefined) {}
  dispose(): void {
    this.undo();
  }
}

export class Position {
  constructor(readonly line: number, readonly character: number) {}
}

export class Range {
  constructor(readonly start: Position, readonly end: Position) {}
}

export class InlineCompletionItem {
  constructor(readonly insertText: string, readonly range?: Range) {}
}

export class InlineCompletionList {
  constructor(readonly items: InlineCompletionItem[]) {}
}

export class Uri {
  private constructor(readonly scheme: string, readonly fsPath: string) {}
  static file = (file: string) => new Uri("file", file);
  static parse = (text: string) => new Uri(text.split(":")[0], decodeURIComponent(text.replace(/^\w+:\/\//, "")));
  static joinPath = (base: Uri, ...names: string[]) => new Uri(base.scheme, path.join(base.fsPath, ...names));
  toString(): string {
    return `${this.scheme}://${this.fsPath}`;
  }
}

interface Provider {
  provideInlineCompletionItems(...all: unknown[]): Promise<InlineCompletionList | null>;
}

/** What the editor shows and what is registered in it; `reset` for every test. */
class Fake {
  settings: Record<string, unknown> = {};
  folders: { uri: Uri; name: string; index: number }[] = [];
  messages: string[] = [];
  logged: string[] = [];
  answers: (string | undefined)[] = []; // to messages, the next one first
  commands = new Map<string, (...all: unknown[]) => unknown>();
  called: unknown[][] = []; // commands of the editor itself
  picks: { label: string; command: string }[] = [];
  providers: Provider[] = [];
  item = { text: "", tooltip: "", name: "", command: "", isShown: false, backgroundColor: undefined as unknown };
  painted: string[] = []; // every tooltip of the status item
  documents: object[] = [];
  configurationChanged = new EventEmitter();

  reset(): void {
    Object.assign(this, new Fake());
  }

  async set(name: string, value: unknown): Promise<void> {
    this.settings[name] = value;
    this.configurationChanged.fire({ affectsConfiguration: (section: string) => name.startsWith(section) });
  }
}

export const fake = new Fake();

const never = () => new Disposable();
const unused = () => new Disposable(() => undefined);

function message(words: string): Promise<string | undefined> {
  fake.messages.push(words);
  return Promise.resolve(fake.answers.shift());
}

function log(words: string): void {
  fake.logged.push(words);
}

const channel = { trace: unused, debug: unused, info: log, warn: log, error: log, append: log, appendLine: log };

const window_ = {
  createOutputChannel: () => ({ ...channel, show: unused, clear: unused, dispose: unused, onDidChangeLogLevel: never }),
  createStatusBarItem: () => {
    const show = () => (fake.item.isShown = true);
    return Object.assign(new Proxy(fake.item, {
      set(item, name, value) {
        if (name === "tooltip") {
          fake.painted.push(value);
        }
        return Reflect.set(item, name, value);
      },
    }), { show, dispose: unused });
  },
  showErrorMessage: message,
  showWarningMessage: message,
  showInformationMessage: message,
  showQuickPick: async (picks: { label: string; command: string }[]) => {
    fake.picks = picks;
    return undefined;
  },
  showWorkspaceFolderPick: async () => fake.folders.at(-1),
  activeTextEditor: undefined,
  visibleTextEditors: [],
  tabGroups: { all: [], onDidChangeTabs: never, onDidChangeTabGroups: never },
};

const workspace = {
  get workspaceFolders() {
    return fake.folders;
  },
  get textDocuments() {
    return fake.documents;
  },
  notebookDocuments: [],
  getWorkspaceFolder: () => undefined,
  getConfiguration: (section = "") => ({
    get: (name: string, otherwise?: unknown) => fake.settings[`${section}.${name}`] ?? otherwise,
    inspect: () => ({}),
    update: (name: string, value: unknown) => fake.set(`${section}.${name}`, value),
  }),
  onDidChangeConfiguration: (listener: Listener) => fake.configurationChanged.event(listener),
};

const languages = {
  match: () => 1,
  createDiagnosticCollection: () => ({ clear: unused, dispose: unused }),
  registerInlineCompletionItemProvider: (_selector: unknown, provider: Provider) => {
    fake.providers.push(provider);
    return new Disposable(() => fake.providers.splice(fake.providers.indexOf(provider), 1));
  },
};

const commands = {
  registerCommand: (name: string, run: () => unknown) => {
    fake.commands.set(name, run);
    return new Disposable(() => fake.commands.delete(name));
  },
  executeCommand: async (name: string, ...all: unknown[]) => {
    const own = fake.commands.get(name);
    return own ? own(...all) : fake.called.push([name, ...all]);
  },
};

/** Events that never come, for every name that starts like one. */
function withEvents(real: object): object {
  return new Proxy(real, {
    get: (target, name) => Reflect.get(target, name) ?? (/^on(Did|Will)/.test(String(name)) ? never : undefined),
  });
}

const known: Record<string, unknown> = {
  version: "1.91.0",
  EventEmitter,
  Disposable,
  Position,
  Range,
  InlineCompletionItem,
  InlineCompletionList,
  Uri,
  CancellationTokenSource: class {
    token = { isCancellationRequested: false, onCancellationRequested: never };
    cancel(): void {}
    dispose(): void {}
  },
  CancellationError: class extends Error {},
  ThemeColor: class {
    constructor(readonly id: string) {}
  },
  StatusBarAlignment: { Left: 1, Right: 2 },
  ConfigurationTarget: { Global: 1, Workspace: 2, WorkspaceFolder: 3 },
  InlineCompletionTriggerKind: { Invoke: 0, Automatic: 1 },
  env: { appName: "fake", language: "en", uiKind: 1, onDidChangeLogLevel: never },
  window: withEvents(window_),
  workspace: withEvents(workspace),
  languages: withEvents(languages),
  commands,
};

/** The library derives from many classes of the editor; any that is not known above is an empty one. */
const vscode = new Proxy(known, {
  get: (target, name) => (name in target ? target[String(name)] : (target[String(name)] = class {})),
});

interface Loader {
  _load(request: string, ...rest: unknown[]): unknown;
}

const loader = Module as unknown as Loader;
const load = loader._load;
loader._load = (request, ...rest) => (request === "vscode" ? vscode : load.call(loader, request, ...rest));
