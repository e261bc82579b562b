"""What is restored after a restart: the open file, the cursor, the scratch text and unsaved edits.

One JSON file per repository in the data folder, replaced atomically.  A missing or damaged file counts as an empty
session.  No Qt.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from engine.atomic_file import replace_file

FOLDER = "editor"
MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Draft:
    """Unsaved text; `digest` is that of the file as it was opened."""

    text: str = field(repr=False)
    position: int = 0
    digest: str = ""


@dataclass(frozen=True)
class Session:
    """The editor as it was left in one repository."""

    path: str = ""  # of the open file; "": the scratch text
    position: int = 0
    scratch: Draft = Draft("")
    drafts: dict[str, Draft] = field(default_factory=dict)  # by path


def session_file(folder: Path, root: str) -> Path:
    """The session file of a repository; `root` is "" while none is open."""
    return folder / FOLDER / f"{hashlib.sha256(root.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def keep_session(folder: Path, root: str, session: Session) -> None:
    """Replace the saved session.  Raises OSError."""
    content = json.dumps({"root": root, **asdict(session)}, ensure_ascii=True)
    replace_file(session_file(folder, root), content.encode("ascii"))


def kept_session(folder: Path, root: str) -> Session:
    """The saved session; an empty one if it is missing or damaged."""
    try:
        with open(session_file(folder, root), "rb") as file:
            content = json.loads(file.read(MOST_BYTES))
        if content["root"] != root:
            return Session()
        drafts = {path: _draft(each) for path, each in content["drafts"].items() if is_inside(path)}
        path = content["path"] if is_inside(content["path"]) else ""
        return Session(path, _whole(content["position"]), _draft(content["scratch"]), drafts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Session()


def is_inside(path: Any) -> bool:
    """Whether this can be the path of a file below a root."""
    return isinstance(path, str) and bool(path) and not path.startswith("/") and ".." not in path.split("/")


def _draft(content: Any) -> Draft:
    draft = Draft(content["text"], _whole(content["position"]), content["digest"])
    if not isinstance(draft.text, str) or not isinstance(draft.digest, str):
        raise ValueError("a draft without a text")
    return draft


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
