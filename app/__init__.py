"""Codecoil's application: the command line and the desktop.  What computes is in `engine`; nothing here does arithmetic
on a model.

    codecoil ─▶ __main__ ─▶ command_line ─┬─▶ a command that prints, on the engine directly
                                          └─▶ desktop ─▶ window ◀─▶ state ◀─ queued signals ─▶ workers ─▶ engine
                                                      (panes)  (controllers,      (threads that own device,
                                                                GUI thread)        repository and store)

A pane asks a controller of `state` and listens to it; the controller sends a request to a worker; the worker calls the
engine and answers with a frozen value of `values`. No pane sees a worker, no worker a widget.

    command_line/   `codecoil` and its commands             desktop           makes window and controllers, ends them
    window/         header, rail, pages, dialogs            theme/            tokens, stylesheet, fonts, icons
    state/          controllers, one a thing                workers/          what runs in threads of their own
    values/         what crosses between threads            display           whether a window can be opened here

    network/        the guard, and base models              data/             where all state is kept
    single_instance one window for each data folder         defects           errors that nobody caught
"""

VERSION = "0.1.0"  # the same as in pyproject.toml; a test holds the two together
