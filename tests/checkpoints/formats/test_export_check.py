"""What transformers, PEFT and llama.cpp said about our exports still holds: a new export has the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RESULTS = json.loads((Path(__file__).parents[2] / "fixtures" / "export_check.json").read_text())
LIMIT = 1e-5  # of a logit of about 5, after three layers in float32
QUANTISED = {"gguf_separate_f16": 0.01, "gguf_separate_q8_0": 0.1, "gguf_separate_q4_0": 1.0}


@pytest.fixture(scope="module")
def written(export_check, tmp_path_factory):
    return export_check.write_exports(tmp_path_factory.mktemp("exports") / "out")


def test_every_export_was_checked(written):
    assert written.keys() == RESULTS.keys()


@pytest.mark.parametrize("case", sorted(RESULTS))
def test_the_bytes_are_those_that_were_checked(case, written, export_check):
    assert export_check.hashes(written[case]) == RESULTS[case]["files"]


@pytest.mark.parametrize("case", sorted(RESULTS))
def test_the_logits_were_the_same(case):
    assert RESULTS[case]["largest_difference"] <= QUANTISED.get(case, LIMIT)


def test_tokens_were_the_same():
    assert RESULTS["float32"]["same_token_ids"]
    for case in ("gguf_f32", "gguf_separate_f32", "gguf_no_conv_bias_f32"):
        assert RESULTS[case]["same_token_ids"]
        assert RESULTS[case]["greedy_tokens_equal"] == "48 of 48"
    assert RESULTS["gguf_separate_f32"]["different_greedy_tokens"] > 10
