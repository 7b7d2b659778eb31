"""Spelling: how a table writes numbers and dates."""

from __future__ import annotations

from dataclasses import dataclass

from histreg._checks import check_choice
from histreg.errors import InputError

DECIMALS = (".", ",")


@dataclass(frozen=True)
class Spelling:
    """How a table writes numbers and dates; None where it is not known.

    Parameters
    ----------
    delimiter : str, optional
        What separates the cells.
    decimal : {".", ","}, optional
    day_first : bool, optional
        Whether 05/06/2013 is the fifth of June.
    """

    delimiter: str | None = None
    decimal: str | None = None
    day_first: bool | None = None

    @classmethod
    def from_options(
        cls, delimiter: str | None, decimal: str | None, day_first: bool | None
    ) -> Spelling:
        """Return the spelling given on the command line.

        Raises
        ------
        InputError
            Unless the delimiter is one character or the word ``tab``, and the decimal
            mark is a point or a comma.
        """
        if delimiter in ("tab", "\\t"):
            delimiter = "\t"
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise InputError(
                f"--delimiter must be one character or 'tab', got {delimiter!r}"
            )
        if decimal is not None:
            check_choice("--decimal", decimal, DECIMALS)
        return cls(delimiter, decimal, day_first)
