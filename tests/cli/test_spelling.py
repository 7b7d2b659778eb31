"""Spelling, as it is given on the command line."""

import pytest

from histreg.cli.spelling import Spelling
from histreg.errors import InputError


def test_nothing_is_known_unless_given():
    assert Spelling.from_options(None, None, None) == Spelling()


def test_a_tab_has_a_name():
    for name in ("tab", "\\t", "\t"):
        assert Spelling.from_options(name, ",", True) == Spelling("\t", ",", True)


@pytest.mark.parametrize("delimiter", ["", "::", '"', "\n"])
def test_a_delimiter_is_one_character(delimiter):
    with pytest.raises(InputError, match="--delimiter must be one character or 'tab'"):
        Spelling.from_options(delimiter, None, None)


def test_a_decimal_mark_is_a_point_or_a_comma():
    with pytest.raises(InputError, match=r"--decimal must be one of '\.', ','"):
        Spelling.from_options(None, "!", None)
