"""A score by language and by file: where a model is good, and whether a single file dominates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.scorecard.intervals import Samples
from engine.scorecard.line_measures import LineResult
from engine.scorecard.material import Material


@dataclass(frozen=True)
class FileLines:
    """What happened at the cursors of one file."""

    language: str
    cursors: int
    exact: int
    shown: int
    taken: int
    similarity: float  # mean, 0 to 1
    characters: int  # of the lines
    keys_by_line: int
    keys_by_word: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def lines_by_file(material: Material, results: Sequence[LineResult]) -> dict[str, FileLines]:
    """By path, for files that have cursors."""
    by_path: dict[str, list[LineResult]] = {}
    for result in results:
        by_path.setdefault(material.texts[result.file].path, []).append(result)
    return {
        path: FileLines(
            material.texts[found[0].file].language,
            len(found),
            sum(result.exact for result in found),
            sum(result.shown for result in found),
            sum(result.taken for result in found),
            sum(result.similarity for result in found) / len(found),
            sum(len(result.wanted) for result in found),
            sum(result.keys_by_line for result in found),
            sum(result.keys_by_word for result in found),
        )
        for path, found in sorted(by_path.items())
    }


def samples_by_language(material: Material, samples: dict[str, Samples]) -> dict[str, dict[str, Samples]]:
    """The samples of each language by measure; languages with the most text first."""
    sizes: dict[str, int] = {}
    for text in material.texts:
        sizes[text.language] = sizes.get(text.language, 0) + len(text.counted)
    found = {}
    for language in sorted(sizes, key=lambda each: (-sizes[each], each)):
        files = {number for number, text in enumerate(material.texts) if text.language == language}
        found[language] = {name: each.of_files(files) for name, each in samples.items()}
    return found
