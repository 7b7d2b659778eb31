"""Scope: what the paper judges a claim on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from histreg.study.analysis.paper import published_log_ratios
from histreg.study.atari.runs import N_FRAMES
from histreg.study.catalogue import DATA
from histreg.study.datasets import GAMES, SERIES

FRAMES_OF_PAPER = 10_000_000
"""Of each game, at least (Section 6.2)."""
MOST_NAMES = 4  # that are listed; of more, only the number is given


@dataclass(frozen=True)
class Scope:
    """What the paper judges a claim on.

    Parameters
    ----------
    noun, plural : str
        What the names are.
    names : tuple of str
        The data sets, series, games or propositions: all of them must be run to confirm
        or refute the claim.
    departures : tuple of str
        How runs of ours differ from the paper's wherever they are made, in words;
        empty if they follow it.
    """

    noun: str
    plural: str
    names: tuple[str, ...]
    departures: tuple[str, ...] = ()

    @property
    def is_trained(self) -> bool:
        """Whether a claim is about networks that are trained for some epochs."""
        return not {*self.names}.isdisjoint({*DATA, *SERIES, *GAMES})

    def covered(self, judged: Collection[str]) -> str:
        """Return in words how much of it a claim was judged on; never empty.

        Names that are not the paper's, such as those of a part of a data set, are told
        apart and do not count.
        """
        own = [name for name in self.names if name in judged]
        others = [name for name in judged if name not in self.names]
        apart = [f"{', '.join(others)} (not in the paper)"] if others else []
        if own or not others:
            return "; ".join([self._counted(own), *apart])
        return apart[0]

    def _counted(self, names: Sequence[str]) -> str:
        n = len(self.names)
        if not names:
            return f"none of {n} {self.plural}" if n > 1 else f"not on {self.names[0]}"
        count = f"{len(names)} of {n} {self.plural if n > 1 else self.noun}"
        is_long = len(names) > MOST_NAMES
        return count if is_long else f"{', '.join(names)} ({count})"


def tables(*names: str, departures: tuple[str, ...] = ()) -> Scope:
    """Return these tables of the paper; without names, all four."""
    return Scope("data set", "data sets", names or DATA, departures)


PAPER_TABLES = tables()
SINES = Scope("task", "tasks", ("sines",))
PAPER_SERIES = Scope("series", "series", tuple(SERIES))
PAPER_GAMES = Scope(
    "game",
    "games",
    tuple(published_log_ratios()),
    (f"{N_FRAMES:,} of {FRAMES_OF_PAPER:,} frames of each",),
)
