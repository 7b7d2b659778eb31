"""Observations: y beside a prediction."""

import numpy as np
import pytest
import torch

from histreg import Bins, Histogram
from histreg._observations import as_tensor, observed, same_shape


def test_y_keeps_its_float_type():
    assert as_tensor(np.float32([1.0])).dtype == torch.float32
    assert as_tensor([1.0]).dtype == torch.float64
    y = torch.zeros(2)
    assert as_tensor(y) is y


def test_y_must_have_the_shape_of_the_distribution():
    d = Histogram(Bins([0.0, 1.0, 3.0]), logits=torch.zeros(3, 2))
    assert observed(d, [1.0, 2.0, 3.0]).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"y must have shape \(3,\)"):
        observed(d, [1.0])
    with pytest.raises(TypeError, match="distribution must be a Histogram"):
        observed((d, d), [1.0])


def test_different_shapes_are_refused_by_name():
    assert [t.dtype for t in same_shape(lower=[1], upper=[2.0])] == [torch.float64] * 2
    with pytest.raises(ValueError, match=r"upper must have shape \(1,\) like lower"):
        same_shape(lower=[1.0], upper=[1.0, 2.0])
