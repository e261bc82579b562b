"""Which lines are asked for, and how they are cut."""

import pytest

from engine.corpus.repository import Repository
from engine.session.recitation.rare_lines import CONTEXT, LONGEST, rare_lines
from tests.session.recitation.learned_by_heart import BIRDS


def learned(corpus) -> set[str]:
    return {document.path for document in corpus.learned_documents}


def test_lines_that_occur_once_with_a_rare_word_at_the_end(corpus):
    found = rare_lines(corpus, learned(corpus), 50)
    said = {line.path: line for line in found if line.path.removesuffix(".py") in BIRDS}
    assert said.keys() == {path for path in learned(corpus) if path.removesuffix(".py") in BIRDS}
    for path, line in said.items():
        text = (corpus.root / path).read_text().splitlines()[line.number - 1]
        assert line.given + line.rest == text.strip() and line.number == 2
        decode = corpus.tokenizer.decode
        assert decode(line.before).endswith(line.given) and decode(line.before).startswith(f"{path}\n")
        assert decode(line.ids).startswith(line.rest) and len(line.before) <= CONTEXT


def test_no_line_of_a_file_that_was_not_learned(corpus):
    held_out = {document.path for document in corpus.held_out_documents}
    assert rare_lines(corpus, held_out, 50) == ()


def test_what_occurs_twice_is_not_rare(corpus, birds, data_folder, store, base):
    one = next(path for path in sorted(learned(corpus)) if path.removesuffix(".py") in BIRDS)
    (birds / "copy_of_it.py").write_text("# the same once more\n" + (birds / one).read_text())
    again = Repository(birds, data_folder, corpus.tokenizer).scan()
    assert one not in {line.path for line in rare_lines(again, {one}, 50)}
    assert one in {line.path for line in rare_lines(corpus, {one}, 50)}


def test_the_rarest_come_first(corpus, birds, data_folder):
    one = next(path for path in sorted(learned(corpus)) if path.removesuffix(".py") in BIRDS)
    text = (birds / one).read_text()
    common = '    show("total", "items limit", "total items limit total items limit", "zebrafish")\n'
    (birds / one).write_text(common + text)
    again = Repository(birds, data_folder, corpus.tokenizer).scan()
    assert [line.number for line in rare_lines(again, {one}, 50)] == [3, 1]


def test_no_file_has_more_than_its_share(corpus, birds, data_folder):
    for name in ("many", "more", "most"):  # one of them at least is learned
        lines = [f'name_{n} = ("{name}", "the one after it", "{name}{n}abc{n}")' for n in range(40)]
        (birds / f"{name}.py").write_text("\n".join(lines))
    again = Repository(birds, data_folder, corpus.tokenizer).scan()
    found = [line.path for line in rare_lines(again, learned(again), 40)]
    counts = [found.count(f"{name}.py") for name in ("many", "more", "most")]
    assert max(counts) == 4 and len(found) <= 40


def test_a_line_as_long_as_data_is_left_out(corpus, birds, data_folder):
    one = next(path for path in sorted(learned(corpus)) if path.removesuffix(".py") in BIRDS)
    text = (birds / one).read_text()
    (birds / one).write_text(text.replace('say("the', 'say("' + "very " * LONGEST + '", "the'))
    again = Repository(birds, data_folder, corpus.tokenizer).scan()
    assert one not in {line.path for line in rare_lines(again, {one}, 50)}


def test_it_can_be_stopped(corpus):
    def stop(done: int, total: int) -> None:
        assert 0 <= done < total
        raise InterruptedError

    with pytest.raises(InterruptedError):
        rare_lines(corpus, learned(corpus), 50, stop)
