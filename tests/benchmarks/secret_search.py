"""How many secrets are found, and how often something else is taken for one.

    python tests/benchmarks/secret_search.py                  the planted ones of the tests
    python tests/benchmarks/secret_search.py --list FILE      a list that somebody else wrote

A list is JSON: [{"path": "a.py", "text": "...", "secret": true, "kind": "assignment"}, ...].  A case counts as found if
its text holds a finding, or if the file is left out by its name; as a false alarm only if its text holds one.  Prints
no secret: a miss is named by its number in the list, its path and its kind.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # last: it has an engine.py of its own
sys.path.insert(0, str(Path(__file__).parents[2]))

from measure import report

from engine.corpus.reading.secrets import find_secrets, secret_file_name


@dataclass(frozen=True)
class Case:
    path: str
    text: str
    secret: bool
    kind: str = ""


def planted_cases() -> Iterable[Case]:
    from tests.corpus.reading.look_alike_contexts import look_alikes_in_places
    from tests.corpus.reading.planted import look_alikes, planted
    from tests.corpus.reading.planted_contexts import in_places
    from tests.corpus.reading.planted_words import not_words, words_in_places

    for secret, makers in (
        (True, (planted, in_places, words_in_places)),
        (False, (look_alikes, look_alikes_in_places, not_words)),
    ):
        for make in makers:
            for sample in make():
                yield Case(sample.path, sample.text, secret, f"{make.__name__}: {sample.what}")


def listed_cases(path: Path) -> Iterable[Case]:
    for entry in json.loads(path.read_text(encoding="utf-8")):
        yield Case(entry["path"], entry["text"], bool(entry["secret"]), str(entry.get("kind", "")))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how well secrets are found.")
    parser.add_argument("--list", type=Path, metavar="FILE", help="a JSON list of cases (default: the planted ones)")
    arguments = parser.parse_args()
    cases = list(listed_cases(arguments.list) if arguments.list else planted_cases())
    missed, alarmed, by_name = [], [], 0
    for number, case in enumerate(cases):
        found = find_secrets(case.path, case.text)
        named = secret_file_name(case.path) is not None
        by_name += named and not found and case.secret
        if case.secret and not found and not named:
            missed.append((number, case))
        if not case.secret and found:
            alarmed.append((number, case, found[0]))
    secrets = sum(case.secret for case in cases)
    report("secrets_cases", secrets)
    report("secrets_look_alikes", len(cases) - secrets)
    report("recall", 1 - len(missed) / max(secrets, 1), "(target >= 0.97)")
    report("found_by_file_name_only", by_name)
    report("false_alarms", len(alarmed) / max(len(cases) - secrets, 1), "(target <= 0.01)")
    for number, case in missed:
        print(f"missed {number}: {case.path} ({case.kind})")
    for number, case, (line, kind) in alarmed:
        print(f"false alarm {number}: {case.path} line {line}, {kind} ({case.kind})")


if __name__ == "__main__":
    main()
