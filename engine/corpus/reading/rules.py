"""The decision about each file, cheapest test first: by path, by content, by similarity.

    decide_by_path   nothing is opened: ignored, vendored, lock file, secret by name, too large, ...
    decide           from the bytes: binary, generated, minified, secrets; gives the text that would be learned
    settle_duplicates  of files that are the same, or nearly, one is learned

The first reason found is the verdict, unless the user's choice overrides it. `read` and `read_all` open
the files: any problem with one becomes its verdict.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from engine.corpus.reading import languages, secrets
from engine.corpus.reading.byte_passes import Swept, sweep
from engine.corpus.reading.kinds import Kind, kind_of
from engine.corpus.reading.near_duplicates import near_duplicates
from engine.corpus.reading.overrides import Choice, Overrides
from engine.corpus.reading.safe_opening import read_file
from engine.corpus.reading.settings import HeldOutBy, ScanSettings, SecretPolicy
from engine.corpus.reading.text import Decoded, decode, notebook_code
from engine.corpus.reading.verdict import FileVerdict, Reason, SecretFinding
from engine.corpus.reading.walk import Entry

__all__ = [
    "RULES_VERSION", "HeldOutBy", "Reading", "ScanSettings", "SecretPolicy",
    "contents", "decide", "decide_by_path", "read", "read_all", "settle_duplicates", "size_words",
]  # fmt: skip

RULES_VERSION = 3
"""Incremented when the same file may get another verdict: this invalidates cached results."""

LARGEST_OVERRIDE = 64 << 20  # larger files are never read, whatever the user chose
# A minified file has long lines: on average, or a single extreme one.
LONG_AVERAGE = 250
LONG_AVERAGE_BY_LANGUAGE = {"javascript": 120, "css": 120}
LONG_LINE = 20_000
FEWEST_CHARACTERS = 1000
BATCH, BATCH_BYTES = 32, 4 << 20  # what read_all opens at a time


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading one file.

    `text` is what is learned (a notebook's code, secrets masked), None if nothing is, or if this comes from a cache.
    `signature` is for `settle_duplicates`, empty if there is nothing to compare.
    """

    entry: Entry
    verdict: FileVerdict
    text: str | None = None
    signature: bytes = b""
    secrets: tuple[SecretFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Will:
    """What the user wants with one file."""

    file: bool  # this very file is to be learned
    place: bool  # this file, or a folder that holds it, is to be learned

    def lifts(self, reason: Reason) -> bool:
        """True if the user's choice outweighs this reason."""
        return self.file or (self.place and reason is not Reason.SECRET)


NO_WILL = _Will(False, False)


def decide_by_path(entry: Entry, settings: ScanSettings, overrides: Overrides) -> FileVerdict | None:
    """The verdict if the entry alone decides it, None if the file must be read.  Touches no disk."""
    return _by_path(entry, settings, overrides)[0]


def _by_path(entry: Entry, settings: ScanSettings, overrides: Overrides) -> tuple[FileVerdict | None, bool]:
    """The verdict by path or None, and whether the user's choice lifted a reason."""
    path = entry.path
    language = "" if entry.is_folder else languages.language_of(path)

    def left(reason: Reason, detail: str = "", overridden: bool = False) -> FileVerdict:
        kind = None if entry.is_folder else kind_of(path, language)
        return FileVerdict(path, False, reason, detail, language, entry.size, overridden=overridden, kind=kind)

    choice = overrides.for_path(path) or overrides.for_folder_of(path)
    if choice is Choice.LEAVE:
        return left(Reason.SWITCHED_OFF, overridden=True), False
    if entry.error:
        return left(Reason.UNREADABLE, entry.error), False
    if entry.outside:
        return left(Reason.OUTSIDE, "never followed"), False
    if entry.is_folder:
        if entry.ignored:
            return left(Reason.IGNORED, entry.ignored), False
        return left(Reason.LINK, f"points to {entry.link}"), False
    if entry.size == 0:
        return left(Reason.EMPTY), False
    will = _will(path, overrides)
    lifted = False
    for reason, detail in _path_reasons(entry, language, settings, overrides):
        if not will.lifts(reason):
            chosen = reason is Reason.LANGUAGE_OFF and language in overrides.languages
            return left(reason, detail, chosen), False
        lifted = True
    if entry.size > LARGEST_OVERRIDE:
        return left(Reason.TOO_LARGE, size_words(entry.size)), False
    return None, lifted


def _will(path: str, overrides: Overrides) -> _Will:
    if not overrides.paths and not overrides.folders:
        return NO_WILL
    file = overrides.for_path(path) is Choice.LEARN
    return _Will(file, file or overrides.for_folder_of(path) is Choice.LEARN)


def _path_reasons(
    entry: Entry, language: str, settings: ScanSettings, overrides: Overrides
) -> Iterator[tuple[Reason, str]]:
    """Every reason from path and size, in order of precedence."""
    path = entry.path
    if entry.ignored:
        yield Reason.IGNORED, entry.ignored
    if folder := languages.vendored_folder(path):
        yield Reason.VENDORED, f"in {folder}"
    if languages.is_lock_file(path):
        yield Reason.LOCK_FILE, ""
    if kind := secrets.secret_file_name(path):
        yield Reason.SECRET, f"{kind}, by file name"
    if languages.is_binary_name(path):
        yield Reason.BINARY, "by file extension"
    if why := languages.generated_name(path):
        yield Reason.GENERATED, why
    if languages.minified_name(path):
        yield Reason.MINIFIED, "by file name"
    if _is_off(language, settings, overrides):
        yield Reason.LANGUAGE_OFF, language
    if entry.size > settings.max_bytes:
        yield Reason.TOO_LARGE, f"{size_words(entry.size)}; the limit is {size_words(settings.max_bytes)}"


def _is_off(language: str, settings: ScanSettings, overrides: Overrides) -> bool:
    choice = overrides.languages.get(language)
    return choice is Choice.LEAVE or (choice is None and language in settings.languages_off)


def decide(
    entry: Entry, data: bytes, settings: ScanSettings, overrides: Overrides, swept: Swept | None = None
) -> Reading:
    """The verdict by content (before duplicates), for an entry for which decide_by_path gave None.

    `swept` is what `byte_passes` found in these bytes, if it was asked before.
    """
    by_path, lifted = None, False  # what is known already, unless the size is another one or the user had a say
    if len(data) != entry.size or overrides.paths or overrides.folders:
        by_path, lifted = _by_path(replace(entry, size=len(data)), settings, overrides)
    digest = hashlib.blake2b(data, digest_size=20).hexdigest()
    if by_path is not None:  # its size changed since it was listed
        return Reading(entry, replace(by_path, digest=digest))
    path = entry.path
    language = languages.language_of(path, data[:256])

    def left(reason: Reason, detail: str = "", overridden: bool = False) -> Reading:
        kind = Kind.GENERATED if reason is Reason.GENERATED else kind_of(path, language)
        verdict = FileVerdict(
            path, False, reason, detail, language, len(data), digest, overridden=overridden, kind=kind
        )
        return Reading(entry, verdict)

    decoded = decode(data)
    if isinstance(decoded, Reason):
        language = "" if language == languages.UNKNOWN else language
        return left(decoded)
    language = language or languages.UNKNOWN  # text under the name of something else
    text, code = decoded.text, None
    if text.isspace():
        return left(Reason.EMPTY, "only white space")
    if language == "jupyter":
        text = code = notebook_code(decoded.text)
        if code is None:
            return left(Reason.NOT_TEXT, "not a valid notebook")
        if not code:
            return left(Reason.EMPTY, "no code cells")
    as_it_is = code is None and decoded.encoding == "utf-8"
    content = data if as_it_is else text.encode("utf-8", "surrogatepass")
    if swept is None or not as_it_is:
        swept = sweep([content], secrets.automaton())[0]
    will = _will(path, overrides)
    for reason, detail in _text_reasons(text, language, swept, settings, overrides):
        if not will.lifts(reason):
            return left(reason, detail, reason is Reason.LANGUAGE_OFF and language in overrides.languages)
        lifted = True
    found = secrets.scan(path, content, swept.marked)
    findings, lines, words = _findings(path, found, decoded, text, code is not None, overrides)
    if words and settings.secret_policy is SecretPolicy.LEAVE_OUT:
        if not will.file:
            return replace(left(Reason.SECRET, words), secrets=findings)
        lifted = True  # learned, but never with the secret
    if lines:
        text = secrets.mask_lines(text, lines)
        content = text.encode("utf-8", "surrogatepass")
    learned = digest if as_it_is and not lines else hashlib.blake2b(content, digest_size=20).hexdigest()
    verdict = FileVerdict(
        path, True, None, words and f"masked: {words}", language, len(data), digest,
        masked_lines=lines, overridden=lifted, learned_digest=learned, kind=kind_of(path, language, text),
    )  # fmt: skip
    return Reading(entry, verdict, text, swept.signature, findings)


def _text_reasons(
    text: str, language: str, swept: Swept, settings: ScanSettings, overrides: Overrides
) -> Iterator[tuple[Reason, str]]:
    """Every reason from the text."""
    if _is_off(language, settings, overrides):
        yield Reason.LANGUAGE_OFF, language
    if why := languages.generated_text(text):
        yield Reason.GENERATED, why
    if len(text) >= FEWEST_CHARACTERS and language not in languages.PROSE:
        average = len(text) / swept.lines
        if average > LONG_AVERAGE_BY_LANGUAGE.get(language, LONG_AVERAGE):
            yield Reason.MINIFIED, f"{average:,.0f} characters per line"
        elif swept.longest > LONG_LINE:
            yield Reason.MINIFIED, f"a line of {swept.longest:,} characters"


def _findings(
    path: str, found: list[secrets.Found], decoded: Decoded, text: str, is_notebook: bool, overrides: Overrides
) -> tuple[tuple[SecretFinding, ...], tuple[int, ...], str]:
    """The findings, the lines of the learned text to mask, and a summary ("" if nothing is masked)."""
    findings, lines, words = [], [], []
    for secret in found:
        masked = secret.fingerprint not in overrides.not_secrets
        line = _line_in_notebook(decoded.text, text, secret.line) if is_notebook else secret.line
        findings.append(SecretFinding(path, line, secret.kind, masked, secret.fingerprint))
        if masked:
            lines.extend(range(secret.line, secret.last + 1))
            words.append(f"{secret.kind} on line {line}")
    more = f" and {len(words) - 3} more" if len(words) > 3 else ""
    return tuple(findings), tuple(lines), ", ".join(words[:3]) + more


def _line_in_notebook(notebook: str, code: str, line: int) -> int:
    """The line in the notebook file that holds this line of its code."""
    for ascii_only in (False, True):
        place = notebook.find(json.dumps(code.split("\n")[line - 1], ensure_ascii=ascii_only)[1:-1])
        if place >= 0:
            return notebook.count("\n", 0, place) + 1
    return line


def size_words(size: int) -> str:
    """A readable size: 12 KB, 3.4 MB."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(size / 1e3, 0.1):.{0 if size >= 1e4 else 1}f} KB"


def settle_duplicates(readings: Sequence[Reading], settings: ScanSettings, overrides: Overrides) -> list[FileVerdict]:
    """The final verdicts, in the same order: of files with the same bytes and of near-duplicates one is learned.

    Which one does not depend on the order given: one that the user named, then a file before a link, then the first by
    path. A duplicate that the user wants to learn anyway is learned, and names the other (for the held-out split).
    """
    verdicts = [reading.verdict for reading in readings]

    def named(i: int) -> bool:
        return overrides.for_path(verdicts[i].path) is Choice.LEARN

    order = sorted(
        (i for i, verdict in enumerate(verdicts) if verdict.learn),
        key=lambda i: (not named(i), bool(readings[i].entry.link), verdicts[i].path),
    )

    def settle(i: int, other: int, reason: Reason, likeness: float, detail: str) -> None:
        changed = {"similarity": likeness, "other": verdicts[other].path}
        if named(i):
            verdicts[i] = replace(verdicts[i], overridden=True, **changed)
        else:
            verdicts[i] = replace(verdicts[i], learn=False, reason=reason, detail=detail, masked_lines=(), **changed)

    first: dict[str, int] = {}
    single = []
    for i in order:
        kept = first.setdefault(verdicts[i].digest, i)
        if kept != i:
            settle(i, kept, Reason.DUPLICATE, 1.0, f"identical to {verdicts[kept].path}")
        else:
            single.append(i)
    near = near_duplicates([readings[i].signature for i in single], settings.near_duplicate_threshold)
    for position, (kept, likeness) in near.of.items():
        words = f"{min(round(100 * likeness), 99)} % like {verdicts[single[kept]].path}"
        settle(single[position], single[kept], Reason.NEAR_DUPLICATE, likeness, words)
    return verdicts


def read(root: Path, entry: Entry, settings: ScanSettings, overrides: Overrides) -> Reading:
    """`decide_by_path`, then the file, then `decide`.  Never raises for a bad file."""
    opened = _open(root, entry, settings, overrides)
    return opened if isinstance(opened, Reading) else _judged(*opened, settings, overrides)


def contents(root: Path, entry: Entry) -> bytes:
    """The bytes of a file; never follows a link, never waits for a pipe.  Raises OSError."""
    return read_file(os.path.join(root, entry.link or entry.path), LARGEST_OVERRIDE + 1)


def read_all(
    root: Path,
    entries: Iterable[Entry],
    settings: ScanSettings,
    overrides: Overrides,
    *,
    cancelled: Callable[[], bool] | None = None,
    threads: int | None = None,
) -> Iterator[Reading]:
    """The reading of every entry, in their order.  Never raises for a bad file; ends early when `cancelled()` is true.

    This thread opens files and decides; the passes over all bytes run on other threads, a batch ahead. Switching
    threads per file instead of per batch made waiting for the GIL take twice as long as the work.
    """
    stop = cancelled or (lambda: False)
    source = _batches(entries)
    threads = threads or os.cpu_count() or 1
    automaton = secrets.automaton()
    running: deque[tuple[list[Reading | tuple[Entry, bytes]], Future[list[Swept]] | None]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="reading")
    try:
        while not stop():
            while len(running) <= threads and (batch := next(source, None)):
                opened = [_open(root, entry, settings, overrides) for entry in batch]
                data = [found[1] for found in opened if not isinstance(found, Reading)]
                running.append((opened, pool.submit(sweep, data, automaton) if data else None))
            if not running:
                return
            opened, future = running.popleft()
            swept = iter(future.result() if future else ())
            for found in opened:
                yield found if isinstance(found, Reading) else _judged(*found, settings, overrides, next(swept))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """The entries in lists of at most BATCH, or as many as hold BATCH_BYTES: what is read ahead has a limit."""
    batch, size = [], 0
    for entry in entries:
        batch.append(entry)
        size += entry.size
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _open(root: Path, entry: Entry, settings: ScanSettings, overrides: Overrides) -> Reading | tuple[Entry, bytes]:
    """The verdict by path, or the file's bytes."""
    try:
        verdict = decide_by_path(entry, settings, overrides)
        if verdict is None:
            return entry, contents(root, entry)
        kind = secrets.secret_file_name(entry.path) if verdict.reason is Reason.SECRET else None
        return Reading(entry, verdict, secrets=(SecretFinding(entry.path, 0, kind),) if kind else ())
    except OSError as error:
        return _unreadable(entry, (error.strerror or str(error)).lower())


def _judged(
    entry: Entry, data: bytes, settings: ScanSettings, overrides: Overrides, swept: Swept | None = None
) -> Reading:
    try:
        return decide(entry, data, settings, overrides, swept)
    except Exception as error:  # a bug in one file's verdict must not cost the user all the others
        return _unreadable(entry, f"could not be checked ({type(error).__name__}: {error})")


def _unreadable(entry: Entry, detail: str) -> Reading:
    return Reading(entry, FileVerdict(entry.path, False, Reason.UNREADABLE, detail, size=entry.size))
