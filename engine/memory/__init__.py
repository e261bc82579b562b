"""The repository memory: every token of the repository and of the open file, asked at every token that is written.

    corpus ─▶ repository_memory ─▶ snapshot ─▶ recall ─▶ probabilities of the next token
              (files: on disk)     (segments)   ▲
                                                └ open file, scores of the model

    suffixes, segment     the tokens of all documents, sorted by what comes before each: a context is found in no time
    files                 a segment on disk, memory-mapped
    repository_memory     kept up to date with a corpus
    snapshot              what is known at one moment; where a suggestion stands in the repository
    names                 which names occur
    evidence              what followed a context, counted
    mixing                counts and the model's distribution as one
    recall                the memory at one cursor
    neighbours, analogies lines that stand elsewhere in surroundings like the cursor's, and versions of them
    fitting               the numbers of the mixture (which go with which base: `engine.generate.fits`)

It needs no training, follows every edit, belongs to a repository and a tokenizer, not to a checkpoint, lies in the
data folder and is in no export.
"""

from engine.memory.repository_memory import RepositoryMemory
from engine.memory.snapshot import MemorySnapshot, Place

__all__ = ["MemorySnapshot", "Place", "RepositoryMemory"]
