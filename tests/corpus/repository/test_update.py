"""Changes taken in one by one give what a scan of the whole would give."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from sources import fill, nearly, opened, source, write

from engine.corpus.corpus import Corpus
from engine.corpus.reading.overrides import Choice
from engine.corpus.reading.verdict import Reason


def same(corpus: Corpus, root: Path, data: Path) -> None:
    """The corpus is what another process gets from a scan of everything."""
    fresh = opened(root, data).scan()
    assert corpus.files == fresh.files
    assert corpus.secrets == fresh.secrets
    assert corpus.learned_documents == fresh.learned_documents
    assert corpus.held_out_documents == fresh.held_out_documents
    for document in (*fresh.learned_documents, *fresh.held_out_documents):
        assert (corpus.document_tokens(document) == fresh.document_tokens(document)).all()


def scanned(root: Path, data: Path, count: int = 30):
    paths = fill(root, count)
    repository = opened(root, data)
    repository.scan()
    return repository, paths


def test_created_changed_deleted(root, data):
    repository, paths = scanned(root, data)
    write(root, "fresh.py", source("fresh"))
    assert repository.update(["fresh.py"]).by_path["fresh.py"].learn
    write(root, "fresh.py", source("fresher"))
    corpus = repository.update([root / "fresh.py"])
    assert corpus.tokenizer.decode(corpus.tokens("fresh.py")) == source("fresher")
    (root / paths[0]).unlink()
    corpus = repository.update([paths[0]])
    assert paths[0] not in corpus.by_path
    same(corpus, root, data)


def test_nothing_else_is_opened(root, data, files_opened):
    repository, paths = scanned(root, data)
    write(root, paths[4], source("other"))
    files_opened.clear()
    repository.update([paths[4]])
    assert [path for path in files_opened.below(root) if path.endswith(".py")] == [str(root / paths[4])]


def test_a_rename_keeps_its_side_and_tokens(root, data, monkeypatch):
    repository, _ = scanned(root, data, 40)
    monkeypatch.setattr(type(repository.tokenizer), "encode_batch", lambda *_: pytest.fail("tokenised again"))
    for number in range(6):
        before = repository.update([])
        held_out = [verdict for verdict in before.files if verdict.held_out]
        learned = [verdict for verdict in before.files if verdict.learn and not verdict.held_out]
        for verdict in (held_out[0], learned[0]):
            name = f"renamed_{number}_{verdict.held_out}.py"
            (root / verdict.path).rename(root / name)
            corpus = repository.update([verdict.path, name])
            assert corpus.by_path[name].held_out is verdict.held_out
            assert corpus.by_path[name].tokens == verdict.tokens
    same(corpus, root, data)


def test_a_renamed_file_keeps_its_side_in_a_scan_too(root, data):
    repository, _ = scanned(root, data, 40)
    held_out = [verdict.path for verdict in repository.scan().files if verdict.held_out]
    for number, path in enumerate(held_out):
        (root / path).rename(root / f"away_{number}.py")
    corpus = opened(root, data).scan()
    assert {f"away_{number}.py" for number in range(len(held_out))} <= {
        verdict.path for verdict in corpus.files if verdict.held_out
    }


def test_a_folder_is_renamed_deleted_and_comes_back(root, data):
    repository, _ = scanned(root, data)
    (root / "part_1").rename(root / "moved")
    corpus = repository.update(["part_1", "moved"])
    assert not any(path.startswith("part_1/") for path in corpus.by_path)
    assert sum(path.startswith("moved/") for path in corpus.by_path) == 6
    same(corpus, root, data)
    shutil.rmtree(root / "moved")
    corpus = repository.update([root / "moved"])
    assert not any(path.startswith("moved/") for path in corpus.by_path)
    same(corpus, root, data)
    shutil.copytree(root / "part_2", root / "part_1" / "deep")
    same(repository.update(["part_1"]), root, data)


def test_a_file_becomes_a_folder_and_back(root, data):
    repository, paths = scanned(root, data)
    (root / paths[0]).unlink()
    write(root, f"{paths[0]}/inside.py", source("inside"))
    corpus = repository.update([paths[0]])
    assert paths[0] not in corpus.by_path and f"{paths[0]}/inside.py" in corpus.by_path
    shutil.rmtree(root / paths[0])
    write(root, paths[0], source(paths[0]))
    same(repository.update([paths[0]]), root, data)


def test_copies_follow_the_file_that_they_copy(root, data):
    repository, paths = scanned(root, data)
    write(root, "zz/same.py", source(paths[0]))
    write(root, "zz/similar.py", nearly(source(paths[0])))
    corpus = repository.update(["zz/same.py", "zz/similar.py"])
    assert corpus.by_path["zz/same.py"].other == corpus.by_path["zz/similar.py"].other == paths[0]
    same(corpus, root, data)
    (root / paths[0]).unlink()
    corpus = repository.update([paths[0]])
    assert corpus.by_path["zz/same.py"].learn
    assert corpus.by_path["zz/similar.py"].other == "zz/same.py"
    same(corpus, root, data)
    write(root, "zz/same.py", source("quite another"))
    corpus = repository.update(["zz/same.py"])
    assert corpus.by_path["zz/similar.py"].learn
    same(corpus, root, data)
    write(root, "aa.py", nearly(source(paths[0]), 5))
    corpus = repository.update(["aa.py"])
    assert corpus.by_path["zz/similar.py"].reason is Reason.NEAR_DUPLICATE
    same(corpus, root, data)


def test_a_large_family_of_near_copies(root, data, monkeypatch):
    monkeypatch.setattr("engine.corpus.reading.listing.LARGEST_CLUSTER", 8)
    repository, _ = scanned(root, data, 10)
    names = [write(root, f"family/{number:02d}.py", nearly(source("family"), number)) for number in range(20)]
    corpus = repository.update(["family"])
    assert [path for path in names if corpus.by_path[path].learn] == names[:1]
    same(corpus, root, data)
    (root / names[0]).unlink()
    corpus = repository.update([names[0]])
    assert [path for path in names[1:] if corpus.by_path[path].learn] == names[1:2]
    same(corpus, root, data)


def test_a_changed_ignore_file_takes_in_its_folder(root, data):
    repository, paths = scanned(root, data)
    write(root, "part_1/.gitignore", "module_1*.py\n")
    corpus = repository.update(["part_1/.gitignore"])
    ignored = {path for path in corpus.by_path if corpus.by_path[path].reason is Reason.IGNORED}
    assert ignored == {path for path in paths if path.startswith("part_1/module_1")}
    same(corpus, root, data)
    write(root, ".codecoilignore", "part_2/\n")
    corpus = repository.update([".codecoilignore"])
    assert corpus.by_path["part_2/"].reason is Reason.IGNORED
    assert not any(path.startswith("part_2/") and path != "part_2/" for path in corpus.by_path)
    same(corpus, root, data)
    (root / ".codecoilignore").unlink()
    (root / "part_1/.gitignore").unlink()
    corpus = repository.update([".codecoilignore", "part_1/.gitignore"])
    assert all(corpus.by_path[path].learn for path in paths)
    same(corpus, root, data)


def test_the_exclude_file_of_git_counts(root, data):
    repository, _ = scanned(root, data)
    write(root, ".git/info/exclude", "part_0/\n")
    corpus = repository.update([".git/info/exclude"])
    assert corpus.by_path["part_0/"].reason is Reason.IGNORED
    same(corpus, root, data)


def test_paths_that_do_not_matter(root, data, tmp_path):
    repository, _ = scanned(root, data)
    before = repository.update([])
    write(root, ".git/HEAD", "ref: refs/heads/main\n")
    corpus = repository.update([".git/HEAD", tmp_path / "elsewhere.py", "../elsewhere.py", "never/was.py", ".git"])
    assert corpus.files == before.files
    same(corpus, root, data)


def test_a_file_in_an_ignored_folder(root, data):
    write(root, ".gitignore", "build/\n")
    write(root, "build/one.py", source("one"))
    repository, _ = scanned(root, data)
    before = repository.scan()
    write(root, "build/two.py", source("two"))
    corpus = repository.update(["build/two.py"])
    assert corpus.files == before.files
    (root / "build/one.py").unlink()
    (root / "build/two.py").unlink()
    (root / "build").rmdir()
    same(repository.update(["build/one.py", "build/two.py", "build"]), root, data)


def test_update_before_any_scan_is_a_scan(root, data):
    fill(root, 8)
    corpus = opened(root, data).update(["part_0/module_0.py"])
    assert corpus.totals.learned.files == 8


def test_an_old_corpus_stays_as_it_was(root, data):
    repository, paths = scanned(root, data)
    old = repository.update([])
    verdicts, documents = old.files, old.learned_documents
    tokens = {document.path: old.document_tokens(document).copy() for document in documents}
    for path in paths[:10]:
        write(root, path, source(f"another {path}"))
    repository.update(paths[:10])
    assert old.files is verdicts and old.learned_documents is documents
    for document in documents:
        assert (old.document_tokens(document) == tokens[document.path]).all()


class Story:
    """Random changes to a repository, as people and programs make them."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)

    def files(self) -> list[str]:
        return sorted(
            path.relative_to(self.root).as_posix() for path in self.root.rglob("*.py") if not path.is_symlink()
        )

    def step(self) -> list[str]:
        draw = self.random
        files = self.files()
        kind = draw.randrange(9)
        if kind == 0 or len(files) < 4:
            return [
                write(self.root, f"part_{draw.randrange(4)}/new_{draw.randrange(1000)}.py", source(str(draw.random())))
            ]
        one, two = draw.sample(files, 2)
        if kind == 1:
            return [write(self.root, one, source(str(draw.random())))]
        if kind == 2:
            (self.root / one).unlink()
            return [one]
        if kind == 3:
            name = f"part_{draw.randrange(4)}/name_{draw.randrange(1000)}.py"
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / one).rename(self.root / name)
            return [one, name]
        if kind == 4:
            return [write(self.root, two, (self.root / one).read_text())]
        if kind == 5:
            return [write(self.root, f"{one[:-3]}_v.py", nearly((self.root / one).read_text(), draw.randrange(50)))]
        if kind == 6:
            folder = draw.choice(["", "part_1/", "part_2/"])
            (self.root / folder).mkdir(exist_ok=True)
            return [
                write(
                    self.root, f"{folder}.gitignore", draw.choice(["", "*_v.py\n", "new_1*\n!new_12*\n", "part_3/\n"])
                )
            ]
        if kind == 7:
            folders = sorted({path.split("/")[0] for path in files if "/" in path})
            old = draw.choice(folders)
            new = f"part_{draw.randrange(8)}"
            if (self.root / new).exists():
                return []
            (self.root / old).rename(self.root / new)
            return [old, new]
        return [write(self.root, one, b"")]


@pytest.mark.parametrize("seed", range(8))
def test_any_story_ends_as_a_scan_would(root, data, seed):
    fill(root, 14)
    repository = opened(root, data)
    repository.scan()
    if seed % 2:
        repository.choose(repository.overrides.with_path("part_1/module_1_v.py", Choice.LEARN))
    story = Story(root, seed)
    for _ in range(25):
        changed = [path for _ in range(story.random.choice([1, 1, 1, 4])) for path in story.step()]
        corpus = repository.update(changed)
        if story.random.random() < 0.4:
            same(corpus, root, data)
    same(corpus, root, data)
