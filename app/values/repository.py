"""A repository as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file, or one folder that is excluded as a whole (then `path` ends with "/")."""

    path: str
    language: str
    size: int
    tokens: int | None  # None: not counted yet, or not learned
    learn: bool
    reason: str = ""  # the reason's key ("generated"), to filter by; empty where it is learned
    reason_words: str = ""  # the same for people
    detail: str = ""  # "94 % like routes/passes.py"; never a secret itself
    held_out: bool = False
    overridden: bool = False  # by the user
    masked_lines: int = 0  # lines blanked because they contain a secret


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of something there is; tokens of learned files only."""

    files: int = 0
    bytes: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class LanguageShare:
    """One language of what is learned; `share` of the tokens (of the bytes, before tokens are counted)."""

    language: str
    amount: Amount
    share: float


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """How many files are excluded for one reason."""

    reason: str
    words: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class SecretRow:
    """Where a secret was found and of which kind, never what it says; line 0: the file as a whole."""

    path: str
    line: int
    kind: str
    masked: bool
    fingerprint: str  # for `RepositoryController.set_not_secret`


@dataclass(frozen=True)
class CorpusTotals:
    """The repository in numbers; `learned` includes the held-out files, which `held_out` counts separately."""

    all: Amount = Amount()
    learned: Amount = Amount()
    held_out: Amount = Amount()
    left_out: Amount = Amount()


@dataclass(frozen=True, eq=False)
class CorpusView:
    """A repository at one moment.  `has_tokens` is False for the first list, before anything is tokenised."""

    root: str
    files: tuple[FileRow, ...]  # by path
    by_language: tuple[LanguageShare, ...]  # largest first
    by_reason: tuple[ReasonCount, ...]  # most files first
    totals: CorpusTotals
    secrets: tuple[SecretRow, ...] = ()
    notes: tuple[str, ...] = ()  # whole sentences
    has_tokens: bool = False
    languages_off: tuple[str, ...] = ()  # by the user or by default
    seconds: float = 0.0  # that reading took


@dataclass(frozen=True)
class ChangesSince:
    """What changed since the checkpoint that the repository was last adapted with."""

    checkpoint: str = ""  # id; empty: the repository was never adapted, and nothing is counted
    checkpoint_name: str = ""
    files: int = 0
    lines: int = 0  # added or changed, at least
    paths: tuple[str, ...] = ()
    seconds: float = 0.0  # that adapting to them would take, about; 0: unknown

    @property
    def any(self) -> bool:
        return self.files > 0


@dataclass(frozen=True)
class FileLosses:
    """Mean loss by path, of held-out files of the folder `root` with `model`."""

    root: str
    model: str
    losses: dict[str, float] = field(default_factory=dict)
