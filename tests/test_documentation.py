"""README, CONTRIBUTING and the measurements name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEW = {  # of the first kernel and the first block
    "shaders/scale_rows.wgsl",
    "tests/kernels/test_scale_rows.py",
    "engine/model/blocks/small_mlp.py",
    "engine/model/architectures/mamba_mlp.py",
    "tests/model/test_small_mlp.py",
}
FOLDERS = "app|engine|shaders|resources|tests|packaging"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "tests/benchmarks/RESULTS.md"])
def test_every_file_that_is_named_exists(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(rf"(?<![\w/.])((?:{FOLDERS})/[\w./]*[\w/])", text))
    assert named and not {path for path in named - NEW if not (ROOT / path).exists()}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_link_leads_to_a_file(name):
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []
