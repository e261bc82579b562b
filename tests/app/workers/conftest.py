"""The program without a window."""

from tests.app.state.program import *  # noqa: F403  (fixtures)
from tests.checkpoints.formats.gguf_samples import tokenizer_path  # noqa: F401  (a fixture)
