"""Findings: the verdict on one part of a claim, and the interval that gives it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from histreg.study.analysis.comparisons import Comparison
from histreg.study.catalogue import SEEDS
from histreg.study.datasets import source

ENOUGH = len(SEEDS)
"""Number of seeds that a part needs: the paper's number of runs."""
HOW_DECIDED = (
    "Each part of a claim is decided by the 95 % interval (Student's, two-sided) of a "
    "mean over seeds: confirmed if the whole interval agrees with the claim, refuted "
    "if none of it does, and not significant otherwise."
)
"""The rule of all parts in which there is chance."""

BySeed = dict[int, float]


class Verdict(StrEnum):
    """Whether a claim, or a part of it, holds.

    A part is one of `OF_PARTS`. A claim holds or fails so far if something that the
    paper judges it on was not run, or not as in the paper; it depends if readings of
    the paper give different verdicts.
    """

    CONFIRMED = "confirmed"
    HOLDS_SO_FAR = "holds so far"
    REFUTED = "refuted"
    FAILS_SO_FAR = "fails so far"
    DEPENDS = "depends"
    NOT_SIGNIFICANT = "not significant"
    NOT_RUN = "not run"


OF_PARTS = (
    Verdict.CONFIRMED,
    Verdict.REFUTED,
    Verdict.NOT_SIGNIFICANT,
    Verdict.NOT_RUN,
)


@dataclass(frozen=True)
class Finding:
    """The verdict on one part of a claim.

    Parameters
    ----------
    part : str
        What is claimed, such as "Pole: HL-Gauss below l2".
    verdict : Verdict
        One of `OF_PARTS`.
    numbers : str
        The numbers that decided it, or the missing runs; empty if nothing was run.
    on : tuple of str
        Names of the data sets, series or games that the part is about; of a part of
        theory, the propositions.
    reading : str
        The reading of the paper that the runs follow, where claims are judged by
        several; empty if the part does not depend on it.
    """

    part: str
    verdict: Verdict
    numbers: str = ""
    on: tuple[str, ...] = ()
    reading: str = ""


def on_dataset(name: str, finding: Finding) -> Finding:
    """Return a finding with its data set, also at the beginning of its part."""
    return replace(finding, part=f"{title(name)}: {finding.part}", on=(name,))


def title(name: str) -> str:
    """Return the title of a data set."""
    return source(name).title


def lower(part: str, a: BySeed, b: BySeed) -> Finding:
    """Find whether a is below b: whether the interval of a - b is below 0."""
    return _difference(part, a, b, high=0.0)


def not_lower(part: str, a: BySeed, b: BySeed, margin: float) -> Finding:
    """Find whether a is not below b by more than a share of it."""
    return _difference(part, a, b, low=-margin)


def not_higher(part: str, a: BySeed, b: BySeed, margin: float) -> Finding:
    """Find whether a is not above b by more than a share of it."""
    return _difference(part, a, b, high=margin)


def within(part: str, a: BySeed, b: BySeed, margin: float) -> Finding:
    """Find whether a differs from b by less than a share of it."""
    return _difference(part, a, b, -margin, margin)


def in_range(
    part: str, values: BySeed, low: float = -math.inf, high: float = math.inf
) -> Finding:
    """Find whether a mean is between two numbers."""
    pairs = Comparison.of(values, dict.fromkeys(values, 0.0))
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    return by_interval(part, f"{pairs.mean:.4g}", pairs.interval, low, high)


def by_interval(
    part: str,
    what: str,
    interval: tuple[float, float],
    low: float = -math.inf,
    high: float = math.inf,
) -> Finding:
    """Find whether an interval lies between two numbers.

    Confirmed if it does, refuted if it lies outside, otherwise not significant; one
    that ends on a limit is not significant.

    Parameters
    ----------
    part : str
    what : str
        The number that the interval belongs to, in words.
    interval : pair of float
    low, high : float
    """
    verdict = Verdict.NOT_SIGNIFICANT
    if low < interval[0] and interval[1] < high:
        verdict = Verdict.CONFIRMED
    elif interval[1] < low or interval[0] > high:
        verdict = Verdict.REFUTED
    ends = f"[{interval[0]:.3g}, {interval[1]:.3g}]"
    return Finding(part, verdict, f"{what} {ends}, claimed {_in_words(low, high)}")


def measured(part: str, *, holds: bool, numbers: str) -> Finding:
    """Return a finding from numbers that do not depend on chance."""
    return Finding(part, Verdict.CONFIRMED if holds else Verdict.REFUTED, numbers)


def not_run(part: str, why: str = "") -> Finding:
    """Return the finding that nothing was run, or too little to decide."""
    return Finding(part, Verdict.NOT_RUN, why)


def on_some(part: str, findings: Sequence[Finding]) -> Finding:
    """Find whether one of several findings is confirmed, such as on some data set.

    Refuted if all that were run are refuted.
    """
    verdicts = {finding.verdict for finding in findings} - {Verdict.NOT_RUN}
    verdict = Verdict.NOT_SIGNIFICANT
    if Verdict.CONFIRMED in verdicts:
        verdict = Verdict.CONFIRMED
    elif not verdicts:
        verdict = Verdict.NOT_RUN
    elif verdicts == {Verdict.REFUTED}:
        verdict = Verdict.REFUTED
    numbers = "; ".join(
        f"{' and '.join(map(title, finding.on))} {finding.verdict}: {finding.numbers}"
        for finding in findings
        if finding.verdict is not Verdict.NOT_RUN
    )
    places = dict.fromkeys(name for finding in findings for name in finding.on)
    return Finding(part, verdict, numbers, tuple(places))


def _difference(
    part: str,
    a: BySeed,
    b: BySeed,
    low: float = -math.inf,
    high: float = math.inf,
) -> Finding:
    """Find whether a - b is between two shares of b, seed by seed."""
    pairs = Comparison.of(a, b)
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    mean_a, mean_b = (
        math.fsum(values[seed] for seed in a.keys() & b.keys()) / pairs.n
        for values in (a, b)
    )
    low, high = (_times(share, abs(mean_b)) for share in (low, high))
    what = f"{mean_a:.4g} against {mean_b:.4g}, difference {pairs.mean:.3g}"
    return by_interval(part, what, pairs.interval, low, high)


def _times(share: float, size: float) -> float:
    return share if math.isinf(share) else share * size


def _in_words(low: float, high: float) -> str:
    if math.isinf(low):
        return f"below {high:.3g}"
    return f"above {low:.3g}" if math.isinf(high) else f"from {low:.3g} to {high:.3g}"


def _too_few(part: str, pairs: Comparison) -> Finding:
    why = f"{pairs.n} of {ENOUGH} seeds have a finite number" if pairs.n else ""
    return not_run(part, why)
