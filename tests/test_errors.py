"""Errors that a caller can correct are ValueErrors for Python callers."""

import inspect

import pytest

from histreg import errors

CLASSES = [each for _, each in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("kind", CLASSES)
def test_each_is_a_value_error_and_says_what_it_was_told(kind):
    with pytest.raises(ValueError, match="x must be y"):
        raise kind("x must be y")
