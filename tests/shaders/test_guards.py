"""Numbers that are not finite are found by their bits, as they lie in memory.

A compiler may take for granted that there are none among numbers that it computes: `x != x` is then false.
"""

import re

import pytest

from tests.shaders.variants import all_variants

COMMENT = re.compile(r"//[^\n]*")
ITSELF = re.compile(r"(?<![\w.\])])([A-Za-z_][\w.]*(?:\[[^][]*\])?)\s*[!=]=\s*\1(?![\w.\[(])")
GUARD = re.compile(r"(?<!fn )not_finite\(((?:[^()]|\([^()]*\))*)\)")
WORDS = re.compile(r"var<storage, read_write> (\w+): array<u32>")
LOADED = re.compile(r"(\w+)\[[^][]*\]")


def _problems(source: str) -> list[str]:
    text = COMMENT.sub("", source)
    words = set(WORDS.findall(text))
    found = [match[0] for match in ITSELF.finditer(text)]
    for asked in GUARD.findall(text):
        named = re.search(rf"let {re.escape(asked)} = ([^;]+);", text) if asked.isidentifier() else None
        loaded = LOADED.fullmatch(named[1] if named else asked)
        if not loaded or loaded[1] not in words:
            found.append(f"not_finite({asked})")
    return found


@pytest.mark.parametrize("variant", all_variants(), ids=lambda variant: variant.name)
def test_no_shader_asks_a_computed_number_whether_it_is_finite(variant):
    assert _problems(variant.source) == []


def test_the_guard_of_the_gradients_is_looked_at():
    (guard,) = (variant for variant in all_variants() if variant.name == "clip_factor")
    assert len(GUARD.findall(COMMENT.sub("", guard.source))) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        "if (norm != norm) {",
        "let nan = partials[i] != partials[i];",
        "let bad = not_finite(bitcast<u32>(norm));",
        "let sum = a + b; let bad = not_finite(sum);",
        "var<storage, read_write> losses: array<f32>; fn f() { let bad = not_finite(losses[0]); }",
    ],
)
def test_what_would_be_found(wrong):
    assert len(_problems(wrong)) == 1
