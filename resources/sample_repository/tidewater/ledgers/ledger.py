"""What all ledgers share: a connection, a table, and a way from rows to records."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

Record = TypeVar("Record")


class MissingRecord(LookupError):
    """Somebody asked for what the harbour does not know."""


class Ledger(Generic[Record]):
    """A table of one kind of record."""

    TABLE: ClassVar[str]
    NAME: ClassVar[str]
    KEY: ClassVar[str]

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def make(self, row: Mapping[str, Any]) -> Record:
        raise NotImplementedError

    def select(self, where: str = "1", values: Iterable[Any] = (), order: str = "") -> list[Record]:
        """Every record that answers a condition."""
        order = order or self.KEY
        rows = self._connection.execute(f"SELECT * FROM {self.NAME} WHERE {where} ORDER BY {order}", tuple(values))
        return [self.make(row) for row in rows]

    def insert(self, row: Mapping[str, Any]) -> int:
        """Writes a row, in place of an older one with the same key."""
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        cursor = self._connection.execute(f"INSERT OR REPLACE INTO {self.NAME} ({names}) VALUES ({marks})", dict(row))
        return int(cursor.lastrowid or 0)

    def delete(self, key: Any) -> bool:
        """Whether there was something to delete."""
        cursor = self._connection.execute(f"DELETE FROM {self.NAME} WHERE {self.KEY} = ?", (key,))
        return cursor.rowcount > 0

    def next_number(self) -> int:
        """One more than the largest number given so far."""
        row = self._connection.execute(f"SELECT COALESCE(MAX({self.KEY}), 0) + 1 FROM {self.NAME}").fetchone()
        return int(row[0])
