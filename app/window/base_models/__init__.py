"""Getting a larger base: the list, the question, the download, and the way in for a folder that is on disk already.

    dialog      the window "Get a base model"         model_card     one entry of the list

Nothing connects before the user has read host and size and pressed the button that says so.
"""
