"""Errors that a caller can correct."""

from __future__ import annotations


class InputError(ValueError):
    """Invalid input; the message says why and what to give instead.

    The command line prints only the message and exits with code 2. Any other error is a
    bug in this package and is shown with its traceback.
    """


class WriteError(InputError, OSError):
    """A file cannot be written to the given path."""


class DownloadError(InputError, OSError):
    """A data set is not available locally and could not be downloaded."""


class NoDistributionError(InputError, AttributeError):
    """The model predicts a single number and has no distribution."""


class SparseInputError(InputError, TypeError):
    """A sparse matrix where a dense one is needed; a TypeError as in scikit-learn."""
