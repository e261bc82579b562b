"""Getting a larger base model: the list, the question, the download, and importing one that is on this computer.

    dialog      the window "Get a base model"         model_card     one entry of the list

Nothing connects before the user has seen host and size and agreed.
"""
