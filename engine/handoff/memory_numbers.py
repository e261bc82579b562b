"""What the memory makes of the model's probability of each held-out token: p_mixed = a p + b.

a and b belong to the token and to how confident the model is (`engine.memory.mixing`), so they are written for each of
the classes of confidence. Training does not use them: this engine has no loss with the memory in it (the one that was
tried gained nothing). They tell what the result is worth beside the memory, which is how it will be used.

As in a scorecard, no held-out file is in the memory, and of a token's own file only what is before it is known.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine.corpus.batches.framing import Framing
from engine.corpus.batches.windows import HeldOutWindows
from engine.corpus.corpus import Corpus
from engine.generate.fits import fit_for_size
from engine.memory.evidence import Counter
from engine.memory.mixing import SURE
from engine.memory.recall import Recall
from engine.memory.repository_memory import RepositoryMemory

Progress = Callable[[int, int, str], None]
NOTHING = np.empty(0, np.uint32)


def memory_numbers(
    corpus: Corpus,
    windows: HeldOutWindows,
    repository_folder: Path,
    weights: int,
    progress: Progress | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """a and b (rows, l, classes) float32 of every target of `windows`, which are those of `corpus.validation_code`.

    Where the memory has no say (paths, separators, the first token of a file) a is 1 and b is 0. `repository_folder`:
    where the memory is kept.  `weights`: how many the model has.
    """
    tokenizer = corpus.tokenizer
    memory = RepositoryMemory(repository_folder, tokenizer).update(corpus)
    memory = memory.without({document.path for document in corpus.held_out_documents})
    mixing = fit_for_size(weights).mixing
    counter = Counter(tokenizer.vocab_size, tokenizer.special.end_of_text)
    shape = (len(windows.chosen), windows.seq_len, len(SURE) + 1)
    factor, share = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    framing, begin = Framing(tokenizer), 0
    documents = corpus.validation_code
    framing.prepare(document.path for document in documents)
    rows = {number: row for row, number in enumerate(windows.chosen)}
    for number, document in enumerate(documents):
        content = corpus.document_tokens(document)
        first = begin + len(framing.header(document.path))
        sources = memory.sources(document.path)
        for place in range(1, len(content)):
            window, column = divmod(first + place - 1, windows.seq_len)
            if (row := rows.get(window)) is not None:
                recall = Recall(counter, mixing, sources, content[:place], NOTHING)
                factor[row, column], share[row, column] = recall.shares_of(int(content[place]))
        begin += len(framing.document(document.path, content))
        if progress is not None:
            progress(number + 1, len(documents), "Asking the memory about held-out files")
    return factor, share
