"""Regression by histograms: networks that predict a number and know how sure they are.

The public door. Everything else is reached through these names.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from histreg import (
        displays,
        losses,
        metrics,
        rl,
        spacings,
        tails,
        targets,
        theory,
    )
    from histreg.bins import PRESETS, Bins
    from histreg.distribution import Histogram
    from histreg.errors import InputError
    from histreg.forecasting.forecaster import HistogramForecaster
    from histreg.heads import HistogramHead
    from histreg.losses import HistogramLoss
    from histreg.tabular.regressor import HistogramRegressor
    from histreg.tails import Tail

__all__ = [
    "PRESETS",
    "Bins",
    "Histogram",
    "HistogramForecaster",
    "HistogramHead",
    "HistogramLoss",
    "HistogramRegressor",
    "InputError",
    "Tail",
    "displays",
    "losses",
    "metrics",
    "rl",
    "spacings",
    "tails",
    "targets",
    "theory",
]
__version__ = "0.1.0"

_MODULES = {
    "PRESETS": "bins",
    "Bins": "bins",
    "Histogram": "distribution",
    "HistogramForecaster": "forecasting.forecaster",
    "HistogramHead": "heads",
    "HistogramLoss": "losses",
    "HistogramRegressor": "tabular.regressor",
    "InputError": "errors",
    "Tail": "tails",
}


def __getattr__(name: str) -> object:
    # On first use: they bring PyTorch, and regressor and forecaster scikit-learn, which
    # `histreg --version` and a network alone do not need.
    if name not in __all__:
        raise AttributeError(f"module 'histreg' has no attribute {name!r}")
    module = _import_module(f"histreg.{_MODULES.get(name, name)}")
    return getattr(module, name) if name in _MODULES else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
