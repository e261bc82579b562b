"""What the user can set about reading a repository."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from engine.corpus.reading.near_duplicates import THRESHOLD


class SecretPolicy(StrEnum):
    """What happens to a secret: its line is masked, or the file is left out."""

    MASK = "mask"
    LEAVE_OUT = "leave_out"


class HeldOutBy(StrEnum):
    """How held-out files are chosen: by the hash of their path, or those of the newest commits."""

    PATH = "path"
    COMMITS = "commits"


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """How a repository is read, and how much of it is held out."""

    max_bytes: int = 1 << 20
    secret_policy: SecretPolicy = SecretPolicy.MASK
    languages_off: frozenset[str] = frozenset({"csv", "tsv", "svg"})
    near_duplicate_threshold: float = THRESHOLD
    held_out_by: HeldOutBy = HeldOutBy.PATH
    held_out_share: float = 0.10
    held_out_min_files: int = 2
    held_out_min_token_share: float = 0.02

    def key(self) -> str:
        """A cache key: equal for equal settings, in every process."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(values | {"languages_off": sorted(self.languages_off)}, sort_keys=True)
