"""The model that the program comes with."""

from __future__ import annotations

import numpy as np
import pytest

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError
from engine.model import starter
from engine.model.files import WEIGHTS_FILE


def test_without_the_files_the_message_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(starter, "starter_place", lambda: tmp_path)
    assert starter.starter_folder() is None
    with pytest.raises(CheckpointError, match="without its starter model"):
        starter.load_starter("cpu")


@pytest.mark.skipif(starter.starter_folder() is None, reason="no starter model was exported yet")
def test_it_is_small_whole_and_fits_its_tokenizer():
    folder = starter.starter_folder()
    assert (folder / WEIGHTS_FILE).stat().st_size <= 12 << 20
    tokenizer = Tokenizer.load(folder)
    model = starter.load_starter("cpu")
    try:
        assert tokenizer.has_fim and tokenizer.fits(model.config.vocab_size)
        ids = tokenizer.encode(
            "import os\n\n\ndef main(arguments):\n    return 0\n\n\nif __name__ == '__main__':\n    main("
        )
        loss = model.losses(ids[None].astype(np.int32)).mean()
        assert loss < 0.6 * np.log(model.config.vocab_size)  # it has learned something
    finally:
        model.close()
