"""Tables of coverage: the paper's numbers that we have, how near, and what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from histreg.report.beside_paper import APART_NOTE, FAR_APART, apart_of, shown
from histreg.report.printed_table import PrintedTable
from histreg.report.site.differences import UNEXPLAINED, explanation_of
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import Row
from histreg.study.coverage import Cell, Coverage
from histreg.study.datasets import source

LIMITS = (1.0, 2.0, FAR_APART)  # joint standard errors


def coverage_summary(coverage: Coverage) -> PrintedTable:
    """Return the counts of cells by table and data set, and what completing them costs.

    The counts of seeds add up to the number of cells, and the counts of distances to
    the number of cells that have a number of ours.
    """
    groups: dict[tuple[int, str], list[Cell]] = {}
    for cell in coverage.cells:
        groups.setdefault((cell.paper.table, cell.paper.dataset), []).append(cell)
    rows = [
        (f"{table}, {source(dataset).title}", *_counts(coverage, cells))
        for (table, dataset), cells in groups.items()
    ]
    rows.append(("all", *_counts(coverage, coverage.cells)))
    bounds = ("0", *(f"{limit:g}" for limit in LIMITS))
    header = (
        *("table", "cells", "all seeds", "fewer", "none"),
        *(f"{low} to {high}" for low, high in pairwise(bounds)),
        *(f"beyond {FAR_APART:g}", "unknown", "core-hours"),
    )
    notes = [
        "Cells: numbers in the paper's tables, by how many of its five seeds ours "
        "have. From 0 on: those with a number of ours, by its distance from the "
        "paper's in joint standard errors, sqrt(ours² + the paper's²). It is unknown "
        "for a single seed, which has no standard error. The paper has one for every "
        "cell; one that it prints as 0.000 is taken as 0, so that the distance is an "
        "upper bound.",
        "Core-hours: of the runs that the cells lack, estimated from the times of the "
        "nearest records. Tables share runs, which count once in the last row.",
    ]
    return PrintedTable("The paper's numbers beside ours", header, rows, notes)


def _counts(coverage: Coverage, cells: Sequence[Cell]) -> tuple[str, ...]:
    n_complete = sum(cell.is_complete for cell in cells)
    n_none = sum(not cell.n_seeds for cell in cells)
    sizes = [abs(cell.apart) for cell in cells if not math.isnan(cell.apart)]
    within = [sum(size <= limit for size in sizes) for limit in LIMITS]
    bands = [b - a for a, b in pairwise((0, *within))]
    n_unknown = len(cells) - n_none - len(sizes)
    numbers = [
        *(len(cells), n_complete, len(cells) - n_complete - n_none, n_none),
        *(*bands, len(sizes) - within[-1], n_unknown),
    ]
    return (*map(str, numbers), _hours(coverage.expected_s(cells)))


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f}"


def missing_cells(coverage: Coverage) -> PrintedTable:
    """Return what is not complete: the command that computes it, and its cost."""
    rows = []
    for gap in coverage.gaps:
        tables = sorted({cell.paper.table for cell in gap.cells})
        methods = ", ".join((*gap.models, *gap.methods))
        how = gap.command or f"{methods}: {gap.obstacle}"
        rows.append(
            (
                ", ".join(map(str, tables)),
                ", ".join(source(name).title for name in gap.datasets),
                how,
                str(len(gap.cells)),
                str(len(gap.runs)),
                _hours(gap.expected_s),
            )
        )
    header = ("tables", "data", "command", "cells", "runs", "core-hours")
    n_runs = sum(len(gap.runs) for gap in coverage.gaps)
    total_s = sum(gap.expected_s for gap in coverage.gaps)
    notes = [
        f"{n_runs} runs, {_hours(total_s)} core-hours, if the commands run in this "
        "order. They compute all settings of noise, clipping and mixtures, and "
        "variants of ours that have the name of a method.",
    ]
    return PrintedTable("What is missing", header, rows, notes, n_words=3)


def cells_beyond(coverage: Coverage, limit: float) -> PrintedTable:
    """Return the cells whose distance is larger than a limit, with explanations.

    A number that several tables have is one row.
    """
    far = [cell for cell in coverage.cells if abs(cell.apart) > limit]
    by_number: dict[tuple[Row, str], list[Cell]] = {}
    for cell in far:
        by_number.setdefault((cell.paper.row, cell.paper.metric), []).append(cell)
    marks: dict[str, str] = {}
    rows = []
    for ((dataset, architecture, method), metric), cells in by_number.items():
        ours, paper = cells[0].ours, cells[0].paper
        assert ours is not None  # it has a distance
        why = explanation_of(paper)
        if why != UNEXPLAINED:
            marks.setdefault(why, f"[{len(marks) + 1}]")
        rows.append(
            (
                ", ".join(filter(None, (source(dataset).title, architecture, method))),
                metric,
                _shown(ours, is_forecast=bool(architecture)),
                _shown(paper.estimate, is_forecast=bool(architecture)),
                apart_of(ours, paper.estimate),
                str(ours.n),
                ", ".join(str(cell.paper.table) for cell in cells),
                marks.get(why, why),
            )
        )
    header = (
        *("row", "metric", "ours", "paper", "apart"),
        *("seeds", "tables", "explanation"),
    )
    n_unexplained = sum(explanation_of(cell.paper) == UNEXPLAINED for cell in far)
    notes = [
        f"{len(far)} of {len(coverage.cells)} cells, {n_unexplained} of them "
        f"{UNEXPLAINED}. Mean ± standard error. {APART_NOTE}",
        *(f"{mark} {why}" for why, mark in marks.items()),
    ]
    title = f"Cells more than {limit:g} joint standard errors from the paper's"
    return PrintedTable(title, header, rows, notes)


def _shown(estimate: Estimate, *, is_forecast: bool) -> str:
    """Return a mean and its standard error, of forecasts to one more digit."""
    if is_forecast:
        return f"{estimate.mean:.4f} ± {estimate.se:.4f}"
    return shown(estimate)
