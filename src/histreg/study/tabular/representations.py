"""Representations: which body a network has, in the terms of the paper's Table 3."""

from __future__ import annotations

from dataclasses import replace

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
