"""The held-out split: its share, its least, its groups, and that it stays."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import fill, nearly, opened, source, write

from engine.corpus.batches.split import Candidate, Portion, line_to_split_at, place_of, split_by_commits, split_by_path
from engine.corpus.reading.overrides import Choice
from engine.corpus.reading.rules import HeldOutBy

PORTION = Portion()


def candidates(count: int, tokens: int = 100) -> list[Candidate]:
    return [Candidate(f"part/{number}.py", tokens, f"part/{number}.py") for number in range(count)]


def held(sides: dict[str, bool]) -> set[str]:
    return {path for path, side in sides.items() if side}


def test_about_a_tenth_of_many_files():
    sides = split_by_path(candidates(2000), {}, PORTION)
    assert 0.08 < len(held(sides)) / 2000 < 0.12
    assert held(sides) == {path for path in sides if place_of(path) < 0.10}


@pytest.mark.parametrize(("files", "least"), [(2, 1), (3, 2), (4, 2), (10, 2), (19, 2)])
def test_small_repositories_hold_out_two_files_and_learn_at_least_one(files, least):
    for shift in range(20):
        chosen = [Candidate(f"{shift}/{each.path}", each.tokens, each.path) for each in candidates(files)]
        sides = split_by_path(chosen, {}, PORTION)
        assert least <= len(held(sides)) < files


def test_at_least_two_percent_of_the_tokens():
    many = candidates(100, tokens=1)
    large = [Candidate(f"large/{number}.py", 10_000, f"large/{number}.py") for number in range(100)]
    chosen = [*many, *(each for each in large if place_of(each.path) >= 0.3)]
    sides = split_by_path(chosen, {}, PORTION)
    total = sum(each.tokens for each in chosen)
    assert sum(each.tokens for each in chosen if sides[each.path]) >= 0.02 * total


def test_a_file_that_is_most_of_the_repository_is_learned():
    path = next(f"large_{number}.py" for number in range(1000) if place_of(f"large_{number}.py") < 0.05)
    sides = split_by_path([*candidates(30), Candidate(path, 1_000_000, path)], {}, PORTION)
    assert not sides[path] or sum(sides.values()) == 30


def test_two_files_of_code_are_held_out_however_much_else_there_is():
    for shift in range(20):
        code = [Candidate(f"{shift}/{number}.py", 100, f"{shift}/{number}.py") for number in range(6)]
        prose = [Candidate(f"{shift}/{i}.md", 100, f"{shift}/{i}.md", is_code=False) for i in range(40)]
        sides = split_by_path([*code, *prose], {}, PORTION)
        assert 2 <= sum(sides[each.path] for each in code) < 6
        learned = {each.path: False for each in code} | {each.path: True for each in prose[:3]}
        assert not held(split_by_path([*code, *prose], learned, PORTION)).intersection(each.path for each in code)


def test_a_share_of_nothing_holds_out_nothing():
    assert not held(split_by_path(candidates(50), {}, Portion(share=0.0)))


FILES = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 2000), st.integers(0, 12), st.booleans()),
    unique_by=lambda each: each[0],
    max_size=40,
).map(
    lambda rows: [
        Candidate(f"{name}.py", tokens if learned else 0, f"group {group}" if group < 6 else f"{name}.py", learned)
        for name, tokens, group, learned in rows
    ]
)


@settings(max_examples=300, deadline=None)
@given(FILES, FILES)
def test_what_always_holds(before, after):
    first = split_by_path(before, {}, PORTION)
    second = split_by_path(after, first, PORTION)
    for chosen, sides in ((before, first), (after, second)):
        assert sides.keys() == {each.path for each in chosen}
        for each in chosen:
            assert all(sides[other.path] == sides[each.path] for other in chosen if other.group == each.group)
        units = {each.group for each in chosen if each.learned}
        if units:
            assert any(not sides[each.path] for each in chosen if each.learned), "something is left to learn"
        if len(units) > 1:
            assert any(sides[each.path] for each in chosen if each.learned), "something is held out"
        if len(units) > 3:
            files = sum(sides[each.path] for each in chosen if each.learned)
            left = {each.group for each in chosen if each.learned and not sides[each.path]}
            tokens = sum(each.tokens for each in chosen if sides[each.path])
            assert (files >= 2 and tokens >= 0.02 * sum(each.tokens for each in chosen)) or len(left) == 1
    assert split_by_path(after, second, PORTION) == second, "asking again moves nobody"


@settings(max_examples=200, deadline=None)
@given(st.sets(st.integers(0, 200), min_size=8), st.sets(st.integers(0, 200)), st.sets(st.integers(0, 200)))
def test_nobody_moves_when_others_come_and_go(names, come, go):
    def made(numbers: set[int]) -> list[Candidate]:
        return [Candidate(f"{number}.py", 100, f"{number}.py") for number in sorted(numbers)]

    before = split_by_path(made(names), {}, PORTION)
    after = split_by_path(made((names | come) - go), before, PORTION)
    moved_out = {path for path in before if path in after and before[path] and not after[path]}
    moved_in = {path for path in before if path in after and not before[path] and after[path]}
    enough_left = sum(side for path, side in before.items() if path in after) >= 2
    if enough_left and any(not before[path] for path in after if path in before):
        assert not moved_out
        left = sum(100 for path in after if before.get(path)) >= 0.02 * 100 * len(after)
        assert not moved_in or not left


def test_a_new_copy_takes_the_side_of_what_it_copies():
    old = candidates(30)
    sides = split_by_path(old, {}, PORTION)
    for path in (min(held(sides)), min(set(sides) - held(sides))):
        for number in range(20):
            copy = [
                Candidate(f"copy_{number}.py", 100, "group"),
                *(Candidate(each.path, 100, "group" if each.path == path else each.group) for each in old),
            ]
            assert split_by_path(copy, sides, PORTION) == {**sides, f"copy_{number}.py": sides[path]}


def test_two_sides_that_grow_alike_are_learned():
    sides = {f"{number}.py": number < 5 for number in range(30)}
    merged = [Candidate(f"{number}.py", 100, "group" if number in (1, 20) else f"{number}.py") for number in range(30)]
    assert split_by_path(merged, sides, PORTION) == {**sides, "1.py": False}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab \t", max_size=6), min_size=1, max_size=40), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_single_text_is_split_at_a_line(lines, end, closed):
    text = end.join(lines) + (end if closed else "")
    cut = line_to_split_at(text, PORTION)
    if cut is None:
        assert "\n" not in text[:-1]
    else:
        assert 0 < cut < len(text) and text[cut - 1] == "\n"
        assert len(text) - cut >= int(0.1 * len(text)) or text.count("\n", len(text) // 2) > 0


def test_the_end_of_a_long_text_is_a_tenth_of_it():
    text = "".join(f"line {number:04d}\n" for number in range(1000))
    assert 0.10 <= (len(text) - line_to_split_at(text, PORTION)) / len(text) < 0.11


# ── in a repository ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_repository_of_one_file_holds_out_its_last_lines(root, data):
    write(root, "only.py", source("only", 200))
    write(root, "picture.png", bytes(10))
    corpus = opened(root, data).scan()
    (learned,), (end,) = corpus.learned_documents, corpus.held_out_documents
    text = [corpus.tokenizer.decode(corpus.document_tokens(document)) for document in (learned, end)]
    assert "".join(text) == source("only", 200) and text[0].endswith("\n")
    assert 0.08 < len(text[1]) / len("".join(text)) < 0.15
    assert corpus.by_path["only.py"].tokens == learned.tokens + end.tokens == len(corpus.tokens("only.py"))
    assert any("last lines" in note for note in corpus.notes)
    again = opened(root, data).scan()
    assert again.files == corpus.files and again.held_out_documents == corpus.held_out_documents


def test_a_single_line_is_learned_whole(root, data):
    write(root, "only.py", "print('hello')\n")
    corpus = opened(root, data).scan()
    assert len(corpus.learned_documents) == 1 and corpus.held_out_documents == ()


def test_a_second_file_ends_the_split_by_lines(root, data):
    write(root, "only.py", source("only", 200))
    repository = opened(root, data)
    repository.scan()
    write(root, "other.py", source("other", 200))
    corpus = repository.update(["other.py"])
    assert sorted(len(each) for each in (corpus.learned_documents, corpus.held_out_documents)) == [1, 1]
    (root / "other.py").unlink()
    corpus = repository.update(["other.py"])
    assert corpus.learned_documents[0].path == corpus.held_out_documents[0].path == "only.py"


def test_a_repository_of_copies_only_holds_out_their_ends(root, data):
    names = [write(root, f"{number}.py", nearly(source("copy", 200), number)) for number in range(3)]
    repository = opened(root, data)
    choices = repository.overrides
    for name in names:
        choices = choices.with_path(name, Choice.LEARN)
    corpus = repository.choose(choices)
    assert [document.path for document in corpus.learned_documents] == names
    assert [document.path for document in corpus.held_out_documents] == names


def test_the_split_stays_in_a_living_repository(root, data):
    fill(root, 40)
    repository = opened(root, data)
    sides = {verdict.path: verdict.held_out for verdict in repository.scan().files}
    for number in range(8):
        write(root, f"new/{number}.py", source(f"new {number}"))
        write(root, f"part_1/module_{1 + 5 * number}.py", source(f"changed {number}"))
        corpus = opened(root, data).scan() if number % 2 else repository.update([f"new/{number}.py", "part_1"])
        assert {path: corpus.by_path[path].held_out for path in sides} == sides


def test_a_file_that_comes_back_is_where_it_was(root, data):
    """As when another branch is checked out for a while."""
    paths = fill(root, 9)
    repository = opened(root, data)
    before = repository.scan()
    gone = [verdict.path for verdict in before.files if verdict.held_out]
    for path in gone:
        (root / path).unlink()
    repository.update(gone)
    fill(root, gone)
    corpus = repository.update(gone)
    assert all(corpus.by_path[path].held_out for path in gone)
    assert len(paths) == len(corpus.files)


def test_wanted_near_copies_never_straddle(root, data):
    paths = fill(root, 30)
    copies = [write(root, f"copy/{number}.py", nearly(source(path), number)) for number, path in enumerate(paths)]
    repository = opened(root, data)
    choices = repository.overrides
    for copy in copies:
        choices = choices.with_path(copy, Choice.LEARN)
    corpus = repository.choose(choices)
    both = [(corpus.by_path[path], corpus.by_path[copy]) for path, copy in zip(paths, copies, strict=True)]
    learned = [(first, second) for first, second in both if first.learn and second.learn]
    assert all(first.held_out == second.held_out for first, second in learned)
    assert any(second.held_out for _, second in both)


def git(root: Path, *arguments: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], env=environment, check=True, capture_output=True)


def test_the_files_of_the_newest_commits(root, data):
    paths = fill(root, 40)
    git(root, "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "first")
    newest = [paths[9], paths[21], "b/odd näme.py"]
    for number, path in enumerate(newest):
        write(root, path, source(f"newer {path}"))
        git(root, "add", ".")
        git(root, "commit", "-m", f"change {number}")
    repository = opened(root, data, held_out_by=HeldOutBy.COMMITS, held_out_share=0.05)
    corpus = repository.scan()
    assert {document.path for document in corpus.held_out_documents} == set(newest)
    assert not corpus.notes
    write(root, paths[2], source("not committed"))
    sides = {verdict.path: verdict.held_out for verdict in repository.update([paths[2]]).files}
    assert {path for path, side in sides.items() if side} == set(newest)
    again = opened(root, data, held_out_by=HeldOutBy.COMMITS, held_out_share=0.05).scan()
    assert {verdict.path: verdict.held_out for verdict in again.files} == sides


def test_one_great_commit_gives_a_fair_sample(root, data):
    fill(root, 60)
    git(root, "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "all")
    corpus = opened(root, data, held_out_by=HeldOutBy.COMMITS).scan()
    assert len(corpus.held_out_documents) == 6
    assert len({document.path.split("/")[0] for document in corpus.held_out_documents}) > 1


def test_a_folder_inside_a_git_repository(tmp_path, data):
    fill(tmp_path / "all", [f"outside/{number}.py" for number in range(5)])
    root = tmp_path / "all" / "inside"
    paths = fill(root, 12)
    git(tmp_path / "all", "init")
    git(tmp_path / "all", "add", ".")
    git(tmp_path / "all", "commit", "-m", "all")
    for path in paths[:2]:
        write(root, path, source(f"newer {path}"))
    git(tmp_path / "all", "commit", "-am", "two")
    corpus = opened(root, data, held_out_by=HeldOutBy.COMMITS).scan()
    assert {document.path for document in corpus.held_out_documents} == set(paths[:2])


@pytest.mark.parametrize("with_git", [True, False])
def test_without_history_the_paths_decide(root, data, monkeypatch, with_git):
    fill(root, 40)
    if not with_git:
        monkeypatch.setenv("PATH", "")
    by_commits = opened(root, data, held_out_by=HeldOutBy.COMMITS).scan()
    assert any("no git history" in note for note in by_commits.notes)
    by_path = opened(root, data).scan()
    assert by_commits.held_out_documents == by_path.held_out_documents


def test_commits_in_parts():
    chosen = [Candidate(f"{number}.py", 100, "pair" if number in (3, 4) else f"{number}.py") for number in range(20)]
    sides = split_by_commits(chosen, ["unknown.py", "3.py", "9.py", "8.py"], {}, PORTION)
    assert held(sides) == {"3.py", "4.py"}
    assert held(split_by_commits(chosen, ["9.py"], {}, PORTION)) > {"9.py"}
    later = split_by_commits([*chosen, Candidate("new.py", 100, "new.py")], ["3.py", "9.py"], sides, PORTION)
    assert {path: later[path] for path in sides} == sides
