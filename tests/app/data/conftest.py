"""A tokenizer for small models."""

from tests.checkpoints.formats.gguf_samples import tokenizer_path  # noqa: F401  (a fixture)
