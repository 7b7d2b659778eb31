"""Tables of learning rates: each method at its own, beside one for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from histreg.report.beside_paper import notes_on_unchosen, seeds_in_words, shown
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.statistics import (
    TableSetting,
    best_on_validation,
    of_any_rate,
    settings_of,
    validated_settings,
)
from histreg.study.datasets import dataset

PAPER_RATE = 1e-3


@dataclass(frozen=True, eq=False)
class _Tuned:
    """A method with the learning rate and components best on validation rows."""

    setting: TableSetting  # on validation rows
    on_test: TableSetting | None
    at_paper_rate: TableSetting | None

    @property
    def label(self) -> str:
        n_diverged = 0 if self.on_test is None else self.on_test.n_diverged
        diverged = f", {n_diverged} diverged" if n_diverged else ""
        return f"{self.setting.method.label}{diverged}"

    @property
    def estimates(self) -> tuple[Estimate | None, ...]:
        """Validation MAE, test MAE, test RMSE, and test MAE at the paper's rate."""
        return (
            self.setting.estimates["validation MAE"],
            _estimate(self.on_test, "test MAE"),
            _estimate(self.on_test, "test RMSE"),
            _estimate(self.at_paper_rate, "test MAE"),
        )

    @property
    def cells(self) -> list[str]:
        cells = [
            "" if estimate is None else shown(estimate) for estimate in self.estimates
        ]
        usual = self.at_paper_rate
        if usual is not None and usual.method != self.setting.method:
            cells[3] += f" as {usual.method.label}"
        return cells


def _estimate(setting: TableSetting | None, metric: str) -> Estimate | None:
    return None if setting is None else setting.estimates.get(metric)


def rates(results: Results) -> list[PrintedTable]:
    """Return each method at its own learning rate, and at the paper's common rate."""
    records = results.records
    usual = [r for r in records if getattr(r.run, "learning_rate", 0) == PAPER_RATE]
    at_paper_rate = {
        of_any_rate(setting): setting
        for setting in validated_settings(usual, of_any_rate)
    }
    on_test = {setting.run: setting for setting in settings_of(records)}
    tuned = [
        _Tuned(setting, on_test.get(run), at_paper_rate.get(of_any_rate(setting)))
        for run, setting in best_on_validation(records, of_any_rate).items()
    ]
    tried = settings_of(records, part="validation")
    return [
        _rates_table(
            f"{results.title}: {dataset(name).title}",
            [choice for choice in tuned if choice.setting.dataset == name],
            [setting for setting in tried if setting.dataset == name],
        )
        for name in dict.fromkeys(setting.dataset for setting in tried)
    ]


def _rates_table(
    title: str, tuned: Sequence[_Tuned], tried: Sequence[TableSetting]
) -> PrintedTable:
    order = _ranks([choice.estimates[1] for choice in tuned])
    usual_order = _ranks([choice.estimates[3] for choice in tuned])
    rows = []
    for choice, place, usual_place in zip(tuned, order, usual_order, strict=True):
        rate, cells = f"{choice.setting.run.learning_rate:g}", choice.cells
        rows.append((choice.label, rate, *cells[:3], place, cells[3], usual_place))
    header = (
        *("method", "rate", "validation MAE", "test MAE", "test RMSE", "place"),
        *(f"test MAE at {PAPER_RATE:g}", "place"),
    )
    return PrintedTable(title, header, rows, _rates_notes(tuned, tried))


def _rates_notes(tuned: Sequence[_Tuned], tried: Sequence[TableSetting]) -> list[str]:
    grid = sorted({setting.run.learning_rate for setting in tried})
    counts = {
        estimate.n
        for choice in tuned
        for estimate in choice.estimates
        if estimate is not None
    }
    notes = [
        f"Mean ± standard error over {seeds_in_words(counts)}.",
        f"Rate, of {', '.join(f'{rate:g}' for rate in grid)}, and components of "
        "lowest MAE on a fifth of the training rows that was not learnt from; then "
        f"trained on all of them. At {PAPER_RATE:g}, the paper's rate for all, "
        "components are chosen likewise. Place: by test MAE.",
    ]
    at_ends = [
        choice.setting.method.label
        for choice in tuned
        if choice.setting.run.learning_rate in (grid[0], grid[-1])
    ]
    if at_ends:
        notes.append(
            f"At an end of the grid, so that a rate beyond it may be better: "
            f"{', '.join(at_ends)}."
        )
    return notes + notes_on_unchosen([choice.setting for choice in tuned], tried)


def _ranks(estimates: Sequence[Estimate | None]) -> list[str]:
    """Return ranks from 1, the lowest mean; empty where an estimate is missing."""
    means = sorted(estimate.mean for estimate in estimates if estimate is not None)
    return [
        "" if estimate is None else str(1 + means.index(estimate.mean))
        for estimate in estimates
    ]
