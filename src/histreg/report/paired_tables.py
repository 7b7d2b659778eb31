"""Tables of paired differences: each setting against its reference, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from histreg.errors import InputError
from histreg.report.error_tables import (
    SENSITIVITY,
    TRAINING,
    Tables,
    column_label,
    learnt,
)
from histreg.report.forecast_tables import ERRORS
from histreg.report.printed import PrintedTable
from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.statistics import (
    ForecastSetting,
    Setting,
    ShapeSetting,
    best_settings,
    forecast_settings,
    of_any_rate,
    settings_of,
    shape_settings,
    validated_settings,
)
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import source
from histreg.study.engine.runs import Record
from histreg.study.methods import L2, HLGauss, HLOneBin, Method
from histreg.study.series.runs import ForecastRun
from histreg.study.shapes.runs import ShapeRun
from histreg.study.shapes.scores import COMPARED, UNIFORM
from histreg.study.tabular.representations import with_own_body
from histreg.study.tabular.runs import TabularRun

USUAL_PADDING = HLGauss().padding_in_bins

AnySetting = Setting | ForecastSetting | ShapeSetting
IsReference = Callable[[Any, Any], bool]
"""Whether the second run is what the first, on the same data set, is compared with.

A run that others are compared with is so with itself."""


@dataclass(frozen=True)
class Pairing:
    """How the settings of an experiment are compared.

    Parameters
    ----------
    is_reference : callable
    settings : callable
        From records to the settings that are compared.
    metrics : tuple of str
        Instead of those that are asked for.
    label : callable
        From a setting to its name.
    """

    is_reference: IsReference
    settings: Callable[[Sequence[Record]], Sequence[AnySetting]] = settings_of
    metrics: tuple[str, ...] = ()
    label: Callable[[Any], str] = attrgetter("label")


def check_paired(name: str, asked: Sequence[str] = ()) -> None:
    """Refuse an experiment that has nothing to pair, or not the metrics asked for."""
    if name not in PAIRINGS:
        raise InputError(
            f"--paired must be for one of {', '.join(PAIRINGS)}, got {name}"
        )
    own = PAIRINGS[name].metrics
    if own and asked:
        raise InputError(
            f"--metrics must not be given for {name} --paired, which compares "
            f"{', '.join(own)}"
        )


def paired_table(name: str) -> Tables:
    """Return the tables of differences of an experiment; one without is refused."""
    check_paired(name)

    def tables(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:
        pairing = PAIRINGS[name]
        settings = pairing.settings(records)
        return [
            _table(
                f"{EXPERIMENTS[name].title}, differences in {metric}: "
                f"{source(data).title}",
                [each for each in settings if each.run.dataset == data],
                pairing,
                metric,
            )
            for data in dict.fromkeys(each.run.dataset for each in settings)
            for metric in pairing.metrics or metrics
        ]

    return tables


def _table(
    title: str, settings: Sequence[AnySetting], pairing: Pairing, metric: str
) -> PrintedTable:
    rows, alone = [], []
    for each in settings:
        reference = reference_of(each, settings, pairing.is_reference)
        if reference is each:
            continue
        told = pairing.label(each)
        cells = None if reference is None else _cells(each, reference, metric)
        if reference is None or cells is None:
            alone.append(told)
        else:
            rows.append((told, pairing.label(reference), *cells))
    header = ("setting", "against", "difference", "95 % interval", "p", "seeds")
    notes = [
        "Difference: the setting minus what it is against, seed by seed; the interval "
        "of the mean is Student's. p: the share of all ways to give the differences "
        "signs whose mean is as far from 0 (exact, two-sided); of 5 seeds at least "
        "1/16 = 0.0625. It is not corrected for the number of comparisons.",
    ]
    if alone:
        notes.append(
            f"Without finite seeds in common with a reference: {', '.join(alone)}."
        )
    return PrintedTable(title, header, rows, notes)


def reference_of(
    setting: AnySetting, settings: Sequence[AnySetting], is_reference: IsReference
) -> AnySetting | None:
    """Return what a setting is compared with, which may be itself; None if missing."""
    found = (each for each in settings if is_reference(setting.run, each.run))
    return next(found, None)


def _cells(
    setting: AnySetting, reference: AnySetting, metric: str
) -> tuple[str, str, str, str] | None:
    """Return the difference, its interval, p and the seeds; None without seeds."""
    found = Comparison.of(setting.values(metric), reference.values(metric))
    if not found.n:
        return None
    p = min(1.0, 2 * min(found.p_lower, found.p_higher))
    low, high = found.interval()
    interval = "" if math.isnan(low) else f"{low:+.3f} to {high:+.3f}"
    return f"{found.mean:+.3f}", interval, f"{p:.3f}", str(found.n)


def _against(method: Method) -> IsReference:
    """Compare with a method, in whichever setting it was chosen."""
    return lambda run, other: other.method == method  # noqa: ARG005


def _with_fixed_target(run: TabularRun, other: TabularRun) -> bool:
    target = run.method
    assert isinstance(target, HLGauss)  # of which annealing is a variant
    fixed = HLGauss(target.sigma_in_bins, target.n_bins, target.padding_in_bins)
    return other == replace(run, method=fixed)


def _with_l2(run: TabularRun | ForecastRun, other: TabularRun | ForecastRun) -> bool:
    """Compare with the squared error, all else alike: share of corruption, model."""
    return other == replace(run, method=L2())


def _with_usual_grid(run: TabularRun, other: TabularRun) -> bool:
    method = run.method
    assert isinstance(method, HLOneBin | HLGauss)
    return other == replace(run, method=replace(method, padding_in_bins=USUAL_PADDING))


def _with_usual_start(run: TabularRun, other: TabularRun) -> bool:
    return other == replace(run, has_authors_head=False)


def _with_own_body(run: TabularRun, other: TabularRun) -> bool:
    """Compare a loss with itself on its own body, and a control with HL-Gauss.

    Both have the same body: the random one, or that which HL-Gauss has trained, with
    which HL-Gauss then is as it was trained.
    """
    if run.method in (L2(), HLGauss()):
        return other == with_own_body(run)
    same = replace(run, method=HLGauss())
    return other == (with_own_body(same) if run.donor == HLGauss() else same)


def _with_uniform_bins(run: ShapeRun, other: ShapeRun) -> bool:  # noqa: ARG001
    return other.method == UNIFORM


def _best_on_test(records: Sequence[Record]) -> list[Setting]:
    return best_settings(settings_of(records), "test MAE")


def _tuned(records: Sequence[Record]) -> list[Setting]:
    return validated_settings(records, of_any_rate)


def _learnt(records: Sequence[Record]) -> list[Setting]:
    return settings_of(learnt(records))


PAIRINGS = {
    "overall": Pairing(_against(HLGauss()), _best_on_test),
    "overall-validation": Pairing(_against(HLGauss()), validated_settings),
    "uniform": Pairing(_against(HLOneBin())),
    "projected": Pairing(_against(HLGauss())),
    "auxiliary": Pairing(_against(HLGauss())),
    "rates": Pairing(_against(HLGauss()), _tuned),
    "bins": Pairing(_against(L2())),
    "sigma": Pairing(_against(L2())),
    "rule-of-thumb": Pairing(_against(HLGauss())),
    "representation": Pairing(_with_own_body, label=column_label),
    "annealing": Pairing(_with_fixed_target),
    "corruption": Pairing(_with_l2),
    "grid": Pairing(_with_usual_grid),
    "head-start": Pairing(_with_usual_start),
    "training": Pairing(_against(L2()), _learnt, TRAINING[:4]),
    "sensitivity": Pairing(_against(HLGauss()), metrics=SENSITIVITY[:1]),
    "forecasts": Pairing(_with_l2, forecast_settings, ERRORS),
    "forecasts-direct": Pairing(_with_l2, forecast_settings, ERRORS),
    "forecasts-of-change": Pairing(_with_l2, forecast_settings, ERRORS),
    "shapes": Pairing(_with_uniform_bins, shape_settings, COMPARED),
}
"""By experiment: those whose runs are of seeds, under conditions to compare."""
