"""Which files changed since a checkpoint was made.

A checkpoint keeps a short hash of the path and content of each file that it has seen, all in one string: neither names
nor code can be read from it, and 5,000 files take 40 kB.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection

from engine.checkpoints.store.store import Manifest
from engine.corpus.corpus import Corpus
from engine.corpus.reading.verdict import FileVerdict

SEEN = "seen"  # the key in a checkpoint's data
HASH_BYTES = 6


def seen_files(corpus: Corpus, without: Collection[str] = ()) -> str:
    """The hashes of the files that were learned or held out."""
    hashes = sorted(_hash(verdict) for verdict in corpus.files if verdict.learn and verdict.path not in without)
    return base64.b64encode(b"".join(hashes)).decode()


def changed_since(manifest: Manifest, corpus: Corpus) -> list[str]:
    """Paths of files that the checkpoint has not seen as they are now, in the order of the corpus.

    For a checkpoint that was not trained on files (an import, the starter model), all of them.
    """
    stored = manifest.data.get(SEEN, "")
    try:
        joined = base64.b64decode(stored if isinstance(stored, str) else "", validate=True)
    except ValueError:  # not written by us: nothing is known to have been seen
        joined = b""
    known = {joined[start : start + HASH_BYTES] for start in range(0, len(joined), HASH_BYTES)}
    return [verdict.path for verdict in corpus.files if verdict.learn and _hash(verdict) not in known]


def _hash(verdict: FileVerdict) -> bytes:
    content = verdict.learned_digest or verdict.digest
    return hashlib.blake2b(
        f"{verdict.path}\0{content}".encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES
    ).digest()
