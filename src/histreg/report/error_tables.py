"""Tables of errors: each setting over its seeds, the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from histreg.report.printed import PrintedTable
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import published
from histreg.study.analysis.statistics import (
    Seeds,
    Setting,
    best_on_validation,
    best_settings,
    of_any_rate,
    settings_of,
    validated_settings,
)
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Record
from histreg.study.tabular.curves import (
    FIRST_EPOCHS,
    early_area,
    jumpiness,
    unsteadiness,
)
from histreg.study.tabular.representations import (
    column_of,
    published_name,
    with_own_body,
)

Label = Callable[[Setting], str]
Tables = Callable[[Sequence[Record], Sequence[str]], list[PrintedTable]]

PAPER_RATE = 1e-3
SENSITIVITY = ("test sensitivity", "test MAE", "test RMSE")
TRAINING = (
    "unsteadiness",
    "jumpiness",
    "early train MAE",
    "train MAE",
    "train RMSE",
)
FAR_APART = 3.0  # joint standard errors, beyond which a difference is marked
UNMATCHED = "l2+Softmax"  # of the paper: which of our losses it was cannot be told


def overall(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:
    """Return Tables 1 and 7; settings are chosen on test MAE, as the paper's were."""
    settings = settings_of(records)
    best = best_settings(settings, "test MAE")
    note = (
        "Of methods with several settings, the one of lowest test MAE, as in the paper."
    )
    return _errors_tables("Overall results", best, metrics, note, settings)


def overall_validation(
    records: Sequence[Record], metrics: Sequence[str]
) -> list[PrintedTable]:
    """Return the same with settings chosen on validation rows."""
    note = (
        "Of methods with several settings, the one of lowest MAE on a fifth of the "
        "training rows that it did not learn from; then trained on all of them."
    )
    title = "Overall results, settings chosen on validation rows"
    chosen = validated_settings(records)
    return _errors_tables(title, chosen, metrics, note, settings_of(records))


