"""Functions compiled by Numba."""

import numba
import numpy as np

from histreg import _numba


def double(values):
    """Return twice the sum of an array."""
    total = 0.0
    for value in values:
        total += 2 * value
    return total


def test_a_compiled_function_returns_what_the_function_does():
    values = np.array([1.0, 2.5, -0.5])
    assert _numba.is_installed()
    assert _numba.compiled(double)(values) == double(values) == 6.0


def test_without_a_folder_for_the_cache_functions_are_compiled_all_the_same(
    monkeypatch,
):
    njit = numba.njit

    def without_cache(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", without_cache)
    assert _numba.compiled(double)(np.ones(3)) == 6.0
