"""The window: header, rail, pages and footer.

    ┌─ header ──── choosers ──────────── actions ─┐      a page is loaded when it is first shown (pages, preloading);
    │ rail │ repository/ adapt/ complete/         │      it is made with the Application object of `app.state`, reads
    │      │ checkpoints/ settings/               │      its controllers and asks them for what the user wants
    └─ footer ── connections_note ────────────────┘

Panes show what the controllers know; they compute nothing and see neither worker nor engine.

    main_window       puts it together, shows pages, asks before a run is left
    header            mark, chips, the one primary action, menu
    choosers          the chips: repository, model, device         actions      menu and keys
    rail              a word for each page, a count where something waits
    footer            statements about the running program         connections_note  the first of them: is it offline?
    pages             which pages there are, loaded by need        preloading   the same, ahead of need
    closing           leaving while a run goes on; the tray        dropping     a folder dragged onto the window

    repository/       what is learned, and what is not             adapt/       setting up a run, watching it
    complete/         the editor with suggestions                  checkpoints/ what was learned, kept
    settings/         every setting                                help/        searchable pages
    base_models/      getting a larger base                        parts/       what all pages are made of
"""
