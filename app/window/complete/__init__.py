"""The Complete page: an editor with ghost text, and what other models would write at the same cursor.

    page            puts the parts together; the one module that knows the Application object as a whole
    editor          the text, auto-indent and the ghost text in it; requests nothing itself
    suggester       when to request ghost text, what arrives, and what the user does with it

    folds           the strip of buttons that open panels; drawer holds them:
    side_by_side    two models at the same cursor, alone and with the memory; side_pane is one of them
    blend_row       the share of each of the two models in the ghost text
    timeline        the same cursor at every checkpoint of a run; timeline_slider selects one
    scores_card     the scorecard of the last run
    options_card    minimum confidence, stops and sampling

    editor_card     the editor with its header and status_line; keeps unsaved edits by file
    file_opener     the files of the repository with a filter; file_access reads and writes them in threads
    saving          saves the file, and asks before anything is lost
    session_keeper  what is restored after a restart

    line_numbers, ghost_layer, colouring   what is drawn in the editor
    keys            the keys of ghost text          channel          one answer as it arrives
    indenting       Enter, Tab and Backspace        suggestion_view  a suggestion to read and copy

    ghost, pace, differences, arrangement, syntax, file_text and sessions do without Qt.

A file of the user's is written only when they save it.
"""
