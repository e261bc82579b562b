"""A scan from end to end: verdicts, tokens, documents, caches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sources import fill, nearly, opened, source, tokenizer, write

from engine.corpus.batches.windows import HeldOutWindows, Windows
from engine.corpus.corpus import Corpus
from engine.corpus.reading.overrides import Choice
from engine.corpus.reading.rules import ScanSettings, SecretPolicy
from engine.corpus.reading.scan_progress import ScanCancelledError
from engine.corpus.reading.verdict import Reason
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CorpusError

KEY = "AK" + "IAQX7B2MZ3N5R4T6WD"  # in two parts: nobody's scanner should alarm at this repository
SECRET = f'key = "{KEY}"'


def reasons(corpus: Corpus) -> dict[str, Reason | None]:
    return {verdict.path: verdict.reason for verdict in corpus.files}


def test_every_file_has_a_verdict_and_learned_ones_their_tokens(root, data):
    paths = fill(root, 30)
    write(root, "copy.py", source(paths[3]))
    write(root, "z_variant.py", nearly(source(paths[4])))
    write(root, "picture.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
    write(root, ".gitignore", "out/\n")
    write(root, "out/made.py", source("made"))
    corpus = opened(root, data).scan()
    found = corpus.by_path
    assert [verdict.path for verdict in corpus.files] == sorted(found)
    assert found["part_3/module_3.py"].reason is Reason.DUPLICATE and found["part_3/module_3.py"].other == "copy.py"
    assert found["z_variant.py"].reason is Reason.NEAR_DUPLICATE and found["z_variant.py"].other == paths[4]
    assert found["picture.png"].reason is Reason.BINARY
    assert found["out/"].reason is Reason.IGNORED
    for path in paths[5:]:
        text = source(path)
        assert found[path].learn and found[path].tokens == len(corpus.tokens(path))
        assert corpus.tokenizer.decode(corpus.tokens(path)) == text
    documents = [*corpus.learned_documents, *corpus.held_out_documents]
    assert sorted(document.path for document in documents) == [each.path for each in corpus.files if each.learn]
    assert {document.path for document in corpus.held_out_documents} == {
        each.path for each in corpus.files if each.held_out
    }
    assert len(corpus.held_out_documents) >= 2


def test_totals_add_up(root, data):
    fill(root, 12)
    write(root, "tool.js", "// words\n" + "export const a = 1;\n" * 4)
    write(root, "data.bin", bytes(50))
    totals = opened(root, data).scan().totals
    assert totals.all.files == 14 and totals.learned.files == 13
    assert totals.all.bytes == sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    assert sum(each.files for each in totals.by_language.values()) == 13
    assert (
        sum(each.tokens for each in totals.by_language.values()) == totals.learned.tokens > totals.held_out.tokens > 0
    )
    assert next(iter(totals.by_language)) == "python"
    assert {reason: each.files for reason, each in totals.by_reason.items()} == {Reason.BINARY: 1}


def test_a_second_scan_opens_no_file_of_the_repository(root, data, files_opened):
    fill(root, 40)
    write(root, "odd.ipynb", '{"cells": [{"cell_type": "code", "source": ["x = 1\\n", "y = 2"]}], "nbformat": 4}')
    write(root, "settings.py", f"import os\n\n{SECRET}\nother = 1\n" + source("settings"))
    write(root, "blob.dat", os.urandom(4000))
    first = opened(root, data).scan()
    assert len(set(files_opened.below(root))) >= 43
    repository = opened(root, data)
    files_opened.clear()
    second = repository.scan()
    assert files_opened.below(root) == []
    assert second.files == first.files and second.secrets == first.secrets and first.secrets
    assert second.learned_documents == first.learned_documents
    for document in second.learned_documents:
        np.testing.assert_array_equal(second.document_tokens(document), first.document_tokens(document))
    files_opened.clear()
    assert repository.scan().files == first.files
    assert files_opened.below(root) == []


def test_only_what_changed_is_read_again(root, data, files_opened):
    paths = fill(root, 20)
    opened(root, data).scan()
    write(root, paths[7], source("another"))
    files_opened.clear()
    corpus = opened(root, data).scan()
    assert files_opened.below(root) == [str(root / paths[7])]
    assert corpus.tokenizer.decode(corpus.tokens(paths[7])) == source("another")


def test_a_change_that_keeps_size_and_time_by_chance_is_seen(root, data):
    """Written again with the same length right after the scan: the clock may not have moved on in between."""
    fill(root, 3)
    for round_number in range(20):
        write(root, "a.py", f"value = {round_number:04d}\n" * 9)
        corpus = opened(root, data).scan()
        assert corpus.tokenizer.decode(corpus.tokens("a.py")) == f"value = {round_number:04d}\n" * 9


def test_listing_first_reads_each_file_once(root, data, files_opened):
    fill(root, 25)
    files_opened.clear()
    repository = Repository(root, data)
    listed = repository.list_files()
    assert not listed.has_tokens and all(verdict.tokens is None for verdict in listed.files)
    with pytest.raises(CorpusError, match="tokenised"):
        listed.tokens(listed.files[0].path)
    repository.use_tokenizer(tokenizer())
    corpus = repository.tokenise()
    assert corpus.totals.learned.tokens > 0
    assert len(files_opened.below(root)) == 25
    assert opened(root, data).scan().files == corpus.files


def test_texts_that_are_not_kept_are_read_again(root, data, monkeypatch):
    monkeypatch.setattr("engine.corpus.reading.listing.KEPT_BYTES", 5000)
    paths = fill(root, 20)
    corpus = opened(root, data).scan()
    assert all(corpus.tokenizer.decode(corpus.tokens(path)) == source(path) for path in paths)


def test_files_that_change_or_vanish_between_listing_and_tokenising(root, data, monkeypatch):
    monkeypatch.setattr("engine.corpus.reading.listing.KEPT_BYTES", 0)
    paths = fill(root, 12)
    repository = Repository(root, data)
    repository.list_files()
    write(root, paths[1], source("new text"))
    write(root, paths[2], b"\0\1\2" * 50)
    write(root, paths[5], source(paths[6]))
    (root / paths[3]).unlink()
    repository.use_tokenizer(tokenizer())
    corpus = repository.tokenise()
    assert corpus.tokenizer.decode(corpus.tokens(paths[1])) == source("new text")
    assert reasons(corpus)[paths[2]] is Reason.BINARY
    assert paths[3] not in corpus.by_path
    assert {reasons(corpus)[paths[5]], reasons(corpus)[paths[6]]} == {None, Reason.DUPLICATE}
    assert opened(root, data).scan().files == corpus.files


def test_another_tokenizer_has_its_own_tokens(root, data, files_opened):
    paths = fill(root, 10)
    first = opened(root, data).scan()
    other = Tokenizer.train([source(path) for path in paths], 900)
    second = Repository(root, data, other).scan()
    assert second.totals.learned.tokens != first.totals.learned.tokens
    assert second.tokenizer.decode(second.tokens(paths[0])) == source(paths[0])
    files_opened.clear()
    assert opened(root, data).scan().files == first.files
    assert files_opened.below(root) == []


def test_two_repositories_share_the_tokens_of_the_same_text(tmp_path, data, monkeypatch):
    roots = [tmp_path / "one", tmp_path / "two"]
    for folder in roots:
        fill(folder, 10)
    opened(roots[0], data).scan()
    monkeypatch.setattr(Tokenizer, "encode_batch", lambda self, texts: pytest.fail("tokenised again"))
    assert opened(roots[1], data).scan().totals.learned.tokens > 0


def test_secrets_are_masked_or_their_file_left_out(root, data):
    fill(root, 8)
    text = f"import os\n{SECRET}\n" + source("with a secret")
    write(root, "settings.py", text)
    corpus = opened(root, data).scan()
    assert [(each.path, each.line) for each in corpus.secrets] == [("settings.py", 2)]
    learned = corpus.tokenizer.decode(corpus.tokens("settings.py"))
    assert "AKIA" not in learned and learned.splitlines()[2:] == text.splitlines()[2:]
    corpus = opened(root, data, secret_policy=SecretPolicy.LEAVE_OUT).scan()
    assert reasons(corpus)["settings.py"] is Reason.SECRET
    assert not any(KEY.encode() in path.read_bytes() for path in data.rglob("*") if path.is_file())


def test_settings_change_verdicts_without_confusing_the_cache(root, data):
    fill(root, 6)
    write(root, "wide.py", source("wide", 400))
    assert reasons(opened(root, data).scan())["wide.py"] is None
    assert reasons(opened(root, data, max_bytes=5000).scan())["wide.py"] is Reason.TOO_LARGE
    assert reasons(opened(root, data, languages_off=frozenset({"python"})).scan())["wide.py"] is Reason.LANGUAGE_OFF
    assert reasons(opened(root, data).scan())["wide.py"] is None


def test_choices_of_the_user_survive_a_rescan(root, data):
    paths = fill(root, 10)
    write(root, "zz_copy.py", source(paths[0]))
    repository = opened(root, data)
    repository.scan()
    choices = repository.overrides.with_path(paths[2], Choice.LEAVE).with_path("zz_copy.py", Choice.LEARN)
    corpus = repository.choose(choices.with_path("part_3/", Choice.LEAVE))
    for each in (corpus, repository.scan(), repository.update([paths[2], paths[3]]), opened(root, data).scan()):
        assert each.files == corpus.files
        assert reasons(each)[paths[2]] is Reason.SWITCHED_OFF
        assert each.by_path["zz_copy.py"].learn
        assert not any(verdict.learn for verdict in each.files if verdict.path.startswith("part_3/"))
    taken_back = repository.choose(type(choices)())
    assert taken_back.by_path[paths[2]].learn and not taken_back.by_path["zz_copy.py"].learn


def test_progress_is_told_stage_by_stage(root, data):
    fill(root, 30)
    told = []
    opened(root, data).scan(lambda *step: told.append(step))
    stages = list(dict.fromkeys(what for _, _, what in told))
    assert stages == ["Looking through the folder", "Reading files", "Comparing files", "Tokenising"]
    for stage in stages:
        steps = [(done, total) for done, total, what in told if what == stage]
        assert steps[-1][0] == steps[-1][1] > 0
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)


@pytest.mark.parametrize("stage", ["Looking through the folder", "Reading files", "Comparing files", "Tokenising"])
def test_a_scan_can_be_stopped_at_every_stage_and_goes_on_later(root, data, stage):
    fill(root, 300)
    seen = []
    with pytest.raises(ScanCancelledError):
        opened(root, data).scan(lambda done, total, what: seen.append(what), lambda: stage in seen)
    corpus = opened(root, data).scan()
    assert corpus.totals.learned.files == 300
    assert opened(root, data).scan().files == corpus.files


def test_stopping_takes_less_than_a_tenth_of_a_second(root, data):
    """At random moments of a scan with files of the largest size; the median, because the machine has other work."""
    text = source("large", 2000)
    for number in range(24):
        write(root, f"large_{number}.py", (text.replace("self", f"self_{number}_") * 20)[:1_000_000])
    repository = opened(root, data)
    delays = []
    for moment in range(5):
        shutil.rmtree(data, ignore_errors=True)
        asked: list[float] = []
        timer = threading.Timer(0.1 + moment * 0.15, lambda asked=asked: asked.append(time.perf_counter()))
        timer.start()
        try:
            opened(root, data).scan(cancelled=lambda asked=asked: bool(asked))
        except ScanCancelledError:
            delays.append(time.perf_counter() - asked[0])
        finally:
            timer.cancel()
            timer.join()
    print("delays", [f"{1000 * delay:.0f} ms" for delay in delays])
    assert delays and len(repository.scan().files) == 24


def test_a_folder_that_is_not_there_or_goes_away(root, data):
    with pytest.raises(CorpusError) as raised:
        Repository(root / "nowhere", data)
    assert raised.value.remedy
    write(root, "file.py", "x = 1\n")
    with pytest.raises(CorpusError, match="not a folder"):
        Repository(root / "file.py", data)
    fill(root, 6)
    repository = opened(root, data)
    before = repository.scan()
    root.rename(root.with_name("moved"))
    for attempt in (repository.scan, lambda: repository.update(["part_0/module_0.py"]), repository.list_files):
        with pytest.raises(CorpusError, match=root.name):
            attempt()
    root.with_name("moved").rename(root)
    assert repository.scan().files == before.files


def test_an_empty_folder_and_files_with_nothing_in_them(root, data):
    corpus = opened(root, data).scan()
    assert corpus.files == () and corpus.learned_documents == ()
    write(root, "empty.py", "")
    write(root, "blank.py", " \n\n")
    corpus = opened(root, data).scan()
    assert set(reasons(corpus).values()) == {Reason.EMPTY}


def test_names_that_are_not_utf8_go_through_all_caches(root, data):
    name = os.fsdecode(b"caf\xe9.py")
    try:
        (root / name).write_text(source("odd name"))
    except OSError:
        pytest.skip("this file system takes no such names")
    fill(root, 5)
    first = opened(root, data).scan()
    assert first.by_path[name].learn
    assert opened(root, data).scan().files == first.files
    (root / name).write_text(source("odd name, changed"))
    repository = opened(root, data)
    repository.scan()
    assert repository.update([name]).by_path[name].learn


def test_what_codecoil_keeps_inside_the_folder_is_not_learned(root):
    fill(root, 6)
    first = opened(root, root / "state").scan()
    again = opened(root, root / "state").scan()
    assert again.files == first.files
    assert not any(verdict.path.startswith("state") for verdict in again.files)


def test_windows_read_the_corpus(root, data):
    fill(root, 20)
    corpus = opened(root, data).scan()
    batch = Windows(corpus, 64, 4, seed=1).take()
    assert batch.tokens.shape == (4, 65)
    assert sum(int(each.counted.sum()) for each in HeldOutWindows(corpus, 64, 4)) > 0


def test_two_programs_scan_the_same_repository_at_once(root, data):
    paths = fill(root, 120)
    script = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from sources import *\n"
        "corpus = opened(Path(sys.argv[3]), Path(sys.argv[4])).scan()\n"
        "print(corpus.totals.learned.files, corpus.totals.learned.tokens, corpus.totals.held_out.tokens)\n"
    )
    here = Path(__file__).parent
    command = [sys.executable, "-c", script, str(here.parents[2]), str(here), str(root), str(data)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [each.communicate()[0] for each in both]
    corpus = opened(root, data).scan()
    totals = corpus.totals
    assert printed == [f"{totals.learned.files} {totals.learned.tokens} {totals.held_out.tokens}\n"] * 2
    assert all(corpus.tokenizer.decode(corpus.tokens(path)) == source(path) for path in paths)
    index = next(data.glob("tokens/*/0001.index"))
    assert index.stat().st_size == 120 * 40, "no text is kept twice"


def test_a_scan_settles_with_default_settings():
    assert ScanSettings().held_out_share == 0.10
