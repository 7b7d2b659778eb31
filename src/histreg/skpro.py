"""HistogramProbaRegressor: the regressor as a probabilistic estimator of skpro.

It passes skpro's own estimator checks, so that skpro's metrics, searches and pipelines
accept it. Needs the extra ``skpro``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from sklearn.base import clone

from histreg.tabular.regressor import HistogramRegressor

try:
    from skpro.distributions.histogram import Histogram as SkproHistogram
    from skpro.regression.base import BaseProbaRegressor
except ImportError as error:
    raise ImportError(
        "histreg.skpro needs the extra: pip install 'histreg[skpro]'"
    ) from error

if TYPE_CHECKING:
    from histreg.tabular.predictions import Predictions

__all__ = ["HistogramProbaRegressor"]


class HistogramProbaRegressor(BaseProbaRegressor):
    """A `HistogramRegressor` with the interface of skpro.

    Parameters
    ----------
    regressor : HistogramRegressor, optional
        Its settings; a clone is fitted. By default one with default settings.

    Attributes
    ----------
    regressor_ : HistogramRegressor
        The fitted one, for what skpro does not ask for: `calibrate`, `save`.

    Examples
    --------
    >>> import pandas as pd
    >>> from histreg import HistogramRegressor
    >>> from histreg.skpro import HistogramProbaRegressor
    >>> X = pd.DataFrame({"x": range(60)})
    >>> y = 2.0 * X.rename(columns={"x": "y"})
    >>> settings = HistogramRegressor(max_iter=2, random_state=0)
    >>> model = HistogramProbaRegressor(settings).fit(X, y)
    >>> model.predict_interval(X, coverage=0.9).shape
    (60, 2)
    """

    _tags = {  # noqa: RUF012 (skpro reads it from the class)
        "authors": ["the histreg contributors"],
        "python_dependencies": ["torch"],
        "capability:multioutput": True,
        "capability:missing": True,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(self, regressor: HistogramRegressor | None = None) -> None:
        self.regressor = regressor
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: pd.DataFrame) -> HistogramProbaRegressor:
        settings = HistogramRegressor() if self.regressor is None else self.regressor
        self._columns = y.columns
        targets = y.to_numpy(dtype="float64")
        self.regressor_ = clone(settings).fit(
            _with_text_names(X), targets[:, 0] if targets.shape[1] == 1 else targets
        )
        return self

    def _predict(self, X: pd.DataFrame) -> pd.DataFrame:
        return self._frame(X, self._predictions(X).mean)

    def _predict_var(self, X: pd.DataFrame) -> pd.DataFrame:
        return self._frame(X, self._predictions(X).variance)

    def _predict_quantiles(self, X: pd.DataFrame, alpha: list[float]) -> pd.DataFrame:
        values = self._predictions(X).quantiles(alpha)  # (n, q) or (n, m, q)
        columns = pd.MultiIndex.from_product([self._columns, alpha])
        return pd.DataFrame(values.reshape(len(X), -1), X.index, columns)

    def _predict_proba(self, X: pd.DataFrame) -> SkproHistogram:
        found = self._predictions(X).distribution
        by_target = found if isinstance(found, tuple) else (found,)
        # skpro takes a list of rows with the borders, or masses, of each target.
        borders = [one.bins.borders.numpy() for one in by_target]
        masses = [one.probs.numpy() for one in by_target]
        return SkproHistogram(
            bins=[list(borders) for _ in range(len(X))],
            bin_mass=[[mass[i] for mass in masses] for i in range(len(X))],
            index=X.index,
            columns=self._columns,
        )

    def _predictions(self, X: pd.DataFrame) -> Predictions:
        return self.regressor_.predict_all(_with_text_names(X))

    def _frame(self, X: pd.DataFrame, values: Any) -> pd.DataFrame:
        return pd.DataFrame(values.reshape(len(X), -1), X.index, self._columns)

    @classmethod
    def get_test_params(
        cls,
        parameter_set: str = "default",  # noqa: ARG003 (skpro passes it)
    ) -> list[dict[str, Any]]:
        """Return settings that skpro's estimator checks are run with."""
        small: dict[str, Any] = {
            "hidden_layer_sizes": 8,
            "max_iter": 2,
            "random_state": 0,
        }
        one = HistogramRegressor(n_estimators=1, blend_with=(), **small)
        return [{"regressor": one}, {"regressor": HistogramRegressor(**small)}]


def _with_text_names(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns have text as names, as scikit-learn needs it."""
    return X.rename(columns=str)
