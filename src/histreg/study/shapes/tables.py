"""The tables of the experiment on shapes, by their tails, and the metrics."""

from __future__ import annotations

HEAVY = ("lognormal", "pareto", "zeros", "far-mode", "bike", "flights", "diamonds")
"""Tables whose targets have a long tail, many zeros or far modes."""
LIGHT = ("california", "song-7000", "pole", "friedman", "diabetes")
"""Tables on which uniform bins resolve all targets."""
NOT_POSITIVE = ("zeros", "far-mode", "flights", "pole", "friedman")
"""Those without logarithmic bins, because targets are not all positive."""
SHAPE_SEEDS = (0, 1, 2)
UNIFORM_BINS = "uniform bins"
COMPARED_METRICS = ("test CRPS", "test MAE", "test MAE of the median")
"""The MAE is that of the mean, which does not minimise it for skewed targets."""
