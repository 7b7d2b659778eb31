"""Evidence: records by what was run; findings: what they decide of a claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from histreg.study.analysis.comparisons import LEVEL, Comparison
from histreg.study.analysis.ratios import ValuePair
from histreg.study.analysis.statistics import (
    Setting,
    settings_of,
    settings_over_seeds,
    validated_settings,
)
from histreg.study.atari.runs import ValueRun
from histreg.study.catalogue import DATA, GRIDS, SEEDS, VALUE_GAMES, VALUE_HL
from histreg.study.datasets import GAMES, SERIES, source
from histreg.study.engine.runs import Record, Run
from histreg.study.measurements import Measurement
from histreg.study.methods import L2, HLGauss, Method
from histreg.study.series.runs import READING, ForecastRun
from histreg.study.tabular.runs import TabularRun

ENOUGH = math.ceil(-math.log2(LEVEL))
"""Seeds, with fewer of which no exact test can decide: 2 ** -ENOUGH <= LEVEL."""

BySeed = dict[int, float]


class Verdict(StrEnum):
    """What becomes of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_SIGNIFICANT = "not significant"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """What the records say of one part of a claim.

    Parameters
    ----------
    part : str
        What is said, such as "Pole: HL-Gauss below l2".
    verdict : Verdict
    numbers : str
        That decided it, or what is missing; empty if nothing was run.
    dataset : str
        On which; empty if it is on none, or on several.
    """

    part: str
    verdict: Verdict
    numbers: str = ""
    dataset: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the rule by which records decide it.

    Parameters
    ----------
    name : str
        As the specification numbers it.
    text : str
        What is claimed.
    rule : str
        How it is decided.
    experiments : tuple of str
        Whose records are read.
    find : callable
        From evidence to the findings of its parts.
    """

    name: str
    text: str
    rule: str
    experiments: tuple[str, ...]
    find: Callable[[Evidence], Sequence[Finding]]


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Return the verdict on a claim that says all of its parts.

    One part refuted refutes it. A data set on which a part was not run does not count;
    of the others all parts must be confirmed to confirm it, and so must those that are
    on no data set, or on several.
    """
    by_dataset = _by_dataset(findings)
    if any(Verdict.REFUTED in verdicts for verdicts in by_dataset.values()):
        return Verdict.REFUTED
    complete = [each for each in by_dataset.values() if Verdict.NOT_RUN not in each]
    counted = set().union(*complete)
    if Verdict.NOT_RUN in by_dataset.get("", ()):
        counted.discard(Verdict.CONFIRMED)  # more may come
    if not counted:
        return Verdict.NOT_RUN
    return counted.pop() if len(counted) == 1 else Verdict.NOT_SIGNIFICANT


