"""Answers: what the records say to the question of an experiment, in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from histreg.report.conclusions import conclusion_of
from histreg.report.results import Results
from histreg.report.site.story import verdicts_in_words
from histreg.report.site.study_results import JudgedClaim
from histreg.study.analysis.statistics import Setting, settings_over_seeds
from histreg.study.atari.runs import ValueRun
from histreg.study.catalogue import Experiment
from histreg.study.claims import Verdict
from histreg.study.engine.runs import Record
from histreg.study.methods import L2
from histreg.study.series.runs import ForecastRun
from histreg.study.tabular.runs import TabularRun

NO_ANSWER = "There is no answer yet, because nothing was run."
METRIC = "test MAE"
WITH_LOSSES: tuple[type[Any], ...] = (TabularRun, ForecastRun, ValueRun)
"""Kinds of runs that train a network with one loss or another."""


def answer_of(
    experiment: Experiment, records: Sequence[Record], judged: Sequence[JudgedClaim]
) -> str:
    """Return the answer: the experiment's conclusion, its claims, or its comparisons.

    Parameters
    ----------
    experiment : Experiment
    records : sequence of Record
        The existing ones.
    judged : sequence of JudgedClaim
        The claims that it decides.
    """
    if not records:
        return NO_ANSWER
    conclusion = conclusion_of(Results(experiment, records))
    if conclusion:
        return conclusion
    decided = [each for each in judged if each.verdict is not Verdict.NOT_RUN]
    if len(decided) == 1:
        return _judged(decided[0])
    parts = [compared(records)]
    if decided:
        parts.append(verdicts_in_words(decided))
    return " ".join(part for part in parts if part) or _counted(experiment, records)


def _judged(only: JudgedClaim) -> str:
    """Return a claim with its verdict, and how many of its parts were confirmed."""
    found = [finding.verdict for finding in only.judgement.findings]
    n_run = len(found) - found.count(Verdict.NOT_RUN)
    n_confirmed = found.count(Verdict.CONFIRMED)
    if n_run < 2:
        parts = ""
    elif n_confirmed == n_run:
        parts = f" (all {n_run} parts)"
    else:
        parts = f" ({n_confirmed} of {n_run} parts confirmed)"
    return f"{str(only.verdict).capitalize()}{parts}: {only.claim.text}"


def compared(records: Sequence[Record]) -> str:
    """Return how often HL-Gauss is below l2, everything else equal; empty if never."""
    settings: list[Setting[Any]] = [
        setting
        for kind in WITH_LOSSES
        for setting in settings_over_seeds(records, kind)
    ]
    by_run = {setting.run: setting for setting in settings}
    ratios = [
        ratio
        for run, setting in by_run.items()
        if setting.method.name == "HL-Gauss"
        and (l2 := by_run.get(replace(run, method=L2()))) is not None
        and not math.isnan(ratio := _ratio(setting, l2))
    ]
    if not ratios:
        return ""
    n_lower = sum(ratio < 1 for ratio in ratios)
    if len(ratios) == 1:
        return f"The {METRIC} of HL-Gauss is {ratios[0]:.2f} of that of l2."
    return (
        f"HL-Gauss has a lower {METRIC} than l2 in {n_lower or 'none'} of "
        f"{len(ratios)} comparisons with everything else equal."
    )


def _ratio(hl: Setting[Any], l2: Setting[Any]) -> float:
    """Return the ratio of mean errors over the seeds that both have; NaN if none."""
    ours, theirs = hl.values(METRIC), l2.values(METRIC)
    seeds = ours.keys() & theirs.keys()
    if not seeds:
        return math.nan
    return math.fsum(ours[s] for s in seeds) / math.fsum(theirs[s] for s in seeds)


def _counted(experiment: Experiment, records: Sequence[Record]) -> str:
    return (
        f"There is no answer yet: {len(records):,} of {len(experiment.runs):,} runs "
        "have a record."
    )
