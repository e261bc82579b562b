"""The store: checkpoints written whole, read with every size checked, verified, moved to the trash.

store, reading    what can be done with a checkpoint; the half that only reads
contents          which checkpoints there are           manifest      what one says about itself
moves, writing    temporary, flushed, renamed           safe_reading  checked before anything is allocated
loading           mapped tensors, deltas applied        delta         rows and low-rank pairs on a base
checking          verify, in words                      card          the manifest for a person
tags              the one with a meaning                spans, progress  long arrays in pieces
"""
