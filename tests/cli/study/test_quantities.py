"""Counts and durations in words."""

import pytest

from histreg.cli.study.quantities import counted, duration


@pytest.mark.parametrize(
    ("n", "nouns", "words"),
    [
        (0, ["run"], "0 runs"),
        (1, ["run"], "1 run"),
        (2, ["run"], "2 runs"),
        (2, ["process", "processes"], "2 processes"),
    ],
)
def test_a_noun_agrees_with_its_number(n, nouns, words):
    assert counted(n, *nouns) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "3 s"), (120, "2 min"), (9000, "2.5 h")]
)
def test_a_duration_has_a_unit_that_suits_it(seconds, words):
    assert duration(seconds) == words
