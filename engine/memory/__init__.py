"""The repository memory: every token of the repository and the open file, consulted for every token written.

    corpus ─▶ repository_memory ─▶ snapshot ─▶ recall ─▶ probabilities of the next token
              (files: on disk)     (segments)   ▲
                                                └ open file, scores of the model

    suffixes, segment     the tokens of all documents, sorted by what precedes each: finding a context takes no time
    files                 a segment on disk, memory-mapped
    repository_memory     keeps it up to date with a corpus
    snapshot              what is known at one moment; where in the repository a suggestion comes from
    names                 which names occur
    evidence              what followed a context, counted
    mixing                combines counts with the model's distribution
    few_tokens            the same at the tokens that were seen, and nowhere else
    recall                the memory at one cursor
    neighbours, analogies lines elsewhere whose surroundings resemble the cursor's, and adaptations of them
    fitting               fits the numbers of the mixture (`engine.generate.fits` has those of each base model)

It needs no training and follows every edit. It belongs to a repository and a tokenizer, not to a checkpoint, is kept in
the data folder, and is never exported.
"""

from engine.memory.repository_memory import RepositoryMemory
from engine.memory.snapshot import MemorySnapshot, Place

__all__ = ["MemorySnapshot", "Place", "RepositoryMemory"]
