"""From downloaded packages to the training data of the starter: read by our own corpus, cleaned, balanced, frozen.

    work/corpus/tokens.u16        the tokens of all documents, one after the other
    work/corpus/documents.jsonl   one line each: path, digest, tokens, language, package, whether it is only watched
    work/corpus/tokenizer.json
    work/corpus/summary.json      tokens by language and package

It is frozen because a run of many hours must find the same documents after every interruption, even if the code that
read them changes. A document's path is the one inside its package, as in a user's own repository.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from engine.corpus.batches.documents import Document
from engine.corpus.reading.settings import ScanSettings
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CorpusError
from starter.package_lists import EVALUATION, TRAIN, TUNING, WATCH

VOCABULARY = 8192
TOKENIZER_CHARACTERS = 20 << 20  # more does not change the vocabulary
# Data, prose and markup: not worth the capacity of a small model.
LANGUAGES_OFF = frozenset({
    "asciidoc", "css", "csv", "diff", "dtd", "edn", "fortran", "geojson", "gettext", "graphql", "html", "ini",
    "jsonl", "jupyter", "less", "m4", "mdx", "myst", "pem", "perl", "php", "plist", "po", "pofile", "pot",
    "properties", "proto", "protobuf", "rst", "sass", "scss", "svg", "tex", "text", "tsv", "webmanifest", "xml",
    "xsd",
})  # fmt: skip
# At most this many tokens per token of Python, for breadth.
SHARE_OF_PYTHON = {
    "typescript": 0.18, "javascript": 0.14, "tsx": 0.04, "jsx": 0.02, "rust": 0.10, "c": 0.07, "c++": 0.08,
    "cython": 0.02, "java": 0.06, "kotlin": 0.03, "go": 0.05, "swift": 0.02, "objective-c": 0.02, "shell": 0.03,
    "sql": 0.02, "markdown": 0.02, "yaml": 0.02, "toml": 0.01, "json": 0.01,
}  # fmt: skip
SHARE_OF_OTHERS = 0.01
LARGEST_PACKAGE = 1_200_000  # tokens of one package, so that none dominates
LEAST_TOKENS = 16
MOST_TOKENS = 8000  # of one file: the rest of a long file is more of the same
MOST_TOKENS_OF_JSON = 1000  # what is longer is data, not configuration
TABLE_SHARE = 0.35  # share of digits above which a file is a table
RESTRICTED_WORDS = re.compile(r"General\s+(?:#\s*|\*\s*)?Public\s+License|Mozilla\s+Public\s+License", re.IGNORECASE)
HEADER_CHARACTERS = 3000
LONG_LINE, ALIKE = 24, 0.5  # characters of a long line; share of known long lines that makes a file a copy
FILES = ("tokens.u16", "documents.jsonl", "tokenizer.json", "summary.json")


@dataclass(frozen=True)
class Kept:
    """A document of the prepared corpus."""

    path: str
    digest: str
    tokens: int
    language: str
    package: str
    watched: bool


@dataclass(frozen=True)
class _Candidate:
    path: str  # with the package's folder before it
    text: str
    language: str
    tokens: np.ndarray
    digest: str

    @property
    def package(self) -> str:
        return self.path.partition("/")[0]


class PreparedCorpus:
    """The frozen corpus.  Implements `DocumentSource`; the tokens stay on disk, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise CorpusError(f"{folder} is missing {', '.join(missing)}.", "Prepare the corpus first.")
        self.tokenizer = Tokenizer.load(folder / "tokenizer.json")
        lines = (folder / "documents.jsonl").read_text("utf-8").splitlines()
        self.kept = [Kept(**json.loads(line)) for line in lines]
        self.summary = json.loads((folder / "summary.json").read_text("utf-8"))
        self._tokens = np.memmap(folder / "tokens.u16", np.uint16, "r")
        self._begins: dict[tuple[str, str], int] = {}
        documents: dict[bool, list[Document]] = {False: [], True: []}
        place = 0
        for each in self.kept:
            documents[each.watched].append(Document(each.path, each.digest, each.tokens))
            self._begins[each.path, each.digest] = place
            place += each.tokens
        if place != len(self._tokens):
            raise CorpusError(
                f"{folder} is damaged: {len(self._tokens)} tokens instead of {place}.", "Prepare it again."
            )
        self.learned_documents = tuple(sorted(documents[False], key=lambda each: each.path))
        self.held_out_documents = tuple(sorted(documents[True], key=lambda each: each.path))

    def document_tokens(self, document: Document) -> np.ndarray:
        begin = self._begins[document.path, document.digest]
        return self._tokens[begin : begin + document.tokens]


