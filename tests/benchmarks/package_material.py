"""The files of a fetched package in its main language, as material to score a model on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from engine.corpus.corpus import Corpus
from engine.corpus.reading.kinds import Kind
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.scorecard import HeldOutText, Material
from engine.scorecard.material import choose_cursors

SEED = 0


def read_material(folder: Path, work: Path, tokenizer: Tokenizer, characters: int, cursors: int) -> Material:
    """What our corpus would learn of the package's main language, in a fixed shuffle, until there is enough of it."""
    corpus = Repository(folder, work / "scan", tokenizer).scan()
    language = main_language(corpus)
    documents = [
        document
        for document in (*corpus.learned_documents, *corpus.held_out_documents)
        if corpus.by_path[document.path].language == language
    ]
    documents.sort(key=lambda document: document.path)
    texts: list[HeldOutText] = []
    for index in np.random.default_rng(SEED).permutation(len(documents)):
        text = tokenizer.decode(corpus.document_tokens(documents[index]))
        if sum(len(each.text) for each in texts) + len(text) <= characters:
            texts.append(HeldOutText(documents[index].path, text))
    texts.sort(key=lambda text: text.path)
    return Material(tuple(texts), choose_cursors(texts, cursors, SEED), SEED)


def main_language(corpus: Corpus) -> str:
    """The programming language with the most tokens; "" if there is none."""
    tokens: Counter[str] = Counter()
    for document in (*corpus.learned_documents, *corpus.held_out_documents):
        verdict = corpus.by_path[document.path]
        if verdict.kind == Kind.CODE:
            tokens[verdict.language] += document.tokens
    return max(tokens, key=lambda language: (tokens[language], language), default="")
