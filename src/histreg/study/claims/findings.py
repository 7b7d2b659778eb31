"""Findings: the verdict on one part of a claim, and the tests that give it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from histreg.study.analysis.comparisons import LEVEL, Comparison
from histreg.study.datasets import source

ENOUGH = math.ceil(-math.log2(LEVEL))
"""Minimum number of seeds for an exact test to decide: 2 ** -ENOUGH <= LEVEL."""

BySeed = dict[int, float]


class Verdict(StrEnum):
    """Whether a claim, or a part of it, holds."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_SIGNIFICANT = "not significant"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """The verdict on one part of a claim.

    Parameters
    ----------
    part : str
        What is claimed, such as "Pole: HL-Gauss below l2".
    verdict : Verdict
    numbers : str
        The numbers that decided it, or the missing runs; empty if nothing was run.
    dataset : str
        Its name; empty if the part is about none, or about several.
    """

    part: str
    verdict: Verdict
    numbers: str = ""
    dataset: str = ""


def on_dataset(name: str, finding: Finding) -> Finding:
    """Return a finding with its data set, also at the beginning of its part."""
    return replace(finding, part=f"{title(name)}: {finding.part}", dataset=name)


def title(name: str) -> str:
    """Return the title of a data set."""
    return source(name).title


def lower(part: str, a: BySeed, b: BySeed) -> Finding:
    """Find whether a is below b, by a one-sided exact test over paired seeds."""
    pairs = Comparison.of(a, b)
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    p, p_opposite = pairs.p_permutation("less"), pairs.p_permutation("greater")
    return one_sided(part, _numbers(a, b, pairs), p, p_opposite)


def one_sided(part: str, numbers: str, p: float, p_opposite: float) -> Finding:
    """Return the finding of a one-sided test; refuted if the opposite holds."""
    if p_opposite <= LEVEL:
        numbers = f"{numbers}, p of the opposite {p_opposite:.2g}"
        return Finding(part, Verdict.REFUTED, numbers)
    verdict = Verdict.CONFIRMED if p <= LEVEL else Verdict.NOT_SIGNIFICANT
    return Finding(part, verdict, f"{numbers}, p {p:.2g}")


def not_lower(part: str, a: BySeed, b: BySeed, margin: float) -> Finding:
    """Find whether a is not below b by more than a share of it.

    Confirmed if the 95 % interval of the difference is above that, or a significantly
    above b; refuted if a is significantly below b, and by more than that in the mean.
    """
    pairs = Comparison.of(a, b)
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    room = _room(a, b, pairs, margin)
    verdict = Verdict.NOT_SIGNIFICANT
    if pairs.interval[0] > -room or pairs.p_permutation("greater") <= LEVEL:
        verdict = Verdict.CONFIRMED
    elif pairs.p_permutation("less") <= LEVEL and pairs.mean < -room:
        verdict = Verdict.REFUTED
    return Finding(part, verdict, _numbers(a, b, pairs))


def not_higher(part: str, a: BySeed, b: BySeed, margin: float) -> Finding:
    """Find whether a is not above b by more than a share of it.

    The mirror image of `not_lower`.
    """
    pairs = Comparison.of(a, b)
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    room = _room(a, b, pairs, margin)
    verdict = Verdict.NOT_SIGNIFICANT
    if pairs.interval[1] < room or pairs.p_permutation("less") <= LEVEL:
        verdict = Verdict.CONFIRMED
    elif pairs.p_permutation("greater") <= LEVEL and pairs.mean > room:
        verdict = Verdict.REFUTED
    return Finding(part, verdict, _numbers(a, b, pairs))


def within(part: str, a: BySeed, b: BySeed, margin: float) -> Finding:
    """Find whether a differs from b by less than a share of it.

    Confirmed if the 95 % interval of the difference lies within the margin; refuted if
    it lies outside.
    """
    pairs = Comparison.of(a, b)
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    room = _room(a, b, pairs, margin)
    verdict = _verdict_of(pairs.interval, -room, room)
    return Finding(part, verdict, _numbers(a, b, pairs))


def in_range(
    part: str, values: BySeed, low: float = -math.inf, high: float = math.inf
) -> Finding:
    """Find whether a mean is between two numbers.

    Confirmed if its 95 % interval is; refuted if that lies outside.
    """
    pairs = Comparison.of(values, dict.fromkeys(values, 0.0))
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    interval = pairs.interval
    numbers = f"{pairs.mean:.4g} [{interval[0]:.4g}, {interval[1]:.4g}]"
    return Finding(part, _verdict_of(interval, low, high), numbers)


def measured(part: str, *, holds: bool, numbers: str) -> Finding:
    """Return a finding from numbers that do not depend on chance."""
    return Finding(part, Verdict.CONFIRMED if holds else Verdict.REFUTED, numbers)


def not_run(part: str, why: str = "") -> Finding:
    """Return the finding that nothing was run, or too little to decide."""
    return Finding(part, Verdict.NOT_RUN, why)


def _too_few(part: str, pairs: Comparison) -> Finding:
    why = f"{pairs.n} of {ENOUGH} seeds have a finite number" if pairs.n else ""
    return not_run(part, why)


def _verdict_of(interval: tuple[float, float], low: float, high: float) -> Verdict:
    """Return whether an interval lies within two numbers, outside, or on one."""
    if low < interval[0] and interval[1] < high:
        return Verdict.CONFIRMED
    if interval[1] < low or interval[0] > high:
        return Verdict.REFUTED
    return Verdict.NOT_SIGNIFICANT


def _room(a: BySeed, b: BySeed, pairs: Comparison, margin: float) -> float:
    return margin * abs(_mean_of(b, pairs, a))


def _mean_of(values: BySeed, pairs: Comparison, other: BySeed) -> float:
    common = values.keys() & other.keys()
    return math.fsum(values[seed] for seed in common) / pairs.n


def _numbers(a: BySeed, b: BySeed, pairs: Comparison) -> str:
    low, high = pairs.interval
    return (
        f"{_mean_of(a, pairs, b):.4g} against {_mean_of(b, pairs, a):.4g}, "
        f"difference {pairs.mean:+.3g} [{low:+.3g}, {high:+.3g}]"
    )
