"""From a series to distributions of its next values.

The names below are public. Each is imported when it is first used, because the
forecaster brings PyTorch and scikit-learn.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from histreg.forecasting.backtest import Backtest
    from histreg.forecasting.forecast import Forecast
    from histreg.forecasting.forecaster import HistogramForecaster

__all__ = ["Backtest", "Forecast", "HistogramForecaster"]

_MODULES = {
    "Backtest": "backtest",
    "Forecast": "forecast",
    "HistogramForecaster": "forecaster",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'histreg.forecasting' has no attribute {name!r}")
    return getattr(_import_module(f"histreg.forecasting.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