def decided_on(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the data sets on which all parts of a claim were run."""
    return tuple(
        name
        for name, verdicts in _by_dataset(findings).items()
        if name and Verdict.NOT_RUN not in verdicts
    )


def _by_dataset(findings: Iterable[Finding]) -> dict[str, set[Verdict]]:
    verdicts: dict[str, set[Verdict]] = {}
    for each in findings:
        verdicts.setdefault(each.dataset, set()).add(each.verdict)
    return verdicts


@dataclass(frozen=True, eq=False)
class Evidence:
    """Records, by what was run.

    Parameters
    ----------
    records : sequence of Record
    datasets : tuple of str
        On which claims are looked at; the paper's unless others are asked for.
    epochs : int, optional
        Instead of the protocol's: evidence of a reduced study.
    """

    records: Sequence[Record]
    datasets: tuple[str, ...] = DATA
    epochs: int | None = None

    def among(self, *names: str) -> tuple[str, ...]:
        """Return those of the data sets looked at that go by one of these names.

        A part of a data set, such as song-7000, goes by the name of the whole.
        """
        return tuple(each for each in self.datasets if each.split("-")[0] in names)

    @cached_property
    def _settings(self) -> dict[TabularRun, Setting[TabularRun]]:
        return {setting.run: setting for setting in settings_of(self.records)}

    def setting(
        self, name: str, method: Method, **changes: Any
    ) -> Setting[TabularRun] | None:
        """Return a method on a data set by the protocol, but for some changes."""
        if self.epochs is not None:
            changes = {"epochs": self.epochs, **changes}
        return self._settings.get(TabularRun.of(name, method, 0, **changes))

    def values(
        self, name: str, method: Method, metric: str = "test MAE", **changes: Any
    ) -> BySeed:
        """Return a metric by seed; nothing if there is no such run."""
        setting = self.setting(name, method, **changes)
        return {} if setting is None else setting.values(metric)

    def summaries(
        self, name: str, method: Method, of: Callable[[Record], float], **changes: Any
    ) -> BySeed:
        """Return a number made of each record by seed; nothing if there is none."""
        setting = self.setting(name, method, **changes)
        records = {} if setting is None else setting.by_seed()
        return {seed: of(record) for seed, record in records.items()}

    def measurement(self, what: str, name: str) -> Record | None:
        """Return what was measured of a data set."""
        wanted = Measurement(what, name)
        return next((each for each in self.records if each.run == wanted), None)

    @property
    def tabular(self) -> tuple[str, ...]:
        """Those of the data sets looked at that are no series and no games."""
        others = {**SERIES, **GAMES}
        return tuple(name for name in self.datasets if name not in others)

    @property
    def series(self) -> tuple[str, ...]:
        """The series looked at: all, unless data sets were asked for."""
        if self.datasets == DATA:
            return tuple(SERIES)
        return tuple(name for name in self.datasets if name in SERIES)

    def forecasts(
        self, name: str, architecture: str, method: L2 | HLGauss, metric: str
    ) -> BySeed:
        """Return a metric of a forecaster by seed; nothing if there is no such run."""
        wanted = ForecastRun(name, architecture, method, 0, **READING)
        if self.epochs is not None:
            wanted = wanted.for_epochs(self.epochs)
        setting = self._forecasts.get(wanted)
        return {} if setting is None else setting.values(metric)

    @cached_property
    def _forecasts(self) -> dict[ForecastRun, Setting[ForecastRun]]:
        settings = settings_over_seeds(self.records, ForecastRun)
        return {setting.run: setting for setting in settings}

    @property
    def games(self) -> tuple[str, ...]:
        """The games looked at: those of the catalogue, unless others are asked for."""
        if self.datasets == DATA:
            return VALUE_GAMES
        return tuple(name for name in self.datasets if name in GAMES)

    def value_pair(self, name: str) -> ValuePair | None:
        """Return both losses on a game by the protocol; None if one was not run."""
        l2, hl = (
            self._on_games.get(
                ValueRun(name, method, 0)
                if self.epochs is None
                else ValueRun(name, method, 0, epochs=self.epochs)
            )
            for method in (L2(), VALUE_HL)
        )
        return None if l2 is None or hl is None else ValuePair(l2, hl)

    @cached_property
    def _on_games(self) -> dict[ValueRun, Setting[ValueRun]]:
        settings = settings_over_seeds(self.records, ValueRun)
        return {setting.run: setting for setting in settings}

    def chosen(self, name: str, method: str, metric: str = "test MAE") -> BySeed:
        """Return a metric of a tuned method, its setting chosen on validation rows.

        Nothing if one of these runs is missing: its setting could be the best.
        """
        if not self._has_whole_grid(name, method):
            return {}
        for each in self._validated:
            if (each.dataset, each.method.name) == (name, method):
                return each.values(metric)
        return {}

    def _has_whole_grid(self, name: str, method: str) -> bool:
        changes = {} if self.epochs is None else {"epochs": self.epochs}
        return all(
            TabularRun.of(name, each, seed, part="validation", **changes) in self._runs
            for each in GRIDS
            if each.name == method
            for seed in SEEDS
        )

    @cached_property
    def _runs(self) -> set[Run]:
        return {each.run for each in self.records}

    @cached_property
    def _validated(self) -> list[Setting[TabularRun]]:
        usual = [record for record in self.records if self._is_usual(record)]
        return [each for each in validated_settings(usual) if each.method.is_tuned]

    def _is_usual(self, record: Record) -> bool:
        run = record.run
        if not isinstance(run, TabularRun):
            return False
        changes = {} if self.epochs is None else {"epochs": self.epochs}
        of = TabularRun.of(run.dataset, run.method, run.seed, part=run.part, **changes)
        return run == of


def on(name: str, finding: Finding) -> Finding:
    """Return a finding with its data set, which its part begins with."""
    return replace(finding, part=f"{title(name)}: {finding.part}", dataset=name)


def title(name: str) -> str:
    """Return what a person calls a data set."""
    return source(name).title


def lower(part: str, a: BySeed, b: BySeed) -> Finding:
    """Return whether a is below b: exact test of paired seeds, one-sided."""
    pairs = Comparison.of(a, b)
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    p, p_opposite = pairs.p_permutation("less"), pairs.p_permutation("greater")
    return one_sided(part, _numbers(a, b, pairs), p, p_opposite)


def one_sided(part: str, numbers: str, p: float, p_opposite: float) -> Finding:
    """Return what a one-sided test decides; refuted if the opposite is significant."""
    if p_opposite <= LEVEL:
        numbers = f"{numbers}, p of the opposite {p_opposite:.2g}"
        return Finding(part, Verdict.REFUTED, numbers)
    verdict = Verdict.CONFIRMED if p <= LEVEL else Verdict.NOT_SIGNIFICANT
    return Finding(part, verdict, f"{numbers}, p {p:.2g}")


def not_lower(part: str, a: BySeed, b: BySeed, margin: float) -> Finding:
    """Return whether a is not below b by more than a share of it.

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
    """Return whether a is not above b by more than a share of it.

    As `not_lower`, the other way up.
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
    """Return whether a is as b, up to a share of it.

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
    """Return whether a mean is between two numbers.

    Confirmed if its 95 % interval is; refuted if that lies outside.
    """
    pairs = Comparison.of(values, dict.fromkeys(values, 0.0))
    if pairs.n < ENOUGH:
        return _too_few(part, pairs)
    interval = pairs.interval
    numbers = f"{pairs.mean:.4g} [{interval[0]:.4g}, {interval[1]:.4g}]"
    return Finding(part, _verdict_of(interval, low, high), numbers)


def measured(part: str, *, holds: bool, numbers: str) -> Finding:
    """Return a finding of numbers that have no chance in them."""
    return Finding(part, Verdict.CONFIRMED if holds else Verdict.REFUTED, numbers)


def not_run(part: str, why: str = "") -> Finding:
    """Return that nothing was run, or nothing that could decide."""
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