def errors(title: str) -> Tables:
    """Return the table of all settings, none of them chosen."""

    def table(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:
        return _errors_tables(title, settings_of(records), metrics)

    return table


def representation(
    records: Sequence[Record], metrics: Sequence[str]
) -> list[PrintedTable]:
    """Return Tables 3 and 9: each loss on its own body, on another's, on a random."""
    note = (
        "Default: a body of its own. Fixed and Initialized: the body that the other "
        "loss has trained (HL-Gauss for the controls), frozen or to start from. "
        "Random: one that nobody has trained, frozen. Controls have the softmax of "
        "HL-Gauss with another loss; the paper has none of them."
    )
    settings = sorted(settings_of(records), key=lambda each: each.method.name != "l2")
    title = EXPERIMENTS["representation"].title
    return _errors_tables(title, settings, metrics, note, label=column_label)


def column_label(setting: Setting) -> str:
    """Return a label as of Table 3, such as ``l2 [Fixed]``."""
    method = setting.method.label
    own = Setting(setting.records, with_own_body(setting.run))
    return f"{method} [{column_of(setting.run)}]{own.label.removeprefix(method)}"


def sensitivity(
    records: Sequence[Record],
    metrics: Sequence[str],  # noqa: ARG001
) -> list[PrintedTable]:
    """Return how much predictions change with the inputs, and the errors."""
    note = (
        "Sensitivity: the norm of the derivative of the prediction, in units of y, by "
        "the inputs, in their standard deviations; the mean over test rows."
    )
    title = EXPERIMENTS["sensitivity"].title
    return _errors_tables(title, settings_of(records), SENSITIVITY, note)


def training(
    records: Sequence[Record],
    metrics: Sequence[str],  # noqa: ARG001
) -> list[PrintedTable]:
    """Return how steady and how fast each loss learnt."""
    note = (
        "Unsteadiness: the standard deviation over epochs of log10 of the gradient's "
        "norm over the excess loss, trend included. Jumpiness: the root mean square of "
        "its change from one epoch to the next. Early train MAE: its mean over the "
        f"first {FIRST_EPOCHS} epochs. The others are of the last epoch."
    )
    title = EXPERIMENTS["training"].title
    return _errors_tables(title, settings_of(learnt(records)), TRAINING, note)


def learnt(records: Sequence[Record]) -> list[Record]:
    """Return records with what their curves say of the training among the metrics."""
    return [
        each
        if each.outcome.diverged_at is not None
        else replace(
            each,
            outcome=replace(
                each.outcome,
                metrics={
                    **each.outcome.metrics,
                    "unsteadiness": unsteadiness(each),
                    "jumpiness": jumpiness(each),
                    "early train MAE": early_area(each),
                },
            ),
        )
        for each in records
    ]


@dataclass(frozen=True, eq=False)
class _Tuned:
    """A method at the rate, and with the components, best on validation rows."""

    setting: Setting  # on validation rows
    on_test: Setting | None
    at_paper_rate: Setting | None

    def test(self, metric: str) -> Estimate | None:
        return _estimate(self.on_test, metric)

    def usual(self) -> Estimate | None:
        return _estimate(self.at_paper_rate, "test MAE")


def _estimate(setting: Setting | None, metric: str) -> Estimate | None:
    return None if setting is None else setting.estimates.get(metric)


def rates(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return each method at its own learning rate, beside the paper's one for all."""
    usual = [r for r in records if getattr(r.run, "learning_rate", 0) == PAPER_RATE]
    at_paper_rate = {
        of_any_rate(each): each for each in validated_settings(usual, of_any_rate)
    }
    on_test = {each.run: each for each in settings_of(records)}
    tuned = [
        _Tuned(setting, on_test.get(run), at_paper_rate.get(of_any_rate(setting)))
        for run, setting in best_on_validation(records, of_any_rate).items()
    ]
    tried = settings_of(records, part="validation")
    return [
        _rates_table(
            name,
            [each for each in tuned if each.setting.dataset == name],
            [each for each in tried if each.dataset == name],
        )
        for name in dict.fromkeys(each.dataset for each in tried)
    ]


def _rates_table(
    name: str, tuned: Sequence[_Tuned], tried: Sequence[Setting]
) -> PrintedTable:
    grid = sorted({each.run.learning_rate for each in tried})
    columns = (
        [each.setting.estimates["validation MAE"] for each in tuned],
        [each.test("test MAE") for each in tuned],
        [each.test("test RMSE") for each in tuned],
        [each.usual() for each in tuned],
    )
    order, usual_order = _places(columns[1]), _places(columns[3])
    rows = []
    for i, (each, *told) in enumerate(zip(tuned, *columns, strict=True)):
        cells = ["" if one is None else shown(one) for one in told]
        rate = f"{each.setting.run.learning_rate:g}"
        label = each.setting.method.label
        if each.on_test is not None and each.on_test.n_diverged:
            label += f", {each.on_test.n_diverged} diverged"
        usual = each.at_paper_rate
        if usual is not None and usual.method != each.setting.method:
            cells[3] += f" as {usual.method.label}"
        rows.append((label, rate, *cells[:3], order[i], cells[3], usual_order[i]))
    header = (
        *("method", "rate", "validation MAE", "test MAE", "test RMSE", "place"),
        *(f"test MAE at {PAPER_RATE:g}", "place"),
    )
    counts = {each.n for column in columns for each in column if each is not None}
    notes = [
        f"Mean ± standard error over {seeds_of(counts)}.",
        f"Rate, of {', '.join(f'{each:g}' for each in grid)}, and components of "
        "lowest MAE on a fifth of the training rows that was not learnt from; then "
        f"trained on all of them. At {PAPER_RATE:g}, the paper's rate for all, "
        "components are chosen likewise. Place: by test MAE.",
    ]
    ends = [
        each.setting.method.label
        for each in tuned
        if each.setting.run.learning_rate in (grid[0], grid[-1])
    ]
    if ends:
        notes.append(
            f"At an end of the grid, so that a rate beyond it may be better: "
            f"{', '.join(ends)}."
        )
    notes += _not_chosen([each.setting for each in tuned], tried)
    title = f"{EXPERIMENTS['rates'].title}: {dataset(name).title}"
    return PrintedTable(title, header, rows, notes)


def _places(estimates: Sequence[Estimate | None]) -> list[str]:
    """Return places from 1, the lowest mean; nothing for what is not there."""
    means = sorted(each.mean for each in estimates if each is not None)
    return [
        "" if each is None else str(1 + means.index(each.mean)) for each in estimates
    ]


def _errors_tables(
    title: str,
    settings: Sequence[Setting],
    metrics: Sequence[str],
    note: str = "",
    chosen_from: Sequence[Setting] = (),
    label: Label = attrgetter("label"),
) -> list[PrintedTable]:
    """Return one table for each data set."""
    tables = []
    for name in dict.fromkeys(each.dataset for each in settings):
        of_set = [each for each in settings if each.dataset == name]
        header = ["method"]
        has_paper = any(in_paper(each, metrics[0]) for each in of_set)
        for metric in metrics:
            header += [metric, "paper", "apart"] if has_paper else [metric]
        counts = {e.estimates[m].n for e in of_set for m in metrics if m in e.estimates}
        most = max(counts, default=0)
        rows = [
            (
                with_seeds(label(each), each, most),
                *_cells(each, metrics, has_paper=has_paper),
            )
            for each in of_set
        ]
        likely = [
            i
            for i, each in enumerate(of_set, start=1)
            if each.method.name.startswith(UNMATCHED)
            and column_of(each.run) == "Default"
        ]
        if likely and has_paper:
            rows.insert(likely[-1], _unmatched(name, metrics))
        data = dataset(name)
        notes = [f"Mean ± standard error over {seeds_of(counts)}."]
        if has_paper:
            notes.append(
                "Apart: ours minus the paper's in joint standard errors, marked * "
                f"beyond {FAR_APART:g}."
            )
        notes += [note] if note else []
        notes += _not_chosen(of_set, [e for e in chosen_from if e.dataset == name])
        tables.append(
            PrintedTable(f"{title}: {data.title}", tuple(header), rows, notes)
        )
    return tables


def _not_chosen(chosen: Sequence[Setting], among: Sequence[Setting]) -> list[str]:
    """Return a note on methods of which no setting was chosen, if there are any."""
    names = {each.method.name for each in chosen}
    without = dict.fromkeys(
        each.method.name for each in among if each.method.name not in names
    )
    if not without:
        return []
    told = ", ".join(without)
    return [f"No setting of {told} could be chosen: not finished, or diverged."]


def with_seeds(label: str, of: Seeds, most: int) -> str:
    """Return a label, which tells how many seeds there are if others have more."""
    n_seeds = max((each.n for each in of.estimates.values()), default=0)
    is_short = n_seeds + of.n_diverged < most
    return label + (f", {seeds_of({n_seeds})}" if is_short else "")


def _cells(
    setting: Setting, metrics: Sequence[str], *, has_paper: bool
) -> tuple[str, ...]:
    cells = []
    for metric in metrics:
        ours = setting.estimates.get(metric)
        paper = in_paper(setting, metric)
        cells.append("diverged" if ours is None else shown(ours))
        if has_paper:
            cells.append("" if paper is None else shown(paper))
            cells.append("" if paper is None or ours is None else apart_of(ours, paper))
    return tuple(cells)


def in_paper(setting: Setting, metric: str) -> Estimate | None:
    """Return the paper's number of the same thing, if it has one."""
    name = published_name(setting.run)
    return None if name is None else published(setting.dataset, name, metric)


def _unmatched(name: str, metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the paper's row that is no row of ours."""
    cells = [f"{UNMATCHED} (the paper's)"]
    for metric in metrics:
        paper = published(name, UNMATCHED, metric)
        cells += ["", "" if paper is None else shown(paper), ""]
    return tuple(cells)


def shown(estimate: Estimate) -> str:
    """Return a mean and its error to as many digits as the paper prints."""
    if math.isnan(estimate.se):
        return f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} ± {estimate.se:.3f}"


def apart_of(ours: Estimate, paper: Estimate) -> str:
    """Return how far apart two estimates are, marked if far; nothing if unknown."""
    apart = ours.apart(paper)
    if math.isnan(apart):
        return ""
    return f"{apart:+.1f}" + ("*" if abs(apart) > FAR_APART else "")


def seeds_of(counts: set[int]) -> str:
    """Return how many seeds there are, in words."""
    few, many = min(counts, default=0), max(counts, default=0)
    told = f"{many}" if few == many else f"{few} to {many}"
    return f"{told} seed" if few == many == 1 else f"{told} seeds"