def prepare(work: Path, say: Callable[[str], None], tokenizer: Tokenizer | None = None) -> PreparedCorpus:
    """Read, clean, balance and freeze the packages in `work/packages`; an existing frozen corpus is only opened.

    Without `tokenizer` one is trained; a model that has been trained already keeps its own.
    """
    target = work / "corpus"
    if target.is_dir():
        return PreparedCorpus(target)
    settings = ScanSettings(languages_off=LANGUAGES_OFF)
    train = Repository(work / "packages" / TRAIN, work / "scan", settings=settings)
    train.list_files()
    say(f"{len(train.learned_files()):,} files of the training packages are left after filtering")
    tokenizer = tokenizer or _tokenizer(work, train, say)
    foreign = _long_lines(_texts(work / "packages" / role) for role in (WATCH, TUNING, EVALUATION))
    say(f"{len(foreign):,} long lines of other packages are known")
    learned = _selected(_candidates(train, tokenizer), foreign, say)
    watched = _watched(work, settings, tokenizer)
    return _freeze(target, tokenizer, learned, watched, say)


def _tokenizer(work: Path, train: Repository, say: Callable[[str], None]) -> Tokenizer:
    path = work / "tokenizer.json"
    if not path.is_file():
        Tokenizer.train(train.learned_texts(TOKENIZER_CHARACTERS), VOCABULARY).save(path)
        say("the tokenizer is trained")
    return Tokenizer.load(path)


def _candidates(repository: Repository, tokenizer: Tokenizer) -> Iterator[_Candidate]:
    repository.use_tokenizer(tokenizer)
    corpus = repository.tokenise()
    for document in (*corpus.learned_documents, *corpus.held_out_documents):
        tokens = shortened(np.asarray(corpus.document_tokens(document)), tokenizer)
        language = corpus.by_path[document.path].language
        yield _Candidate(document.path, tokenizer.decode(tokens), language, tokens, document.digest)


