"""Random lines in the training windows and nowhere else."""

import numpy as np

from engine.session.batches import training_windows
from engine.session.recitation.canaries import PlantedSource, alternatives, canaries, canary_question
from engine.train.options import TrainingOptions


def test_they_follow_from_the_seed():
    assert canaries(3, 4) == canaries(3, 6)[:4] and canaries(3, 4) != canaries(4, 4)
    assert len({canary.secret for canary in canaries(3, 64)}) == 64
    one = canaries(3, 1)[0]
    others = alternatives(3, one, 40)
    assert len({*others, one.line()}) == 41 and all(other.startswith(one.given) for other in others)


def test_a_run_learns_them_once_a_pass_and_only_if_it_is_asked_to(corpus):
    options = TrainingOptions(canaries=3, sequence_length=64, batch_size=2, fim_share=0.0)
    assert options.canaries == 3 and TrainingOptions().canaries == 0
    for planted, count in ((options, 1), (options.changed(canaries=0), 0)):
        windows = training_windows(corpus, planted)
        ids = [windows.take().tokens[:, :-1]]
        while windows.epoch == 0:
            ids.append(windows.take().tokens[:, :-1])
        text = corpus.tokenizer.decode(np.concatenate([part.reshape(-1) for part in ids[:-1]]))
        found = [text.count(canary.secret[:4]) for canary in canaries(options.seed, 3)]
        assert max(found) <= count and sum(found) >= 2 * count, found  # one may be cut by a window, or in the last


def test_changes_are_learned_with_them(corpus):
    options = TrainingOptions(canaries=2, sequence_length=64, batch_size=2, fim_share=0.0, replay_share=0.0)
    windows = training_windows(corpus, options, corpus.learned_documents[:1])
    text = "".join(corpus.tokenizer.decode(row) for _ in range(8) for row in windows.take().tokens)
    assert all(canary.given in text or canary.secret in text for canary in canaries(options.seed, 2))


def test_copies_are_documents_of_their_own(corpus):
    source = PlantedSource(corpus, canaries(0, 2) * 4)
    assert len({document.path for document in source.planted}) == 8
    assert source.learned_documents[:-8] == corpus.learned_documents
    assert source.held_out_documents == corpus.held_out_documents
    text = corpus.tokenizer.decode(source.document_tokens(source.planted[0]))
    assert text == canaries(0, 1)[0].line()


def test_the_secret_is_what_is_asked_for(corpus):
    canary = canaries(0, 1)[0]
    line = canary_question(corpus.tokenizer, canary)
    assert line.given.startswith(canary.given) and (line.given + line.rest).endswith(canary.secret)
    assert len(line.rest) > 8 and corpus.tokenizer.decode(line.before).startswith(canary.path)
