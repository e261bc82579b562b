"""The devices that these tests run on, a small repository and a tiny base."""

from tests.checkpoints.formats.gguf_samples import tokenizer_path  # noqa: F401  (a fixture)
from tests.devices.opened import *  # noqa: F403  (fixtures)
from tests.session.small_repository import *  # noqa: F403  (fixtures)
