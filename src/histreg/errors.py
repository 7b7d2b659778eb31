"""The class of errors that a caller can correct."""

from __future__ import annotations


class InputError(ValueError):
    """What was given cannot be used: the message says why, and what to give instead.

    The command line prints the message alone and exits with code 2. Every other error
    is a mistake of this package, and is shown with its traceback.
    """


class WriteError(InputError, OSError):
    """A file cannot be written where it was asked for."""


class DownloadError(InputError, OSError):
    """A data set is not here, and could not be fetched."""


class NoDistributionError(InputError, AttributeError):
    """A distribution was asked of a model that predicts one number."""
