"""Regression by histograms: networks that predict a number and know how sure they are.

The public door. Everything else is reached through these names.
"""

from histreg import losses, metrics, targets, theory
from histreg.bins import PRESETS, Bins
from histreg.distribution import Histogram
from histreg.heads import HistogramHead
from histreg.losses import HistogramLoss

__all__ = [
    "PRESETS",
    "Bins",
    "Histogram",
    "HistogramHead",
    "HistogramLoss",
    "losses",
    "metrics",
    "targets",
    "theory",
]
__version__ = "0.1.0"
