"""From a table to a distribution: the regressor and what it is made of.

The names below are public. Each is imported when it is first used, because the
regressor brings PyTorch and scikit-learn.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from histreg.tabular.comparison import compare
    from histreg.tabular.predictions import Predictions
    from histreg.tabular.regressor import HistogramRegressor
    from histreg.tabular.table_check import check_table
    from histreg.tabular.training import Epoch

__all__ = ["Epoch", "HistogramRegressor", "Predictions", "check_table", "compare"]

_MODULES = {
    "Epoch": "training",
    "HistogramRegressor": "regressor",
    "Predictions": "predictions",
    "check_table": "table_check",
    "compare": "comparison",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'histreg.tabular' has no attribute {name!r}")
    return getattr(_import_module(f"histreg.tabular.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
