"""Models on features: standardised numbers, their normal scores, and labels as columns.

The linear model and the kernel model have these features in common.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from histreg.errors import InputError
from histreg.tabular.simple_models import SimpleInputs, SimpleModel

BEYOND = 0.1  # of the range of y, how far predictions may leave it
FAR = 5.0  # of standardised numbers: beyond it, logarithms
MOST_LABELS = 100  # of a column: the most frequent ones


class FeatureModel(SimpleModel):
    """A model of p features, whose predictions stay near the training targets.

    Parameters
    ----------
    n_numbers : int
        d, columns of numbers.
    n_scaled : int
        d', of their scores and flags.
    n_codes : sequence of int
        Codes of each column of labels.
    """

    def __init__(self, n_numbers: int, n_scaled: int, n_codes: Sequence[int]) -> None:
        super().__init__()
        self.n_codes = tuple(n_codes)
        self.n_scaled = n_scaled
        self.center: Tensor  # (d,)
        self.scale: Tensor  # (d,)
        self.bias: Tensor  # ()
        self.limits: Tensor  # (2,), lowest and highest prediction
        for name in ("center", "scale"):
            self.register_buffer(name, torch.zeros(n_numbers, dtype=torch.float64))
        self.register_buffer("bias", torch.zeros((), dtype=torch.float64))
        self.register_buffer("limits", torch.zeros(2, dtype=torch.float64))

    @property
    def n_features(self) -> int:
        """The number of features, p."""
        return len(self.center) + self.n_scaled + sum(self._hot_codes)

    @property
    def _hot_codes(self) -> list[int]:
        return [min(n, MOST_LABELS) for n in self.n_codes]

    @property
    def is_no_score(self) -> Tensor:
        """The features that are not normal scores of numbers, (p,) bool."""
        start = len(self.center)
        is_none = torch.ones(self.n_features, dtype=torch.bool)
        is_none[start : start + self.n_scaled] = False
        return is_none

    @property
    def columns(self) -> Tensor:
        """The number of the column that each feature stands for, (p,) int64.

        The features of one column of labels share theirs, all others have their own.
        """
        n_own = len(self.center) + self.n_scaled
        sizes = torch.tensor([1] * n_own + self._hot_codes, dtype=torch.int64)
        return torch.repeat_interleave(torch.arange(len(sizes)), sizes)

    def features(self, inputs: SimpleInputs) -> Tensor:
        """Return the features of n rows, (n, p) float64."""
        standard = (inputs.numbers - self.center) / self.scale
        standard = standard.nan_to_num(nan=0.0)
        size = standard.abs()
        beyond = FAR + (size - FAR).clamp(min=0).log1p()
        bounded = standard.sign() * torch.minimum(size, beyond)
        hot = [
            F.one_hot(codes.clamp(max=n), n + 1)[:, :n].to(torch.float64)
            for codes, n in zip(inputs.codes.unbind(1), self._hot_codes, strict=True)
        ]
        return torch.cat([bounded, inputs.scaled.to(torch.float64), *hot], dim=1)

    def adapt(self, inputs: SimpleInputs, y: Tensor) -> None:
        """Learn scales of the numbers (n, d), and limits from the targets (n,)."""
        self.center[:], self.scale[:] = _center_and_scale(inputs.numbers)
        low, high = y.min(), y.max()
        beyond = BEYOND * (high - low)
        self.limits[0], self.limits[1] = low - beyond, high + beyond

    def within_limits(self, predicted: Tensor) -> Tensor:
        """Return predictions no further beyond the training targets than `BEYOND`."""
        return torch.minimum(torch.maximum(predicted, self.limits[0]), self.limits[1])

    def check(self) -> None:
        """Raise unless all numbers are finite and scales positive."""
        for name, tensor in self.named_buffers():
            if not tensor.isfinite().all():
                raise InputError(f"{name!r} of a simple model must be finite")
        if not (self.scale > 0).all():
            raise InputError("the scales of a simple model must be positive")


def _center_and_scale(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Return medians and robust scales of columns (n, d), 0 and 1 without values."""
    center = numbers.nanmedian(dim=0).values.nan_to_num(nan=0.0)
    # Sums of these must be finite, also of the largest numbers there are.
    largest = torch.finfo(torch.float64).max / (2 * max(1, len(numbers)))
    deviation = (numbers - center).abs().clamp(max=largest)
    robust = deviation.nanmedian(dim=0).values.nan_to_num(nan=0.0) / 0.6745
    # Of columns that are mostly one value, the mean deviation.
    plain = deviation.nanmean(dim=0).nan_to_num(nan=0.0) / 0.7979
    scale = torch.where(robust > 0, robust, plain)
    return center, torch.where(scale > 0, scale, torch.ones_like(scale))
