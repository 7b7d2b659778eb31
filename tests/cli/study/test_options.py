"""Options of the study: lists in their text."""

import pytest

from histreg.cli.study.options import split_option
from histreg.errors import InputError


def test_names_are_separated_by_commas():
    assert split_option(None) == split_option("") == []
    assert split_option("pole, bike,") == ["pole", "bike"]


def test_an_option_without_a_name_is_refused():
    assert split_option(None, "--datasets") == []
    with pytest.raises(InputError, match="--datasets must not be empty"):
        split_option(" , ", "--datasets")
