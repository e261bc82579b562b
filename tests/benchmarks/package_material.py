"""The Python files of a fetched package, as material to score a model on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.scorecard import HeldOutText, Material
from engine.scorecard.material import choose_cursors

SEED = 0


def read_material(folder: Path, work: Path, tokenizer: Tokenizer, characters: int, cursors: int) -> Material:
    """The Python files that our corpus would learn, in a fixed shuffle, until there are enough characters."""
    corpus = Repository(folder, work / "scan", tokenizer).scan()
    documents = [
        document
        for document in (*corpus.learned_documents, *corpus.held_out_documents)
        if corpus.by_path[document.path].language == "python"
    ]
    documents.sort(key=lambda document: document.path)
    texts: list[HeldOutText] = []
    for index in np.random.default_rng(SEED).permutation(len(documents)):
        text = tokenizer.decode(corpus.document_tokens(documents[index]))
        if sum(len(each.text) for each in texts) + len(text) <= characters:
            texts.append(HeldOutText(documents[index].path, text))
    texts.sort(key=lambda text: text.path)
    return Material(tuple(texts), choose_cursors(texts, cursors, SEED), SEED)
