"""What is kept here about a hand-off: enough to make a checkpoint of its result, and to refuse any other.

The folder's place and the hashes of its files stay in this record; they are not in what leaves the machine.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.atomic_file import replace_file
from engine.checkpoints.store.manifest import BaseReference
from engine.errors import CheckpointError, ConfigError
from engine.safe_reading import read_json
from engine.session.results import Learned
from engine.train.options import TrainingOptions

SCHEMA = 1
RUN_FILE, START_FILE = "run.json", "start.safetensors"  # in the folder that was handed off
FOLDER = "handoffs"  # in the data folder
MOST_BYTES = 64 << 20  # the hashes of all files, and the numbers of embedding rows


@dataclass(frozen=True, eq=False)
class Record:
    """One hand-off.  `run_sha256`: of its run.json.  `teaches_fim`: filling in was taught to a base without it.

    `validation`, `scoring`: digests of the documents that were held out for each; none of them was learned.
    """

    id: str
    run_sha256: str
    base: BaseReference
    tokenizer: str
    options: TrainingOptions
    learned: Learned
    token_ids: np.ndarray | None
    teaches_fim: bool
    validation: tuple[str, ...]
    scoring: tuple[str, ...]

    def save(self, data_folder: Path) -> None:
        ids = None if self.token_ids is None else base64.b64encode(np.asarray(self.token_ids, "<i4")).decode()
        content = {
            "schema": SCHEMA,
            "id": self.id,
            "run_sha256": self.run_sha256,
            "base": dataclasses.asdict(self.base),
            "tokenizer": self.tokenizer,
            "options": dataclasses.asdict(self.options),
            "learned": {**dataclasses.asdict(self.learned), "root": str(self.learned.root)},
            "token_ids": ids,
            "teaches_fim": self.teaches_fim,
            "validation": self.validation,
            "scoring": self.scoring,
        }
        replace_file(record_path(data_folder, self.id), json.dumps(content, indent=1) + "\n")

    @classmethod
    def load(cls, data_folder: Path, id: str) -> Record:
        path = record_path(data_folder, id)
        if not path.is_file():
            raise CheckpointError(
                f"Hand-off {id} was not made with this data folder.",
                "Import the result where `codecoil handoff` was run.",
            )
        return cls._from_json(read_json(path, MOST_BYTES), path)

    @classmethod
    def _from_json(cls, content: Any, path: Path) -> Record:
        try:
            if content["schema"] != SCHEMA:
                raise CheckpointError(f"{path} was written by another version.", "Use that version of Codecoil.")
            ids = content["token_ids"]
            return cls(
                content["id"],
                content["run_sha256"],
                BaseReference(**content["base"]),
                content["tokenizer"],
                TrainingOptions(**content["options"]),
                Learned(**{**content["learned"], "root": Path(content["learned"]["root"])}),
                None if ids is None else np.frombuffer(base64.b64decode(ids), "<i4").astype(np.int32),
                bool(content["teaches_fim"]),
                tuple(content["validation"]),
                tuple(content["scoring"]),
            )
        except (KeyError, TypeError, ValueError, ConfigError) as error:
            raise CheckpointError(f"{path} is damaged: {error!r}.", "Hand off again.") from error


def record_path(data_folder: Path, id: str) -> Path:
    """Where a record is; an id that could leave the folder is refused."""
    if not (id.isascii() and id.isalnum()):
        raise CheckpointError(f"{id!a} is not the id of a hand-off.", "Choose a folder that train.py has written.")
    return data_folder / FOLDER / f"{id}.json"
