"""Numbers as words."""

from __future__ import annotations

import math

import pytest

from app.values import words


@pytest.mark.parametrize(
    ("error", "limit", "said"),
    [
        (0, 0, "0 %"),
        (1e-9, 0, "over"),
        (1e-9, 1e-5, "< 1 %"),
        (0.999e-5, 1e-5, "99 %"),
        (1e-5, 1e-5, "100 %"),
        (1.0001e-5, 1e-5, "101 %"),
        (1, 1e-5, "> 999 %"),
        (math.nan, 1e-5, "over"),
    ],
)
def test_the_share_of_a_limit_is_never_rounded_to_the_other_side(error, limit, said):
    assert words.percent(words.share(error, limit)) == said


@pytest.mark.parametrize(("value", "said"), [(0, "0"), (1.234e-7, "1.2e-07"), (math.nan, "none")])
def test_small_numbers(value, said):
    assert words.small_number(value) == said


@pytest.mark.parametrize(("seconds", "said"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (42, "42 s"), (168.9, "2:48")])
def test_durations(seconds, said):
    assert words.duration(seconds) == said


@pytest.mark.parametrize(("value", "said"), [(0.71, "0.7 ms"), (836.4, "836 ms"), (2635.2, "2.6 s")])
def test_milliseconds(value, said):
    assert words.milliseconds(value) == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("max-buffer-size", 2**31, "max buffer 2 GiB"),
        ("max_binding_bytes", 128 * 2**20, "max binding 128 MiB"),
        ("max-compute-workgroup-size-x", 1024, "max compute workgroup size x 1,024"),
        ("threads", 2, "threads 2"),
    ],
)
def test_limits(name, value, said):
    assert words.limit_words(name, value) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(2, "5 s"), (38, "40 s"), (58, "1 min"), (170, "3 min"), (4790, "1 h 20 min"), (7200, "2 h")]
)
def test_estimates(seconds, said):
    assert words.about(seconds) == said


@pytest.mark.parametrize(
    ("number", "said"), [(840, "840"), (12300, "12,300"), (1.44e6, "1.4 M"), (2.5e8, "250 M"), (1.544e9, "1.5 B")]
)
def test_large_counts(number, said):
    assert words.thousands(int(number)) == said


@pytest.mark.parametrize(
    ("language", "said"),
    [("python", "Python"), ("typescript", "TypeScript"), ("sql", "SQL"), ("c++", "C++"), ("", "no language")],
)
def test_languages(language, said):
    assert words.language_words(language) == said


def test_a_measured_speed_is_no_more_precise_than_it_is():
    assert [words.rate(value) for value in (0.04, 7.42, 9.96, 23.4, 161.0, 999.0, 1234.0)] == [
        "0.0 tokens/s",
        "7.4 tokens/s",
        "10 tokens/s",
        "23 tokens/s",
        "160 tokens/s",
        "1,000 tokens/s",
        "1,200 tokens/s",
    ]
