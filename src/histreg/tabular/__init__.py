"""From a table to a distribution: the regressor and what it is made of.

The names below are public. Each is imported when it is first used, because the
regressor brings PyTorch and scikit-learn.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from histreg.tabular.adaptive import AdaptiveInterval
    from histreg.tabular.calibrated import CalibratedDistribution
    from histreg.tabular.comparison import compare
    from histreg.tabular.dependence import Dependence, partial_dependence
    from histreg.tabular.importance import Importance, column_importance
    from histreg.tabular.parquet_rows import ParquetRows
    from histreg.tabular.predictions import Predictions
    from histreg.tabular.regressor import HistogramRegressor
    from histreg.tabular.shapley import RowExplanation, explain_rows
    from histreg.tabular.table_check import check_table
    from histreg.tabular.training import Epoch

__all__ = [
    "AdaptiveInterval",
    "CalibratedDistribution",
    "Dependence",
    "Epoch",
    "HistogramRegressor",
    "Importance",
    "ParquetRows",
    "Predictions",
    "RowExplanation",
    "check_table",
    "column_importance",
    "compare",
    "explain_rows",
    "partial_dependence",
]

_MODULES = {
    "AdaptiveInterval": "adaptive",
    "CalibratedDistribution": "calibrated",
    "Dependence": "dependence",
    "Epoch": "training",
    "HistogramRegressor": "regressor",
    "Importance": "importance",
    "ParquetRows": "parquet_rows",
    "Predictions": "predictions",
    "RowExplanation": "shapley",
    "check_table": "table_check",
    "column_importance": "importance",
    "compare": "comparison",
    "explain_rows": "shapley",
    "partial_dependence": "dependence",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'histreg.tabular' has no attribute {name!r}")
    return getattr(_import_module(f"histreg.tabular.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
