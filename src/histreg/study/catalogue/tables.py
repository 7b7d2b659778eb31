"""Public tables: our regressor beside its peers."""

from __future__ import annotations

from histreg.study.catalogue.experiment import (
    Experiment,
    FigureSpec,
    Pairing,
    TableSpec,
)
from histreg.study.datasets import FRAMES
from histreg.study.tables.metrics import COMPARED_METRICS
from histreg.study.tables.peers import OURS, PEERS
from histreg.study.tables.runs import TableRun
from histreg.study.tables.splits import FOLDS, LAST


def _with_ours(run: TableRun, other: TableRun) -> bool:  # noqa: ARG001
    return other.method == OURS


def _runs(folds: tuple[int, ...]) -> tuple[TableRun, ...]:
    return tuple(
        TableRun(name, method, fold)
        for fold in folds
        for name in FRAMES
        for method in PEERS
    )


PROTOCOL = (
    "Thirty public tables of 209 to 61,395 rows, with labels, gaps, counts, zeros, "
    "tails and a date. The rows of each are shuffled once\nand cut into five parts. "
    "{folds} All methods have the defaults of their authors, one thread and the same "
    "rows. A method that predicts one number\ngets the distribution of its residuals "
    "on held-out training rows: of five folds, and of one fifth for RealMLP and TabM."
)
CAPTION = (
    "The CRPS and the RMSE of our regressor over those of each peer, a dot for each "
    "table, on a logarithmic axis; dots on an edge lie beyond it."
)


def _experiment(
    name: str,
    title: str,
    question: str,
    folds: str,
    runs: tuple[TableRun, ...],
) -> Experiment:
    return Experiment(
        name,
        title,
        "not in it",
        question,
        runs,
        protocol=PROTOCOL.format(folds=folds),
        table=TableSpec("tables"),
        figure=FigureSpec("tables", CAPTION),
        pairing=Pairing(_with_ours, COMPARED_METRICS),
        conclusion="tables",
    )


EXPERIMENTS = (
    _experiment(
        "tables",
        "Public tables",
        "Does our regressor predict better distributions than its peers, on tables of "
        "every kind, at their defaults?",
        "A development fold tests on one of the first four parts and\nlearns from the "
        "three others.",
        _runs(FOLDS),
    ),
    _experiment(
        "tables-last",
        "Public tables, last fold",
        "Does it hold on rows that no choice has seen?",
        "The last fold tests on the fifth part, which no choice\nmay see, and learns "
        "from the four others.",
        _runs((LAST,)),
    ),
)
