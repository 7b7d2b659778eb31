"""Representations: which body a network has, in the terms of the paper's Table 3."""

from __future__ import annotations

from dataclasses import replace

from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.runs import TabularRun

COLUMNS = ("Default", "Fixed", "Initialized", "Random")
"""Its own body; that of another loss, frozen or to start from; random and frozen."""


def column_of(run: TabularRun) -> str:
    """Return the one of `COLUMNS` that a run belongs to."""
    if run.donor is None:
        return "Random" if run.has_frozen_body else "Default"
    return "Fixed" if run.has_frozen_body else "Initialized"


def with_own_body(run: TabularRun) -> TabularRun:
    """Return the same run in the column Default."""
    return replace(run, donor=None, has_frozen_body=False)


def published_name(run: TabularRun) -> str | None:
    """Return the paper's name of the method of a run; None if it has no such run.

    Examples
    --------
    >>> run = TabularRun.of("pole", L2(), 1, donor=HLGauss(), has_frozen_body=True)
    >>> published_name(run)
    'l2 [Fixed]'
    """
    method = run.method
    if with_own_body(run).changes:
        return None
    if method.label != method.name and not method.is_tuned:
        return None  # our own variant
    column = column_of(run)
    if column == "Default":
        return method.name
    if run.donor is not None and {run.donor, method} != {L2(), HLGauss()}:
        return None
    return f"{method.name} [{column}]"
