"""Tables of paired differences: each setting against its reference, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from histreg.errors import InputError
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.statistics import Setting
from histreg.study.catalogue import EXPERIMENTS, Experiment, Pairing, experiment
from histreg.study.datasets import source


def check_paired(name: str, metrics: Sequence[str] = ()) -> None:
    """Raise if an experiment has no pairing, or has its own metrics to compare.

    Parameters
    ----------
    name : str
        Name of an experiment.
    metrics : sequence of str
        The requested metrics.
    """
    own = _pairing_of(experiment(name)).metrics
    if own and metrics:
        raise InputError(
            f"--metrics cannot be combined with --paired for {name}, which compares "
            f"{', '.join(own)}"
        )


def _pairing_of(asked: Experiment) -> Pairing:
    if asked.pairing is None:
        names = [
            name for name, other in EXPERIMENTS.items() if other.pairing is not None
        ]
        raise InputError(
            f"--paired is available only for {', '.join(names)}, got {asked.name}"
        )
    return asked.pairing


def paired_tables(results: Results) -> list[PrintedTable]:
    """Return the differences of an experiment, for each data set and metric."""
    pairing = _pairing_of(results.experiment)
    settings = results.settings
    return [
        _table(
            results.experiment,
            name,
            metric,
            [setting for setting in settings if setting.dataset == name],
        )
        for name in dict.fromkeys(setting.dataset for setting in settings)
        for metric in pairing.metrics or results.metrics
    ]


def _table(
    of: Experiment, name: str, metric: str, settings: Sequence[Setting[Any]]
) -> PrintedTable:
    pairing, label = _pairing_of(of), of.label
    rows, alone = [], []
    for setting in settings:
        reference = _reference_of(setting, settings, pairing)
        if reference is setting:
            continue
        cells = None if reference is None else _cells(setting, reference, metric)
        if reference is None or cells is None:
            alone.append(label(setting))
        else:
            rows.append((label(setting), label(reference), *cells))
    title = f"{of.title}, differences in {metric}: {source(name).title}"
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


def _reference_of(
    setting: Setting[Any], settings: Sequence[Setting[Any]], pairing: Pairing
) -> Setting[Any] | None:
    """Return the reference of a setting, which may be itself; None if missing."""
    references = (
        other for other in settings if pairing.is_reference(setting.run, other.run)
    )
    return next(references, None)


def _cells(
    setting: Setting[Any], reference: Setting[Any], metric: str
) -> tuple[str, str, str, str] | None:
    """Return the difference, its interval, p and the seeds; None without seeds."""
    pairs = Comparison.of(setting.values(metric), reference.values(metric))
    if not pairs.n:
        return None
    low, high = pairs.interval
    interval = "" if math.isnan(low) else f"{low:+.3f} to {high:+.3f}"
    p = pairs.p_permutation("two-sided")
    return f"{pairs.mean:+.3f}", interval, f"{p:.3f}", str(pairs.n)
