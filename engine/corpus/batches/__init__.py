"""Documents to batches: what is held out, how a document is framed, windows for the trainer.

split         which files are only measured on                held_out     that choice as the repository lives on
held_out_parts  validation and scoring                        documents    texts in a fixed order with their tokens
framing       separator, path, content, end                   fim          whose middle goes to the end, and where
windows       batches of windows for the trainer
"""
