"""The memory follows the repository."""

from __future__ import annotations

import pytest
from sources import fill, opened, source, tokenizer, write

from engine.memory import repository_memory as module
from engine.memory.evidence import Counter
from engine.memory.names import Names, count_names
from engine.memory.repository_memory import RepositoryMemory
from engine.memory.snapshot import Place

SECRET = "AK" + "IAQX7B2MZ3N5R4T6WD"  # in two parts: nobody's scanner should alarm at this repository
NEW = "\ndef quite_unheard_of(argument):\n    return zebra_crossing(argument, 'tall')\n"
LINE = "return zebra_crossing(argument, 'tall')"


@pytest.fixture
def opened_memory(root, data):
    paths = fill(root, 20)
    repository = opened(root, data)
    memory = RepositoryMemory(repository.folder, tokenizer())
    memory.update(repository.scan())
    return repository, memory, paths


def places(snapshot, text: str = LINE, path: str = "") -> list[Place]:
    return snapshot.places_of(tokenizer().encode(text), path)


def texts(snapshot) -> dict[str, str]:
    """What counts, by path."""
    found: dict[str, str] = {}
    for segment, dead in zip(snapshot.segments, snapshot.dead, strict=True):
        for entry in segment.entries:
            if not (len(dead) and dead[entry.start]):
                ids = segment.tokens[entry.start : entry.start + entry.count]
                found[entry.path] = found.get(entry.path, "") + tokenizer().decode(ids)
    return found


def test_an_edit_a_deletion_and_a_rename_are_known_at_once(opened_memory, root):
    repository, memory, paths = opened_memory
    text = source(paths[3]) + NEW
    write(root, paths[3], text)
    snapshot = memory.update(repository.update([paths[3]]))
    assert places(snapshot) == [Place(paths[3], text[: text.index(LINE)].count("\n") + 1)]
    assert texts(snapshot)[paths[3]] == text and b"zebra_crossing" in snapshot.names
    assert places(snapshot, path=paths[3]) == []
    (root / paths[3]).rename(root / "other.py")
    snapshot = memory.update(repository.update([paths[3], "other.py"]))
    assert [place.path for place in places(snapshot)] == ["other.py"]
    (root / "other.py").unlink()
    snapshot = memory.update(repository.update(["other.py"]))
    assert places(snapshot) == [] and b"zebra_crossing" not in snapshot.names
    assert set(texts(snapshot)) == set(paths) - {paths[3]}


def test_a_merge_answers_as_the_update_did_and_another_process_opens_it(opened_memory, root, monkeypatch):
    repository, memory, paths = opened_memory
    write(root, paths[2], source(paths[2]) + NEW)
    corpus = repository.update([paths[2]])
    updated = memory.update(corpus)
    assert len(updated.segments) == 2 and not memory.needs_merge
    merged = memory.merge(corpus)
    monkeypatch.setattr(module, "save_segment", lambda *_: pytest.fail("built again"))
    reopened = RepositoryMemory(repository.folder, tokenizer()).update(corpus)
    counter = Counter(tokenizer().vocab_size, tokenizer().special.end_of_text)
    for other in (merged, reopened):
        assert len(other.segments) == 1 and texts(other) == texts(updated) and places(other) == places(updated)
        assert dict(other.names.counts) == dict(updated.names.counts)
        assert other.tokens == updated.tokens
        for text in (LINE, "def ", "return ", "    "):
            answers = []
            for snapshot in (updated, other):
                found = counter.of_segments(snapshot.sources(), tokenizer().encode(text))
                counts = {int(t): found.of(t).tolist() for t in found.tokens}
                answers.append((counts, found.sums.tolist()))
            assert answers[0] == answers[1]


def test_a_merge_is_due_once_much_has_changed(opened_memory, root, monkeypatch):
    repository, memory, paths = opened_memory
    monkeypatch.setattr(module, "SMALL", 10)
    write(root, paths[0], "x = 1\n")
    memory.update(repository.update([]))
    assert not memory.needs_merge
    for path in paths[:8]:
        write(root, path, source(f"other {path}"))
    corpus = repository.update(paths[:8])
    memory.update(corpus)
    assert memory.needs_merge
    memory.merge(corpus)
    assert not memory.needs_merge


def test_damage_is_repaired_by_building_again(opened_memory, root):
    repository, memory, paths = opened_memory
    (path,) = memory.folder.glob("*.order")
    path.write_bytes(path.read_bytes()[:-4])
    again = RepositoryMemory(repository.folder, tokenizer())
    assert set(texts(again.update(repository.update([])))) == set(paths)
    assert again.nbytes > 0 and again.age is not None


def test_files_that_were_edited_last_come_first(opened_memory, root):
    repository, memory, paths = opened_memory
    for path in (paths[1], paths[5], paths[9]):
        write(root, path, source(path) + NEW)
    memory.update(repository.update([paths[1], paths[5], paths[9]]))
    write(root, paths[9], source(paths[9]) + NEW + "\n\nx = 1\n")
    memory.update(repository.update([paths[9]]))
    write(root, paths[5], source(paths[5]) + NEW + "\n\nx = 2\n")
    snapshot = memory.update(repository.update([paths[5]]))
    assert [place.path for place in places(snapshot)] == [paths[5], paths[9], paths[1]]


def test_what_is_measured_on_is_left_out(opened_memory):
    repository, memory, paths = opened_memory
    corpus = repository.update([])
    snapshot = memory.update(corpus)
    held_out = {document.path for document in corpus.held_out_documents}
    assert held_out and held_out < set(texts(snapshot))
    without = snapshot.without(held_out)
    assert set(texts(without)) == set(paths) - held_out and without.left_out == held_out
    wanted = count_names(text.encode() for text in texts(without).values())
    assert dict(without.names.counts) == dict(wanted)


def test_a_masked_secret_is_nowhere(root, data):
    fill(root, 10)
    write(root, "settings.py", f'import os\nkey = "{SECRET}"\n' + source("settings"))
    repository = opened(root, data)
    memory = RepositoryMemory(repository.folder, tokenizer())
    corpus = repository.scan()
    snapshot = memory.update(corpus)
    assert corpus.secrets and "settings.py" in texts(snapshot)
    assert SECRET not in "".join(texts(snapshot).values()) and SECRET.encode() not in snapshot.names
    assert not any(SECRET.encode() in path.read_bytes() for path in memory.folder.iterdir())


def test_an_edit_of_either_part_of_a_split_file_is_noticed(root, data):
    text = source("one", 400)
    write(root, "one.py", text)
    repository = opened(root, data)
    memory = RepositoryMemory(repository.folder, tokenizer())
    corpus = repository.scan()
    assert len([*corpus.learned_documents, *corpus.held_out_documents]) == 2
    memory.update(corpus)
    write(root, "one.py", "first = 1\n" + text)
    assert memory.update(repository.update(["one.py"])).recent == ("one.py",)


def test_names_change_with_the_texts():
    names = Names(lambda: count_names([b"alpha beta", b"alpha x yy"]))
    assert b"yy" not in names and names.fits(b"alp") and not names.fits(b"alphas")
    changed = names.changed([b"alpha beta"], [b"gamma beta"])
    assert dict(changed.counts) == {b"alpha": 1, b"beta": 1, b"gamma": 1}
    assert dict(changed.changed([b"alpha"], []).counts) == {b"beta": 1, b"gamma": 1}
    assert names.changed([], []) is names and b"gamma" not in names
