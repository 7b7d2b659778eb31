"""Verdict: is a model better than a constant and than simple models, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from histreg.tabular.baselines import CONSTANT
from histreg.tabular.scores import RowScores

N_DRAWS = 1000
BARELY = 0.05  # a skill below which a model is hardly worth its trouble
MIN_ROWS = 10  # to judge a model at all; a bootstrap of fewer has no honest interval
BY_FAR = 10  # times another model's CRPS, beyond which the number says nothing
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, by bootstrap over test rows."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        low, high = _percents(self.low, self.high)
        return f"{_percents(self.value)[0]} %, 95 % interval {low} to {high}"


@dataclass(frozen=True)
class Verdict:
    """How a model compares with a constant and with the best simple model.

    Parameters
    ----------
    skill : Estimate
        1 - CRPS / CRPS of the constant distribution.
    r2 : Estimate
    best : str, optional
        The other model with the lowest CRPS; None if only the constant was compared.
    gain : Estimate, optional
        1 - CRPS / CRPS of that model.
    calibration : Estimate, optional
        1 - CRPS of the calibrated distribution / CRPS of the predicted one, if that is
        surely above 0; the calibrated one is judged then.
    n_rows : int, optional
        Number of test rows, None if it is not known. Fewer than 10 allow no verdict.
    """

    skill: Estimate
    r2: Estimate
    best: str | None = None
    gain: Estimate | None = None
    calibration: Estimate | None = None
    n_rows: int | None = None

    def __str__(self) -> str:
        return " ".join(self.sentences())

    @property
    def is_useful(self) -> bool:
        """Whether the model is clearly better than a constant."""
        return self.skill.low > 0 and not self.has_few_rows

    @property
    def has_few_rows(self) -> bool:
        """Whether there are too few test rows for a verdict."""
        return self.n_rows is not None and self.n_rows < MIN_ROWS

    def sentences(self) -> list[str]:
        """Return the verdict in one to three sentences."""
        skill = self.skill
        if self.has_few_rows:
            rows = "row is" if self.n_rows == 1 else "rows are"
            return [
                f"{self.n_rows} test {rows} too few for a verdict: use at least "
                f"{MIN_ROWS}."
            ]
        if skill.value < 1 - BY_FAR and skill.high < 0:
            first = "Worse than a constant by far: its CRPS is over ten times as large."
        elif not self.is_useful:
            words = "worse than" if skill.high < 0 else "Not clearly better than"
            first = f"{words.capitalize()} a constant (skill {skill})."
        elif skill.value < BARELY:
            first = f"Barely better than a constant (skill {skill})."
        else:
            first = f"Better than a constant (skill {skill})."
        return [first, *self._against_best(), *self._on_calibration()]

    def _on_calibration(self) -> list[str]:
        if self.calibration is None:
            return []
        low, high = _percents(self.calibration.low, self.calibration.high)
        return [
            "This is the verdict on the calibrated distribution (`predict "
            "--calibrated`, predict_calibrated), which is "
            f"{_percents(self.calibration.value)[0]} % better than the uncalibrated "
            f"one ({low} to {high} %)."
        ]

    def _against_best(self) -> list[str]:
        if self.best is None or self.gain is None:
            return []
        gain, best = self.gain, self.best
        if best == CONSTANT:
            return ["No simple model has a lower CRPS than a constant."]
        low, high = _percents(gain.low, gain.high)
        interval = f"({low} to {high} %)"
        if gain.low > 0:
            percent = _percents(gain.value)[0]
            return [
                f"{percent} % better than the best simple model, {best} {interval}."
            ]
        if gain.value < 1 - BY_FAR:
            return [
                f"The simple model {best} is better by far: its CRPS is less than a "
                "tenth. If that is too good to be true, look for a column that gives "
                "the target away (`histreg check`)."
            ]
        if gain.high < 0:
            # In percent of the same model, so that both sentences can be compared.
            loss = _percents(-gain.value)[0]
            interval = f"({_percents(-gain.high)[0]} to {_percents(-gain.low)[0]} %)"
            return [f"The simple model {best} is better, by {loss} % {interval}."]
        return [f"The simple model {best} is as good {interval}."]


def verdict_on(
    model: RowScores,
    baselines: Mapping[str, RowScores],
    *,
    calibrated: RowScores | None = None,
    groups: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> Verdict:
    """Return the verdict on a model, from scores of the same rows.

    Parameters
    ----------
    model : RowScores
    baselines : mapping of RowScores
        By name; ``"constant"`` must be there.
    calibrated : RowScores, optional
        Of the calibrated distribution of the model, which is judged if it is clearly
        better.
    groups : ndarray of n group numbers, optional
        The bootstrap draws groups instead of rows.
    seed : int
        Of the bootstrap.
    """
    calibration = None
    if calibrated is not None:
        both = np.stack([calibrated.crps, model.crps], axis=1)
        drawn = bootstrap_means(both, groups=groups, seed=seed)
        calibration = _one_minus_ratio(both.mean(axis=0), drawn, 0, 1)
        if calibration.low > 0:
            model = calibrated
        else:
            calibration = None
    constant = baselines[CONSTANT]
    simple = {name: rows for name, rows in baselines.items() if name != CONSTANT}
    best = min(simple, key=lambda name: simple[name].crps.mean(), default=None)
    if best is not None and simple[best].crps.mean() >= constant.crps.mean():
        best = CONSTANT
    columns = [
        model.crps,
        constant.crps,
        model.error**2,
        (model.y - model.y.mean()) ** 2,
    ]
    columns.append(baselines[best or CONSTANT].crps)
    matrix = np.stack(columns, axis=1)  # (n, 5)
    drawn = bootstrap_means(matrix, groups=groups, seed=seed)  # (N_DRAWS, 5)
    means = matrix.mean(axis=0)
    return Verdict(
        _one_minus_ratio(means, drawn, 0, 1),
        _one_minus_ratio(means, drawn, 2, 3),
        best,
        None if best is None else _one_minus_ratio(means, drawn, 0, 4),
        calibration,
        len(model.y),
    )


def bootstrap_means(
    columns: Floats,
    *,
    groups: NDArray[np.int64] | None = None,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Floats:
    """Return means of rows drawn with replacement: (n, c) -> (n_draws, c).

    With groups, whole groups are drawn.
    """
    rng = np.random.default_rng(seed)
    n = len(columns)
    sizes = np.ones(n)
    if groups is not None:
        order = np.unique(groups, return_inverse=True)[1]
        sizes = np.bincount(order).astype(np.float64)
        sums = [np.bincount(order, weights=column) for column in columns.T]
        columns = np.stack(sums, axis=1)
        n = len(columns)
    drawn = np.empty((n_draws, columns.shape[1]))
    for i in range(n_draws):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        drawn[i] = counts @ columns / (counts @ sizes)
    return drawn


def _one_minus_ratio(means: Floats, drawn: Floats, above: int, below: int) -> Estimate:
    """Return 1 minus the ratio of two columns, 0 where there is nothing to explain."""
    all_means = np.vstack([means, drawn])
    numerator, denominator = all_means[:, above], all_means[:, below]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(denominator > 0, 1 - numerator / denominator, 0.0)
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return Estimate(float(values[0]), float(low), float(high))


def _percents(*shares: float) -> list[str]:
    """Return shares as whole percents, or with a digit if all or one are small."""
    sizes = [abs(share) for share in shares]
    digits = 1 if max(sizes) < 0.1 or 0 < min(sizes) < 0.005 else 0
    texts = [f"{100 * share:.{digits}f}" for share in shares]
    return [text.lstrip("-") if float(text) == 0 else text for text in texts]
