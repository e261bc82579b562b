"""Every error the engine raises on purpose.

One small family: a message says what was wrong, with which file, tensor or option, and what to do about it. Anything
else that comes out of the engine is a defect.
"""

from __future__ import annotations


class CodecoilError(Exception):
    """Base of all errors that a person should read; `remedy` is the one thing to do about it."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy


class ConfigError(CodecoilError):
    """A model configuration or an option has a value that cannot work."""


class InputError(CodecoilError):
    """Token ids, shapes or names handed to the engine are not usable."""


class DeviceError(CodecoilError):
    """A device was asked for that is not there, or it failed."""


class DeviceLostError(DeviceError):
    """The adapter went away (driver reset, unplugged): open a device again and reload the last checkpoint."""


class KernelMismatchError(DeviceError):
    """A kernel gave wrong numbers in the self-test; `kernel` is its name."""

    def __init__(self, kernel: str, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.kernel = kernel


class MemoryCeilingError(CodecoilError):
    """A run or a model needs more memory than the ceiling or the adapter gives."""


class CorpusError(CodecoilError):
    """A folder of source code, or what is stored about it, cannot be used."""


class TokenizerError(CodecoilError):
    """A tokenizer's files are missing, damaged or of another kind, or it cannot be trained."""


class CheckpointError(CodecoilError):
    """A checkpoint or a model folder is missing, damaged or of another kind, or it cannot be written."""
