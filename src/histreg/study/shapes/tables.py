"""The tables of the experiment on shapes, by their tails, and what is compared."""

from __future__ import annotations

HEAVY = ("lognormal", "pareto", "zeros", "far-mode", "bike", "flights", "diamonds")
"""Tables whose targets have a long tail, many zeros or far modes."""
LIGHT = ("california", "song-7000", "pole", "friedman", "diabetes")
"""Tables on which even bins resolve all targets."""
NOT_POSITIVE = ("zeros", "far-mode", "flights", "pole", "friedman")
"""Of these, tables that have no logarithm for bins to be even in."""
SHAPE_SEEDS = (0, 1, 2)
UNIFORM_BINS = "uniform bins"
COMPARED_METRICS = ("test CRPS", "test MAE", "test MAE of the median")
"""The MAE is of the mean, which does not have the least MAE for skewed targets."""
