"""The page of one model: how well it predicts a table, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import narwhals as nw
import numpy as np
import torch
from markupsafe import Markup
from markupsafe import escape as markup_escape
from numpy.typing import NDArray

from histreg import metrics
from histreg._files import atomic_write
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.report.model_figures import (
    Array,
    draw_coverage_by_group,
    draw_coverage_by_spread,
    draw_dependence,
    draw_distribution,
    draw_error_by_spread,
    draw_importance,
    draw_pit,
    draw_predictions,
    draw_reliability,
    draw_time,
    peaks_at_end,
    picture,
)
from histreg.report.printed_table import shown_number
from histreg.tabular.atoms import ValueAtoms
from histreg.tabular.baselines import BOOSTING, CONSTANT, LINEAR
from histreg.tabular.column_groups import column_names, values_of
from histreg.tabular.columns import (
    Table,
    described_kinds,
    kinds_of,
    named_kinds,
    read_frame,
)
from histreg.tabular.dependence import Dependence, partial_dependence
from histreg.tabular.group_scores import MIN_ROWS, GroupScores, scores_by_group
from histreg.tabular.importance import Importance, column_importance
from histreg.tabular.scores import (
    COVERAGE,
    RowScores,
    Scores,
    is_off,
    row_scores_of,
    row_scores_of_point,
)
from histreg.tabular.table_check import TableCheck, check_table
from histreg.tabular.verdict import BARELY, Verdict, verdict_on

LEVELS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
N_EXAMPLES = 6
N_WORST = 8
N_SHOWN_COLUMNS = 6  # of the worst rows
N_DEPENDENCES = 4  # of the most important columns
N_GROUPED = 3  # columns whose groups are shown
N_BARS = 10  # of importance
# What is asked of the model for a page takes seconds, also with many columns.
N_REPEATS = 2
N_PREDICTED = 40_000  # rows for importance, over all columns and repeats
ROWS_FOR_IMPORTANCE = (100, 1000)  # at least and at most
ROWS_FOR_DEPENDENCE = 200
N_VALUES = 12  # of a column, for dependence
N_CONSTANT = 1000  # values that stand for the training targets


@dataclass(frozen=True)
class WorstRow:
    """A row that was predicted badly."""

    number: int  # in the table, from 1
    y: float
    mean: float
    lower: float
    upper: float
    crps: float
    cells: tuple[str, ...]


@dataclass(frozen=True)
class ModelPage:
    """The contents of the page of a model: its predictions for a table, and scores.

    Parameters
    ----------
    target, source : str
    y, predicted : ndarrays of shape (n,)
    distribution : Histogram
    rows : RowScores
    baselines : mapping of Scores
        Of the model and of simple models, by name; on this table, or as they were
        noted when the model was fitted.
    about_baselines : str
        Which rows these are.
    verdict : Verdict, optional
        On this table, None if the training targets are not known.
    noted_verdict : Verdict, optional
        When the model was fitted, against simple models.
    check : TableCheck, optional
        What is in the table, None if X is not a data frame.
    coverage : dict
        By kind of interval, at each of `LEVELS`.
    importance : Importance, optional
        None for a single row.
    dependences : tuple of Dependence
        On the most important columns.
    by_group : tuple of GroupScores
    without_groups : tuple of str
        Columns that were asked for, and have fewer than two groups of enough rows.
    worst : tuple of WorstRow
    shown_columns : tuple of str
        Names of the cells of worst rows: the most important columns.
    times : dict
        Seconds since 1970 by the name of a column of times.
    facts : dict
    is_training_table : bool
        By its name.
    has_few_values : bool
        All mass lies on the values of the target.
    """

    target: str
    source: str
    y: Array
    predicted: Array
    distribution: Histogram
    rows: RowScores
    baselines: Mapping[str, Scores]
    about_baselines: str
    verdict: Verdict | None
    noted_verdict: Verdict | None
    check: TableCheck | None
    coverage: dict[str, Array]
    importance: Importance | None
    dependences: tuple[Dependence, ...]
    by_group: tuple[GroupScores, ...]
    without_groups: tuple[str, ...]
    worst: tuple[WorstRow, ...]
    shown_columns: tuple[str, ...]
    facts: dict[str, str]
    is_training_table: bool
    has_few_values: bool
    times: dict[str, Array] = field(default_factory=dict)

    @property
    def scores(self) -> Scores:
        """Mean scores on this table."""
        return self.rows.means()

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Array,
        *,
        target: str,
        source: str,
        noted_scores: Mapping[str, Scores] | None = None,
        noted_verdict: Verdict | None = None,
        row_numbers: Sequence[int] | None = None,
        beside: Any = None,
        by: Sequence[str] = (),
    ) -> ModelPage:
        """Collect the predictions of a `HistogramRegressor` with one target.

        Parameters
        ----------
        model : HistogramRegressor
        X : array-like or data frame of shape (n, d)
        y : ndarray of shape (n,)
        target, source : str
            Names of the target and of the table.
        noted_scores, noted_verdict : optional
            Of the model and of simple models, when it was fitted.
        row_numbers : sequence of n int, optional
            Of the rows in the file, by default from 1.
        beside : data frame of n rows, optional
            Further columns, which the model does not use: times and groups.
        by : sequence of str
            Columns of X or ``beside`` whose groups are compared; by default the one
            that the model is calibrated by, and the most important ones.
        """
        predictions = model.predict_all(X)
        distribution = predictions.distribution
        if not isinstance(distribution, Histogram):
            raise InputError(
                "the report needs a model with a single target, got several"
            )
        as_predicted = [distribution.interval(level) for level in LEVELS]
        coverage = {"as predicted": _shares(as_predicted, y)}
        if model.model_.calibration is not None:
            calibrated = [predictions.interval(level) for level in LEVELS]
            coverage["calibrated"] = _shares(calibrated, y)
        rows = row_scores_of(predictions, y)
        constant = _constant_rows(model, y)
        own = {"this model": rows.means(constant)}
        if constant is not None:
            own[CONSTANT] = constant.means(constant)
        is_frame = nw.dependencies.is_into_dataframe(X)
        numbers = row_numbers or range(1, len(y) + 1)
        frame = nw.from_native(X, eager_only=True) if is_frame else None
        importance = _importance(model, X, y)
        ranked = [] if importance is None else importance.ranked()
        worst, shown = _worst_rows(predictions, rows, frame, numbers, ranked)
        columns = _columns(model, X, beside)
        by_group = _by_group(rows, columns, by or _default_groups(model, ranked))
        notes = model.notes_
        return cls(
            target=target,
            source=source,
            y=y,
            predicted=predictions.mean,
            distribution=distribution,
            rows=rows,
            baselines=noted_scores or own,
            about_baselines=f"{notes.get('n_tested'):,} held-out rows of "
            f"{notes.get('tested_on', notes.get('source', 'the training table'))}"
            if noted_scores
            else f"the {len(y):,} rows of {source}",
            verdict=None
            if constant is None
            else verdict_on(rows, {CONSTANT: constant}),
            noted_verdict=noted_verdict,
            check=check_table(X, y) if is_frame else None,
            coverage=coverage,
            importance=importance,
            dependences=_dependences(model, X, ranked),
            by_group=by_group,
            without_groups=tuple(
                name for name in by if name not in {one.column for one in by_group}
            ),
            worst=worst,
            shown_columns=shown,
            facts=_facts(model),
            is_training_table=notes.get("source") == source,
            has_few_values=isinstance(model.model_.atoms, ValueAtoms),
            times={
                name: column.values
                for name, column in columns.items()
                if column.kind == "time" and _n_distinct(column.values) > 1
            },
        )

    @property
    def next_steps(self) -> list[str]:
        """What to do next, the most important first."""
        return list(_next_steps(self))


def write_page(page: ModelPage, path: Path) -> None:
    """Write the page as one self-contained file, complete or not at all."""
    template = resources.files("histreg.report") / "model_page.html"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = shown_number
    environment.filters["code"] = _with_code
    environment.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    html = environment.from_string(template.read_text(encoding="utf-8")).render(
        page=page, pictures=_pictures(page), coverage=COVERAGE, min_rows=MIN_ROWS
    )
    with atomic_write(path) as partial:
        partial.write_text(html, encoding="utf-8")


def _pictures(page: ModelPage) -> dict[str, Any]:
    spread = page.distribution.stddev.numpy()
    generator = torch.Generator().manual_seed(0)
    pit = metrics.pit(page.distribution, page.y, generator=generator).numpy()
    # Rows spread over the range of predictions, for any order of the table.
    ranked = np.argsort(page.predicted, kind="stable")
    places = np.linspace(0, len(ranked) - 1, min(N_EXAMPLES, len(ranked)))
    chosen = ranked[places.round().astype(int)]
    target = page.target
    return {
        "predictions": Markup(
            picture(
                lambda ax: draw_predictions(ax, page.predicted, page.y, target=target),
                f"Scatter of the true {target} over the predicted mean, with the line "
                "on which they agree.",
            )
        ),
        "distributions": [
            _example(page, int(row), i + 1) for i, row in enumerate(chosen)
        ],
        "has_peak_at_end": not page.has_few_values
        and any(peaks_at_end(page.distribution[row]) for row in chosen),
        "pit": Markup(
            picture(
                lambda ax: draw_pit(ax, pit),
                "Histogram of the probability integral transform in twenty bars, with "
                "the band expected of a calibrated model.",
            )
        ),
        "reliability": Markup(
            picture(
                lambda ax: draw_reliability(ax, LEVELS, page.coverage),
                "Coverage found over coverage asked for.",
            )
        ),
        "error_by_spread": Markup(
            picture(
                lambda ax: draw_error_by_spread(
                    ax, spread, page.predicted - page.y, target=target
                ),
                "Root mean squared error of ten groups of rows over their predicted "
                "standard deviation.",
            )
        ),
        "coverage_by_spread": Markup(
            picture(
                lambda ax: draw_coverage_by_spread(
                    ax, spread, page.rows.covered, coverage=COVERAGE
                ),
                "Coverage of 90 % intervals in groups of rows by predicted standard "
                "deviation, with the band expected of a calibrated model.",
            )
        ),
        "importance": _importance_pictures(page),
        "dependences": [
            Markup(
                picture(
                    partial(draw_dependence, one),
                    f"Average prediction by {one.column}: mean, and 0.1 and 0.9 "
                    "quantiles.",
                )
            )
            for one in page.dependences
        ],
        "groups": {by.column: _by_group_picture(by) for by in page.by_group},
        "times": {name: _over_time(page, name) for name in page.times},
    }


def _importance_pictures(page: ModelPage) -> dict[str, Markup]:
    importance = page.importance
    if importance is None:
        return {}
    height = 1.0 + 0.26 * min(N_BARS, len(importance.columns))
    labels = {
        "CRPS": "Increase of the CRPS when a column is shuffled.",
        "spread": "Mean change of the predicted spread when a column is shuffled.",
    }
    return {
        of: Markup(
            picture(
                partial(draw_importance, importance, of=of, n_bars=N_BARS),
                label,
                height=height,
            )
        )
        for of, label in labels.items()
    }


def _by_group_picture(by: GroupScores) -> Markup:
    return Markup(
        picture(
            lambda ax: draw_coverage_by_group(ax, by, coverage=COVERAGE),
            f"Coverage of 90 % intervals by {by.column}, with what chance allows.",
            height=1.0 + 0.26 * len(by.groups),
        )
    )


def _example(page: ModelPage, row: int, number: int) -> Markup:
    return Markup(
        picture(
            lambda ax: draw_distribution(
                ax, page.distribution[row], float(page.y[row]), target=page.target
            ),
            f"Predicted density of example {number}, by rising prediction, with its "
            "mean, its 90 % interval and the truth.",
            height=2.3,
            width=4,
        )
    )


def _over_time(page: ModelPage, name: str) -> Markup:
    seconds = page.times[name]
    known = ~np.isnan(seconds)
    return Markup(
        picture(
            lambda ax: draw_time(
                ax, seconds[known], page.predicted[known], page.y[known]
            ),
            f"Mean truth and mean prediction over {name}.",
        )
    )


def _constant_rows(model: Any, y: Array) -> RowScores | None:
    """Return the scores of the training targets, by the percentiles that were noted."""
    noted = model.notes_.get("y_percentiles")
    is_known = isinstance(noted, list) and len(noted) > 1
    if not is_known or not all(isinstance(value, int | float) for value in noted):
        return None
    # Between percentiles, targets are taken as uniform: each percentile by itself would
    # give the smallest and the largest target too much weight.
    places = (np.arange(N_CONSTANT) + 0.5) / N_CONSTANT
    learnt = np.interp(places, np.linspace(0, 1, len(noted)), noted)
    mean = learnt.mean()
    return row_scores_of_point(np.full(len(y), mean), y, learnt - mean)


def _worst_rows(
    predictions: Any,
    rows: RowScores,
    frame: nw.DataFrame[Any] | None,
    row_numbers: Sequence[int],
    ranked: Sequence[str],
) -> tuple[tuple[WorstRow, ...], tuple[str, ...]]:
    """Return the rows with the largest CRPS, and the names of their cells."""
    lower, upper = predictions.interval(COVERAGE)
    shown = [] if frame is None else (ranked or frame.columns)[:N_SHOWN_COLUMNS]
    order = np.argsort(-rows.crps, kind="stable")[:N_WORST]
    worst = []
    for row in map(int, order):
        cells = () if frame is None else tuple(_cell(frame[row, n]) for n in shown)
        worst.append(
            WorstRow(
                int(row_numbers[row]),
                float(rows.y[row]),
                float(predictions.mean[row]),
                float(lower[row]),
                float(upper[row]),
                float(rows.crps[row]),
                cells,
            )
        )
    return tuple(worst), tuple(shown)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"  # a year or an id has no thousands
    return str(value).removesuffix(" 00:00:00")  # a day


class Column(NamedTuple):
    """A column of the table, as `values_of` returns it."""

    kind: str
    values: NDArray[Any]


def _columns(model: Any, X: Any, beside: Any) -> dict[str, Column]:
    """Return the columns of the model, and those beside it."""
    columns = _named_columns(column_names(model), model._table(X))
    if beside is None:
        return columns
    names = nw.from_native(beside, eager_only=True).columns
    return columns | _named_columns(names, read_frame(beside, kinds_of(beside)))


def _named_columns(names: Sequence[str], table: Table) -> dict[str, Column]:
    return {
        name: Column(kind, values_of(table, i))
        for i, (name, kind) in enumerate(
            zip(names, named_kinds(table.kinds), strict=True)
        )
    }


def _n_distinct(values: Array) -> int:
    return len(np.unique(values[~np.isnan(values)]))


def _importance(model: Any, X: Any, y: Array) -> Importance | None:
    """Return the importance of columns, of fewer rows if there are many columns."""
    if len(y) < 2:
        return None
    least, most = ROWS_FOR_IMPORTANCE
    affordable = N_PREDICTED // (N_REPEATS * model.n_features_in_)
    return column_importance(
        *(model, X, y),
        of=("spread",),
        n_repeats=N_REPEATS,
        max_rows=min(most, max(least, affordable)),
        random_state=0,
    )


def _dependences(model: Any, X: Any, ranked: Sequence[str]) -> tuple[Dependence, ...]:
    return tuple(
        partial_dependence(
            *(model, X, column),
            n_values=N_VALUES,
            max_rows=ROWS_FOR_DEPENDENCE,
            random_state=0,
        )
        for column in ranked[:N_DEPENDENCES]
    )


def _default_groups(model: Any, ranked: Sequence[str]) -> list[str]:
    """Return the column of calibrated groups, and the most important ones."""
    calibration = model.model_.calibration
    groups = None if calibration is None else calibration.groups
    first = [] if groups is None or groups.column is None else [groups.column]
    return list(dict.fromkeys([*first, *ranked]))[:N_GROUPED]


def _by_group(
    rows: RowScores, columns: Mapping[str, Column], names: Sequence[str]
) -> tuple[GroupScores, ...]:
    """Return the scores by groups of columns that have two at least."""
    found = [scores_by_group(rows, name, *columns[name]) for name in names]
    return tuple(by for by in found if len(by.groups) > 1)


def _facts(model: Any) -> dict[str, str]:
    fitted = model.model_
    return {
        "Loss": model.loss,
        "Network": f"{fitted.network.n_models} x {model.hidden_layer_sizes}",
        "Columns": described_kinds(fitted.kinds),
        "Bins": str(model.bins_),
        "Epochs": str(model.n_iter_),
        "Calibrated": _calibration(fitted),
    }


def _calibration(model: Any) -> str:
    if model.calibration is None:
        return "no"
    groups = model.calibration.groups
    by = "" if groups is None else f", by {groups.column or 'groups'}"
    return f"on {len(model.calibration.y):,} rows{by}"


def _next_steps(page: ModelPage) -> Iterator[str]:
    """Yield sentences on what to do next, the most important first."""
    if page.is_training_table:
        yield (
            "Test on rows that the model has not seen: `histreg fit --save-holdout` "
            "writes them, or use `histreg fit --eval`."
        )
    for finding in page.check.problems if page.check else ():
        yield str(finding)
    noted, verdict = page.noted_verdict, page.verdict
    if verdict is not None and verdict.has_few_rows:
        yield f"Test the model on more rows: it was tested on {len(page.y)}."
    elif verdict is not None and not verdict.is_useful:
        yield (
            "Do not use this model: it is not clearly better than a constant. Look for "
            "columns that say more about the target."
        )
    elif verdict is not None and verdict.skill.value < BARELY:
        yield (
            "Do not expect much: the columns say little about the target. Look for "
            "others that say more."
        )
    elif noted is not None and noted.best not in (None, CONSTANT) and noted.gain:
        if noted.gain.high < 0:
            yield f"Use {noted.best}: it was better than this model."
        elif noted.gain.low <= 0:
            is_quicker = ", and is quicker" if noted.best in (LINEAR, BOOSTING) else ""
            yield (
                f"If you need no distribution, use {noted.best}: it was as good"
                f"{is_quicker}."
            )
    if noted is not None and noted.calibration is not None:
        yield (
            "Ask for calibrated quantiles and probabilities, which were better: "
            "`histreg predict --calibrated`."
        )
    covered = page.scores.coverage
    if "calibrated" not in page.coverage:
        yield "Calibrate the intervals: `histreg fit --calibration 0.1`."
    elif covered < COVERAGE and is_off(covered, len(page.y)):
        yield (
            f"The calibrated 90 % intervals cover {100 * covered:.1f} % of these rows: "
            "they differ from the calibration rows. Calibrate on newer rows, or "
            "let the intervals of a series adapt: `histreg predict --adaptive`."
        )
    if math.isinf(page.scores.width):
        yield (
            "Some 90 % intervals are infinite, because there are too few calibration "
            "rows for them: 9 are needed, in each group if there are groups. Use a "
            "larger `histreg fit --calibration`, or coarser groups."
        )
    if not is_off(covered, len(page.y)):
        yield from _steps_for_groups(page)
    if page.worst:
        yield "Look at the worst rows: are their values right, and what do they share?"
    yield (
        "Try other settings (`histreg tune`), and use the model: `histreg predict "
        "model/ new.csv --interval 0.9`."
    )


def _steps_for_groups(page: ModelPage) -> Iterator[str]:
    """Yield what to do about the group whose intervals hold least."""
    low = [
        (group.scores.coverage, group, by.column)
        for by in page.by_group
        for group in by.off
        if group.scores.coverage < COVERAGE
    ]
    if not low:
        return
    covered, group, column = min(low, key=lambda one: one[0])
    others = f" {len(low) - 1} other groups are off, too." if len(low) > 1 else ""
    yield (
        f"Do not rely on 90 % intervals where {column} is {group.name}: they cover "
        f"{100 * covered:.0f} % of {group.n_rows:,} rows.{others} Calibrate each group "
        "by itself: `histreg fit --calibrate-by COLUMN`, with a column of these groups."
    )


def _with_code(text: str) -> Markup:
    """Return a text for a page, with what is between backticks as code."""
    parts = [markup_escape(part) for part in text.split("`")]
    marked = [
        Markup("<code>") + part + Markup("</code>") if i % 2 else part
        for i, part in enumerate(parts)
    ]
    return Markup("").join(marked)


def _shares(intervals: list[tuple[Any, Any]], y: Array) -> Array:
    return np.array(
        [metrics.covered(lower, upper, y).mean().item() for lower, upper in intervals]
    )
