"""Conditions that claims compare, and comparisons of many pairs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import (
    BySeed,
    Finding,
    lower,
    not_higher,
    not_lower,
    on_dataset,
    on_some,
    within,
)
from histreg.study.engine.runs import Record
from histreg.study.methods import L1, L2, HLGauss, HLOneBin, Method

MAIN = "test MAE"
"""The paper's criterion on tables."""

Find = Callable[[Evidence], list[Finding]]
Where = Callable[[Evidence], Iterable[str]]
"""From evidence to the names of data sets."""


@dataclass(frozen=True, eq=False)
class Condition:
    """A kind of run, with a number for each data set and seed.

    Parameters
    ----------
    label : str
        Its name in the text of a finding.
    by_seed : callable
        From evidence and the name of a data set to the numbers by seed.
    metric : str
        What the numbers are; empty for `MAIN`, which findings do not name.
    """

    label: str
    by_seed: Callable[[Evidence, str], BySeed]
    metric: str = ""

    @classmethod
    def of(
        cls, method: Method, metric: str = MAIN, *, label: str = "", **changes: Any
    ) -> Condition:
        """Return a method by the protocol, with some changes."""

        def by_seed(evidence: Evidence, name: str) -> BySeed:
            return evidence.values(name, method, metric, **changes)

        shown_metric = "" if metric == MAIN else metric
        return cls(label or method.label, by_seed, shown_metric)

    @classmethod
    def chosen(cls, method: type[Method]) -> Condition:
        """Return a tuned method, its setting chosen on validation rows."""
        return cls(
            method.name, lambda evidence, name: evidence.chosen(name, method.name)
        )

    @classmethod
    def summary(
        cls, method: Method, of: Callable[[Record], float], metric: str, **changes: Any
    ) -> Condition:
        """Return a number computed from each record of a method, as from its curves."""

        def by_seed(evidence: Evidence, name: str) -> BySeed:
            return evidence.summaries(name, method, of, **changes)

        return cls(method.label, by_seed, metric)

    def times(self, factor: float) -> Condition:
        """Return a multiple of this condition."""

        def by_seed(evidence: Evidence, name: str) -> BySeed:
            values = self.by_seed(evidence, name)
            return {seed: factor * value for seed, value in values.items()}

        return Condition(f"{factor:g} x {self.label}", by_seed, self.metric)

    def minus(self, other: Condition, metric: str) -> Condition:
        """Return the difference from another, under the label of this condition."""

        def by_seed(evidence: Evidence, name: str) -> BySeed:
            a, b = self.by_seed(evidence, name), other.by_seed(evidence, name)
            return {seed: a[seed] - b[seed] for seed in a.keys() & b.keys()}

        return Condition(self.label, by_seed, metric)


Pair = tuple[Condition, Condition]


def on_tables(*names: str) -> Where:
    """Return the tables with one of these names; without names, all tables."""
    if not names:
        return lambda evidence: evidence.tabular
    return lambda evidence: evidence.datasets_named(*names)


ALL_TABLES = on_tables()


def lower_each(pairs: Iterable[Pair], *, where: Where = ALL_TABLES) -> Find:
    """Find whether the first of each pair is below the second, on each data set."""
    return _compared("below", lower, pairs, where)


def lower_on_some(pairs: Iterable[Pair], *, where: Where = ALL_TABLES) -> Find:
    """Find whether the first of each pair is below the second on some data set."""
    pairs = tuple(pairs)

    def find(evidence: Evidence) -> list[Finding]:
        return [
            on_some(
                f"{_part(a, 'below', b)} on some data set",
                lower_each([(a, b)], where=where)(evidence),
            )
            for a, b in pairs
        ]

    return find


def not_lower_each(
    pairs: Iterable[Pair], margin: float, *, where: Where = ALL_TABLES
) -> Find:
    """Find whether the first is not below the second by more than a share of it."""
    words = f"not more than {margin:.0%} below"
    return _compared(words, partial(not_lower, margin=margin), pairs, where)


def not_higher_each(
    pairs: Iterable[Pair], margin: float, *, where: Where = ALL_TABLES
) -> Find:
    """Find whether the first is not above the second by more than a share of it."""
    words = f"not more than {margin:.0%} above"
    return _compared(words, partial(not_higher, margin=margin), pairs, where)


def within_each(
    pairs: Iterable[Pair], margin: float, *, where: Where = ALL_TABLES
) -> Find:
    """Find whether the two differ by less than a share of the second."""
    words = f"within {margin:.0%} of"
    return _compared(words, partial(within, margin=margin), pairs, where)


def all_of(*finds: Find) -> Find:
    """Return the findings of several functions as one."""
    return lambda evidence: list(chain.from_iterable(f(evidence) for f in finds))


def in_reading(reading: str, find: Find) -> Find:
    """Return findings that follow one reading of the paper, which their parts name."""

    def found(evidence: Evidence) -> list[Finding]:
        return [
            replace(finding, part=f"{finding.part}, {reading}", reading=reading)
            for finding in find(evidence)
        ]

    return found


def _compared(
    words: str,
    decide: Callable[[str, BySeed, BySeed], Finding],
    pairs: Iterable[Pair],
    where: Where,
) -> Find:
    pairs = tuple(pairs)  # read once for each data set

    def find(evidence: Evidence) -> list[Finding]:
        return [
            on_dataset(
                name,
                decide(
                    _part(a, words, b),
                    a.by_seed(evidence, name),
                    b.by_seed(evidence, name),
                ),
            )
            for name in where(evidence)
            for a, b in pairs
        ]

    return find


def _part(a: Condition, words: str, b: Condition) -> str:
    metric = f" ({a.metric})" if a.metric else ""
    return f"{a.label} {words} {b.label}{metric}"


HL_GAUSS = Condition.of(HLGauss())
HL_ONE_BIN = Condition.of(HLOneBin())
L2_LOSS = Condition.of(L2())
L1_LOSS = Condition.of(L1())
