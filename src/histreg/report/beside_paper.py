"""Numbers beside the paper's: how estimates, differences and seeds are printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import published, published_name
from histreg.study.analysis.statistics import Setting, TableSetting

FAR_APART = 3.0  # joint standard errors, beyond which a difference is marked
APART_NOTE = (
    "Apart: ours minus the paper's in joint standard errors, marked * beyond "
    f"{FAR_APART:g}."
)


def header_with_paper(metrics: Iterable[str], *, has_paper: bool) -> list[str]:
    """Return a column per metric, with the paper's number and the distance from it."""
    beside = ("paper", "apart") if has_paper else ()
    return [column for metric in metrics for column in (metric, *beside)]


def in_paper(setting: TableSetting, metric: str) -> Estimate | None:
    """Return the paper's number for the same setting, if it has one."""
    name = published_name(setting.run)
    return None if name is None else published(setting.dataset, name, metric)


def shown(estimate: Estimate) -> str:
    """Return a mean and its error to as many digits as the paper prints."""
    if math.isnan(estimate.se):
        return f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} ± {estimate.se:.3f}"


def apart_of(ours: Estimate, paper: Estimate) -> str:
    """Return the distance between two estimates, marked if large; empty if unknown."""
    apart = ours.apart(paper)
    if math.isnan(apart):
        return ""
    return f"{apart:+.1f}" + ("*" if abs(apart) > FAR_APART else "")


def seed_counts(settings: Iterable[Setting[Any]], metrics: Iterable[str]) -> set[int]:
    """Return the numbers of seeds that the estimates of these metrics have."""
    metrics = tuple(metrics)
    return {
        setting.estimates[metric].n
        for setting in settings
        for metric in metrics
        if metric in setting.estimates
    }


def seeds_in_words(counts: set[int]) -> str:
    """Return the number of seeds in words, such as ``3 to 5 seeds``."""
    few, many = min(counts, default=0), max(counts, default=0)
    if few == many == 1:
        return "1 seed"
    return f"{many} seeds" if few == many else f"{few} to {many} seeds"


def with_seeds(label: str, setting: Setting[Any], most: int) -> str:
    """Return a label, with the number of seeds if others have more."""
    n_seeds = max((estimate.n for estimate in setting.estimates.values()), default=0)
    is_short = n_seeds + setting.n_diverged < most
    return label + (f", {seeds_in_words({n_seeds})}" if is_short else "")


def notes_on_unchosen(
    chosen: Sequence[TableSetting], among: Sequence[TableSetting]
) -> list[str]:
    """Return a note on the methods without a chosen setting, if any."""
    names = {setting.method.name for setting in chosen}
    without = dict.fromkeys(
        setting.method.name for setting in among if setting.method.name not in names
    )
    if not without:
        return []
    return [
        f"No setting of {', '.join(without)} could be chosen: not finished, or "
        "diverged."
    ]
