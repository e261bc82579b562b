"""Copies the harbour's file to another disk, and keeps the last seven copies."""

from __future__ import annotations

import shutil
import sys
from datetime import datetime
from pathlib import Path

KEEP = 7


def backup(source: Path, folder: Path, now: datetime) -> Path:
    """Writes one copy and drops the oldest beyond `KEEP`."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{source.stem}-{now:%Y%m%d-%H%M}{source.suffix}"
    shutil.copy2(source, target)
    for old in sorted(folder.glob(f"{source.stem}-*{source.suffix}"))[:-KEEP]:
        old.unlink()
    return target


if __name__ == "__main__":
    print(backup(Path(sys.argv[1]), Path(sys.argv[2]), datetime.now()))
