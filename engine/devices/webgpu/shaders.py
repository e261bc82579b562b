"""Shader text: a file of `shaders/`, the library files that it names, and the `const` lines in front.  No wgpu here.

A shader names its libraries in a line `//! lib: activation reduce`; there is no template language.
"""

from __future__ import annotations

import functools
from importlib import resources


@functools.cache
def file_text(stem: str) -> str:
    """The text of shaders/<stem>.wgsl."""
    return resources.files("shaders").joinpath(f"{stem}.wgsl").read_text(encoding="utf-8")


@functools.cache
def shader_source(stem: str, header: tuple[tuple[str, int], ...] = ()) -> str:
    """The complete module: `const` lines, libraries, then the shader itself."""
    text = file_text(stem)
    libraries = [
        file_text(f"lib/{name}")
        for line in text.splitlines()
        if line.startswith("//! lib:")
        for name in line[8:].split()
    ]
    constants = [f"const {name}: u32 = {value}u;\n" for name, value in header]
    return "".join([*constants, *libraries, text])
