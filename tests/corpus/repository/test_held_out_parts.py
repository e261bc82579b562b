"""Validation and scoring: apart, stable, both with code; shared where there is too little."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from sources import fill, nearly, opened, source, write

from engine.corpus.batches.held_out_parts import LEAST_SHARE, MOST_COUNTED, SHARED, HeldOutFile, choose_scoring
from engine.corpus.reading.overrides import Choice


def files(count: int, size: int = 1000, is_code: bool = True) -> list[HeldOutFile]:
    return [HeldOutFile(f"{number}.py", size, f"{number}.py", is_code) for number in range(count)]


def paths(documents) -> set[str]:
    return {document.path for document in documents}


def test_about_half_of_many_files_only_score():
    chosen = choose_scoring(files(1000), {})
    assert 0.45 < sum(chosen.values()) / 1000 < 0.55


def test_two_files_are_one_for_each():
    for shift in range(20):
        pair = [HeldOutFile(f"{shift}/{name}.py", 1000, f"{shift}/{name}.py", True) for name in "ab"]
        assert sorted(choose_scoring(pair, {}).values()) == [False, True]


def test_both_parts_have_code():
    """Prose in a part is no code in it."""
    for shift in range(20):
        both = [HeldOutFile(f"{shift}/{i}.py", 1000, f"{shift}/{i}.py", True) for i in range(2)]
        prose = [HeldOutFile(f"{shift}/{i}.md", 9000, f"{shift}/{i}.md", False) for i in range(6)]
        chosen = choose_scoring([*both, *prose], {})
        assert {chosen[file.path] for file in both} == {False, True}


def test_too_little_for_two_parts():
    assert choose_scoring([], {}) is None
    assert choose_scoring(files(1), {}) is None
    assert choose_scoring([*files(1), HeldOutFile("notes.md", 5000, "notes.md", False)], {}) is None
    assert choose_scoring([*files(1, 50_000), HeldOutFile("tiny.py", 30, "tiny.py", True)], {}) is None
    assert choose_scoring(files(4, is_code=False), {}) is not None  # no code at all: any file counts


def test_a_large_file_does_not_make_the_others_too_little():
    assert choose_scoring([HeldOutFile("large.py", 10**6, "large.py", True), *files(8)], {}) is not None


SOME = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20_000), st.integers(0, 12), st.booleans()),
    unique_by=lambda each: each[0],
    max_size=30,
).map(
    lambda rows: [
        HeldOutFile(f"{name}.py", size, f"group {group}" if group < 4 else f"{name}.py", is_code)
        for name, size, group, is_code in rows
    ]
)


@settings(max_examples=200, deadline=None)
@given(SOME, SOME)
def test_what_always_holds(before, after):
    first = choose_scoring(before, {}) or {}
    second = choose_scoring(after, first)
    if second is None:
        return
    assert second.keys() == {file.path for file in after}
    for file in after:
        assert all(second[other.path] == second[file.path] for other in after if other.group == file.group)
    code = [file for file in after if file.is_code] or after
    for part in (False, True):
        counted = sum(min(file.size, MOST_COUNTED) for file in code if second[file.path] is part)
        assert counted >= LEAST_SHARE * sum(min(file.size, MOST_COUNTED) for file in code)
    assert choose_scoring(after, second) == second, "asking again moves nobody"


def test_two_parts_that_grow_alike_are_validation():
    alike = [HeldOutFile(f.path, f.size, "group" if f.path in ("1.py", "2.py") else f.path, True) for f in files(20)]
    previous = {f"{number}.py": number % 2 == 0 for number in range(20)}
    assert choose_scoring(alike, previous) == {**previous, "2.py": False}


# ── in a repository ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_two_parts_are_what_is_held_out(root, data):
    fill(root, 60)
    corpus = opened(root, data).scan()
    validation, scoring = paths(corpus.validation_documents), paths(corpus.scoring_documents)
    assert validation and scoring and not validation & scoring and not corpus.shares_held_out
    assert [d.path for d in corpus.held_out_documents] == sorted(validation | scoring)
    assert validation | scoring == {verdict.path for verdict in corpus.files if verdict.held_out}
    assert not corpus.notes


def test_nobody_changes_parts_in_a_living_repository(root, data):
    fill(root, 60)
    repository = opened(root, data)
    scoring = paths(repository.scan().scoring_documents)
    for number in range(12):
        new = write(root, f"new/{number}.py", source(f"new {number}"))
        corpus = opened(root, data).scan() if number % 2 else repository.update([new])
        assert scoring <= paths(corpus.scoring_documents)
        assert not paths(corpus.validation_documents) & scoring
    moved = min(scoring)
    (root / moved).rename(root / "renamed.py")
    assert "renamed.py" in paths(repository.update([moved, "renamed.py"]).scoring_documents)


def test_sides_saved_before_there_were_parts_stay_valid(root, data):
    fill(root, 40)
    repository = opened(root, data)
    corpus = repository.scan()
    stored = json.loads((repository.folder / "split.json").read_text())
    assert sorted(stored["scoring"] + stored["validation"]) == sorted(stored["held_out"])
    held_out, other = stored["held_out"], stored["learned"][0]
    old = {"format": 1, "basis": stored["basis"], "held_out": [*held_out, other], "learned": stored["learned"][1:]}
    (repository.folder / "split.json").write_text(json.dumps(old))
    again = opened(root, data).scan()
    assert paths(again.held_out_documents) == {*held_out, other}
    assert paths(corpus.scoring_documents) <= paths(again.scoring_documents)


def test_what_was_decided_outweighs_the_hash(root, data):
    fill(root, 40)
    repository = opened(root, data)
    repository.scan()
    path = repository.folder / "split.json"
    stored = json.loads(path.read_text())
    stored["scoring"], stored["validation"] = stored["validation"], stored["scoring"]
    path.write_text(json.dumps(stored))
    corpus = opened(root, data).scan()
    assert paths(corpus.scoring_documents) == set(stored["scoring"])


def test_a_tiny_repository_shares_its_held_out_files_and_says_so(root, data):
    fill(root, 2)
    corpus = opened(root, data).scan()
    assert corpus.shares_held_out and len(corpus.held_out_documents) == 1
    assert corpus.scoring_documents == corpus.validation_documents == corpus.held_out_documents
    assert SHARED in corpus.notes
    fill(root, 30)
    corpus = opened(root, data).scan()
    assert not corpus.shares_held_out and not corpus.notes


def test_wanted_near_copies_score_together(root, data):
    originals = fill(root, 30)
    copies = [write(root, f"copy/{number}.py", nearly(source(path), number)) for number, path in enumerate(originals)]
    repository = opened(root, data)
    choices = repository.overrides
    for path in (*originals, *copies):
        choices = choices.with_path(path, Choice.LEARN)
    corpus = repository.choose(choices)
    scoring, held = paths(corpus.scoring_documents), paths(corpus.held_out_documents)
    pairs = [pair for pair in zip(originals, copies, strict=True) if held.issuperset(pair)]
    assert pairs and all((first in scoring) == (second in scoring) for first, second in pairs)


def test_the_code_among_documents(root, data):
    fill(root, 20)
    write(root, "README.md", "# Words\n\n" + "Some words about it.\n" * 20)
    corpus = opened(root, data).scan()
    documents = (*corpus.learned_documents, *corpus.held_out_documents)
    assert paths(documents) - paths(corpus.code_among(documents)) == {"README.md"}


def test_runs_are_judged_by_code_and_by_anything_only_without_it(root, data):
    fill(root, 30)
    for number in range(30):
        write(root, f"docs/{number}.md", source(f"prose {number}"))
    corpus = opened(root, data).scan()
    assert paths(corpus.validation_code) == {p for p in paths(corpus.validation_documents) if p.endswith(".py")}
    assert paths(corpus.validation_code) < paths(corpus.validation_documents)
    for number in range(30):
        (root / f"part_{number % 5}/module_{number}.py").unlink()
    corpus = opened(root, data).scan()
    assert corpus.validation_code == corpus.validation_documents
