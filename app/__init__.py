"""Codecoil's application: the command line and the desktop.  What computes is in `engine`; nothing here does arithmetic
on a model.

    codecoil ─▶ __main__ ─▶ command_line ─┬─▶ a command that prints, on the engine directly
                                          └─▶ desktop ─▶ window ◀─▶ state ◀─ queued signals ─▶ workers ─▶ engine
                                                      (panes)  (controllers,      (threads that own device,
                                                                GUI thread)        repository and store)

A pane asks a controller of `state` and listens to it; the controller sends a request to a worker; the worker calls the
engine and answers with a frozen value of `values` or `events`. No pane sees a worker, no worker a widget.

    command_line/   `codecoil` and its commands             desktop           makes window and controllers, ends them
    window/         header, rail, pages, dialogs            theme/            tokens, stylesheet, fonts, icons
    state/          controllers, one a thing                workers/          what runs in threads of their own
    values/         what crosses between threads            events            what the engine's thread tells
    tour/           the whole story in the real window      display           whether a window can be opened here

    settings        what the user has set, on disk          limits            what a setting may be
    data_folder     where all state is kept                 data_move         moving it: copied, verified, switched
    single_instance one window for each data folder         watching          noticing that files change
    connections     the guard: what may be connected to     connection_errors what it raises
    base_models     larger models, with what they cost      base_model_fetching  getting one, after a yes
    defects         errors that nobody caught               log_file          what happened, for a report
    words           numbers and states for people           key_check         whether a text names a key
    atomic_file     replaces a file as a whole
"""

VERSION = "0.1.0"  # the same as in pyproject.toml; a test holds the two together
