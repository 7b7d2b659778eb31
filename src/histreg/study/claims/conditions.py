"""Conditions: what claims compare, and comparisons of many pairs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    within,
)
from histreg.study.engine.runs import Record
from histreg.study.methods import L1, L2, HLGauss, HLOneBin, Method

MAIN = "test MAE"
"""The paper's criterion, which the text of a finding does not name."""

Find = Callable[[Evidence], list[Finding]]


@dataclass(frozen=True, eq=False)
class Condition:
    """What was run, with a number for each data set and seed.

    Parameters
    ----------
    label : str
        Its name in the text of a finding.
    by_seed : callable
        From evidence and the name of a data set to the numbers by seed.
    metric : str
        What the numbers are.
    """

    label: str
    by_seed: Callable[[Evidence, str], BySeed]
    metric: str = MAIN

    @classmethod
    def of(
        cls, method: Method, metric: str = MAIN, *, label: str = "", **changes: Any
    ) -> Condition:
        """Return a method by the protocol, but for some changes."""

        def by_seed(evidence: Evidence, name: str) -> BySeed:
            return evidence.values(name, method, metric, **changes)

        return cls(label or method.label, by_seed, metric)

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


def lower_each(pairs: Iterable[Pair], *, names: tuple[str, ...] = ()) -> Find:
    """Find whether the first of each pair is below the second, on each data set.

    On the data sets that go by one of `names`; on all tables if there are none.
    """
    return _compared("below", lower, pairs, names)


def not_lower_each(
    pairs: Iterable[Pair], margin: float, *, names: tuple[str, ...] = ()
) -> Find:
    """Find whether the first is not below the second by more than a share of it."""
    words = f"not more than {margin:.0%} below"
    return _compared(words, partial(not_lower, margin=margin), pairs, names)


def not_higher_each(
    pairs: Iterable[Pair], margin: float, *, names: tuple[str, ...] = ()
) -> Find:
    """Find whether the first is not above the second by more than a share of it."""
    words = f"not more than {margin:.0%} above"
    return _compared(words, partial(not_higher, margin=margin), pairs, names)


def within_each(
    pairs: Iterable[Pair], margin: float, *, names: tuple[str, ...] = ()
) -> Find:
    """Find whether the two differ by less than a share of the second."""
    return _compared(
        f"within {margin:.0%} of", partial(within, margin=margin), pairs, names
    )


def all_of(*finds: Find) -> Find:
    """Return the findings of several functions as one."""
    return lambda evidence: list(chain.from_iterable(f(evidence) for f in finds))


def _compared(
    words: str,
    decide: Callable[[str, BySeed, BySeed], Finding],
    pairs: Iterable[Pair],
    names: tuple[str, ...],
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
            for name in (evidence.datasets_named(*names) if names else evidence.tabular)
            for a, b in pairs
        ]

    return find


def _part(a: Condition, words: str, b: Condition) -> str:
    metric = "" if a.metric == MAIN else f" ({a.metric})"
    return f"{a.label} {words} {b.label}{metric}"


HL_GAUSS = Condition.of(HLGauss())
HL_ONE_BIN = Condition.of(HLOneBin())
L2_LOSS = Condition.of(L2())
L1_LOSS = Condition.of(L1())
