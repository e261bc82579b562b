"""The page "Complete": an editor whose next words are suggested, and what other models would have written there.

    page            puts the parts together; the one place that knows the Application object as a whole
    editor          the text, its line numbers, auto-indent, and the ghost shown in it; asks nobody anything
    suggester       when to ask for a ghost, what comes back, and what the user does with it
    side_by_side    the two models at the same cursor, and where their texts differ
    blend_row       how much of each of the two the ghost's model has
    timeline        the same cursor along a run
    sampling_drawer how the next token is chosen
    file_opener     a list of the repository's files with a filter, and the reading of one

    ghost, pace, indenting, differences, arrangement and syntax are rules without Qt, each tested by itself.

Whatever is typed here stays here: no file of the user's is ever written.
"""
