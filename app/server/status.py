"""What a server or a language server says about itself to clients that show it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

LOADING, READY, FAILED = "loading", "ready", "failed"


@dataclass(frozen=True)
class Status:
    """Of one folder. `state`: of three; where it is failed, `problem` says why. `training`: "" where none is under way.

    `is_shared`: it is the running program that answers.
    """

    state: str = READY
    folder: str = ""
    model: str = ""
    memory_files: int = 0
    memory_tokens: int = 0
    training: str = ""
    problem: str = ""
    is_shared: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "folder": self.folder,
            "model": self.model,
            "memory": {"files": self.memory_files, "tokens": self.memory_tokens},
            "training": self.training,
            "problem": self.problem,
            "sharedWithProgram": self.is_shared,
        }

    @classmethod
    def from_json(cls, content: Any) -> Status:
        """Raises ValueError where it is something else."""
        try:
            memory = content["memory"]
            status = cls(
                content["state"],
                content["folder"],
                content["model"],
                memory["files"],
                memory["tokens"],
                content["training"],
                content["problem"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError("this is no status") from error
        if not all(isinstance(value, type(getattr(cls, name))) for name, value in vars(status).items()):
            raise ValueError("this is no status")
        return status

    def shared(self) -> Status:
        return replace(self, is_shared=True)
