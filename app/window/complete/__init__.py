"""The page "Complete": an editor whose next words are suggested, and what other models would have written there.

    page            puts the parts together; the one place that knows the Application object as a whole
    editor          the text, its line numbers, auto-indent, and the ghost shown in it; asks nobody anything
    suggester       when to ask for a ghost, what comes back, and what the user does with it
    side_by_side    the two models at the same cursor, and where their texts differ
    blend_row       how much of each of the two the ghost's model has
    timeline        the same cursor along a run
    sampling_drawer how the next token is chosen
    file_opener     a list of the repository's files with a filter; file_reading reads one in a thread of its own
    scores_card     the last run's scorecard beside the editor

    editor_card     the editor with its head and status_line, and what was typed, kept
    line_numbers, ghost_layer, colouring   what is drawn in the editor; lexers says who reads which file
    keys            the ghost's keys                channel          one answer as it comes
    suggestion_view a suggestion to read and copy   timeline_slider  stops along a run

    ghost, pace, indenting, differences, arrangement and syntax are rules without Qt, each tested by itself.

Whatever is typed here stays here: no file of the user's is ever written.
"""
