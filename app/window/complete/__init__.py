"""The page "Complete": an editor whose next words are suggested, and what other models would have written there.

    page            puts the parts together; the one place that knows the Application object as a whole
    editor          the text, its line numbers, auto-indent, and the ghost shown in it; asks nobody anything
    suggester       when to ask for a ghost, what comes back, and what the user does with it

    folds           the strip that opens what is under the editor; drawer holds it:
    side_by_side    two models at the same cursor, alone and with the memory; side_pane is one of them
    blend_row       how much of each of the two the ghost's model has
    timeline        the same cursor along a run
    scores_card     the last run's scorecard
    options_card    how sure suggestions have to be (sure_slider) and how the next token is chosen
    memory_chip     the switch of the memory, with its size

    editor_card     the editor with its head and status_line; keeps what was typed, by file
    file_opener     a list of the repository's files with a filter; file_reading reads one in a thread of its own
    saving          writes the file, and asks before anything is lost; file_writing does it in a thread of its own
    session_keeper  what comes back after a restart

    line_numbers, ghost_layer, colouring   what is drawn in the editor; lexers says who reads which file
    keys            the ghost's keys                channel          one answer as it comes
    blank_keys      Enter, Tab and Backspace        suggestion_view  a suggestion to read and copy
    timeline_slider stops along a run

    ghost, pace, indenting, differences, arrangement, syntax, file_text and sessions are rules without Qt.

A file of the user's is written when they save it, and at no other time.
"""
