"""Regression by histograms: networks that predict a number and know how sure they are.

The public door. Everything else is reached through these names.
"""

from typing import TYPE_CHECKING

from histreg import losses, metrics, targets, theory
from histreg.bins import PRESETS, Bins
from histreg.distribution import Histogram
from histreg.heads import HistogramHead
from histreg.losses import HistogramLoss

if TYPE_CHECKING:
    from histreg.regressor import HistogramRegressor

__all__ = [
    "PRESETS",
    "Bins",
    "Histogram",
    "HistogramHead",
    "HistogramLoss",
    "HistogramRegressor",
    "losses",
    "metrics",
    "targets",
    "theory",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # On first use: it brings scikit-learn, which a network alone does not need.
    if name == "HistogramRegressor":
        from histreg.regressor import HistogramRegressor

        return HistogramRegressor
    raise AttributeError(f"module 'histreg' has no attribute {name!r}")
