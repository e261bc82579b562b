"""Getting a larger base model: the offer, the list, the question, the download, and importing one that is here already.

    dialog      the window "Get a base model"         model_card     one entry of the list
    offer_card  the offer at the first start

Nothing connects before the user has seen from where and how much, and agreed.
"""
