"""The window: header, rail, pages and footer.

    ┌─ header ──── choosers ──────────── actions ─┐      a page is loaded when it is first shown (pages, preloading);
    │ rail │ repository/ adapt/ complete/         │      it is made with the Application object of `app.state`, reads
    │      │ checkpoints/ settings/               │      its controllers and calls them for what the user wants
    └─ footer ── connections_note ────────────────┘

Panes show what the controllers know; they compute nothing and see neither worker nor engine.

    main_window       puts it together, shows pages, asks before quitting during a run
    header            logo, chips, the one primary action, menu
    choosers          the chips: repository, model, device         actions      menu and shortcuts
    rail              a word for each page, with a count of what needs attention
    footer            the state of the program in a few words      connections_note  the first of them: is it offline?
    pages             which pages there are, loaded on demand      preloading   the same, ahead of demand
    closing           quitting during a run; the tray icon         dropping     a folder dragged onto the window

    repository/       what is learned, and what is not             adapt/       setting up a run, watching it
    complete/         the editor with suggestions                  checkpoints/ saved results
    settings/         every setting                                help/        searchable pages
    base_models/      getting a larger base model                  parts/       what all pages are made of
"""
