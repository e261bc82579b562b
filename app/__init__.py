"""Codecoil's application: the command line and the desktop.  What computes is in `engine`; nothing here does arithmetic
on a model.

    codecoil ─▶ __main__ ─▶ command_line ─┬─▶ a command that prints, on the engine directly
                                          └─▶ desktop ─▶ window ─▶ state ── jobs ──▶ workers ─▶ engine
                                                      (panes)  (controllers,    (threads that own the device,
                                                                GUI thread)      the repository and the store)

A pane calls a controller of `state` and listens to its signals; the controller asks a worker for a job; the worker
calls the engine and answers with a frozen value of `values`.  No pane sees a worker, no worker a widget: import-linter
checks it (pyproject.toml).

    command_line/     `codecoil` and its commands            window/   header, rail, pages, dialogs
    state/            controllers, one for each thing        workers/  what runs in threads of their own
    values/           what crosses between threads           theme/    tokens, stylesheet, fonts, icons
    network/          the guard, and base models             data/     where all state is kept
    server/           completions for editors, by HTTP on this machine only
    language_server/  the same as a language server, over standard input and output
    language_server/  completions for editors that start a language server

    desktop           makes controllers and window, and ends them
    display           whether a window can be opened here    system_libraries  what Qt needs that pip cannot install
    single_instance   one window for each data folder        defects           unhandled errors, logged and shown
"""

VERSION = "0.2.0"  # the same as in pyproject.toml; a test holds the two together