def shortened(tokens: np.ndarray, tokenizer: Tokenizer) -> np.ndarray:
    """The first MOST_TOKENS at most, up to the end of a line if there is one in the last quarter."""
    if len(tokens) <= MOST_TOKENS:
        return tokens
    for place in range(MOST_TOKENS, MOST_TOKENS * 3 // 4, -1):
        if tokenizer.decode_bytes(tokens[place : place + 1])[:1] == b"\n":
            return tokens[:place]
    return tokens[:MOST_TOKENS]


def _selected(candidates: Iterable[_Candidate], foreign: set[bytes], say: Callable[[str], None]) -> list[_Candidate]:
    """The training set: no copies of other lists' files, no tables, no package or language beyond its share."""
    reasons: Counter[str] = Counter()
    by_package: Counter[str] = Counter()
    by_language: dict[str, list[_Candidate]] = {}
    for each in sorted(candidates, key=lambda each: blake2b(each.path.encode(), digest_size=8).digest()):
        reason = _unfit(each, foreign)
        if not reason and by_package[each.package] + len(each.tokens) > LARGEST_PACKAGE:
            reason = "package is full"
        if reason:
            reasons[reason] += len(each.tokens)
            continue
        by_package[each.package] += len(each.tokens)
        by_language.setdefault(each.language, []).append(each)
    python = sum(len(each.tokens) for each in by_language.get("python", []))
    kept: list[_Candidate] = []
    for language, group in by_language.items():
        room = python if language == "python" else int(python * SHARE_OF_PYTHON.get(language, SHARE_OF_OTHERS))
        for each in group:
            if room < len(each.tokens):
                reasons[f"{language} is full"] += len(each.tokens)
                continue
            room -= len(each.tokens)
            kept.append(each)
    for reason, tokens in reasons.most_common():
        say(f"left out: {tokens:,} tokens, {reason}")
    return sorted(kept, key=lambda each: each.path)


def _unfit(each: _Candidate, foreign: set[bytes]) -> str:
    """Why a document is left out of training; "" if it is not."""
    if len(each.tokens) < LEAST_TOKENS:
        return "too short"
    if RESTRICTED_WORDS.search(each.text[:HEADER_CHARACTERS]):
        return "restricted licence in its header"
    if sum(map(str.isdigit, each.text)) > TABLE_SHARE * len(each.text):
        return "a table of numbers"
    if each.language == "json" and len(each.tokens) > MOST_TOKENS_OF_JSON:
        return "JSON that is no configuration"
    lines = _long_lines([[each.text]])
    if lines and len(lines & foreign) > ALIKE * len(lines):
        return "copy of a file in another list"
    return ""


def _long_lines(groups: Iterable[Iterable[str]]) -> set[bytes]:
    """Digests of all lines long enough to be recognised."""
    return {
        blake2b(line.encode("utf-8", "replace"), digest_size=8).digest()
        for texts in groups
        for text in texts
        for raw in text.splitlines()
        if len(line := raw.strip()) >= LONG_LINE
    }


def _texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.read_text("utf-8", errors="replace")


def _watched(work: Path, settings: ScanSettings, tokenizer: Tokenizer) -> list[_Candidate]:
    repository = Repository(work / "packages" / WATCH, work / "scan", settings=settings)
    repository.list_files()
    fit = [each for each in _candidates(repository, tokenizer) if not _unfit(each, set())]
    return [each for each in fit if each.language not in ("markdown", "yaml", "toml", "json")]


def _freeze(
    target: Path,
    tokenizer: Tokenizer,
    learned: list[_Candidate],
    watched: list[_Candidate],
    say: Callable[[str], None],
) -> PreparedCorpus:
    partial = target.with_name(target.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    tokenizer.save(partial)
    languages: Counter[str] = Counter()
    packages: Counter[str] = Counter()
    with (
        (partial / "tokens.u16").open("wb") as tokens,
        (partial / "documents.jsonl").open("w", encoding="utf-8") as lines,
    ):
        for group, is_watched in ((learned, False), (watched, True)):
            taken: set[str] = set()
            for each in group:
                inner = each.path.partition("/")[2]
                path = each.path if inner in taken else inner
                taken.add(inner)
                kept = Kept(path, each.digest, len(each.tokens), each.language, each.package, is_watched)
                lines.write(json.dumps(asdict(kept)) + "\n")
                tokens.write(each.tokens.astype(np.uint16).tobytes())
                if not is_watched:
                    languages[each.language] += len(each.tokens)
                    packages[each.package] += len(each.tokens)
    summary = {
        "learned_tokens": sum(languages.values()),
        "learned_bytes": sum(len(each.text.encode("utf-8", "surrogatepass")) for each in learned),
        "learned_documents": len(learned),
        "watched_tokens": sum(len(each.tokens) for each in watched),
        "languages": dict(languages.most_common()),
        "packages": dict(packages.most_common()),
    }
    (partial / "summary.json").write_text(json.dumps(summary, indent=1), "utf-8")
    os.replace(partial, target)
    counts = f"{summary['learned_tokens']:,} tokens of {len(learned):,} files to train on"
    say(f"{counts}, {summary['watched_tokens']:,} to watch")
    return PreparedCorpus(target)
