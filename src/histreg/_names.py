"""Names: the allowed strings of arguments, and the name of a model's file.

The module imports nothing, so that the command line shows and checks them without
loading PyTorch.
"""

SPACINGS = ("uniform", "sqrt", "log", "symlog", "quantile", "auto")
"""How the bins are spaced, see `histreg.spacings`."""

TAILS = ("clip", "exponential", "gpd")
"""What lies beyond the bins, see `histreg.tails`."""

LOSSES = (
    "histogram",
    "brier",
    "crps",
    "softmax_mean_l2",
    "softmax_mean_l1",
    "softmax_per_bin_l2",
    "mdn",
    "l2",
    "l1",
)
"""What a regressor is trained on, see `histreg.losses`."""

ON_NUMBERS = ("l2", "l1")
"""Losses of one number, which has no distribution and needs no bins."""

INTERVALS = ("central", "shortest")
"""Prediction intervals: equal probability on both sides, or the least width."""

MODEL_JSON = "model.json"
"""The file that makes a folder a model, see `histreg.tabular.model_files`."""
