"""A store for every test."""

from __future__ import annotations

import pytest

from engine.checkpoints.store.store import CheckpointStore


@pytest.fixture
def store(tmp_path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "store")
