import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from histreg.tabular.adamw import AdamW


def parameters(generator):
    return [nn.Parameter(torch.randn(size, generator=generator)) for size in (3, 5)]


def test_it_takes_the_steps_of_torch(generator):
    ours = parameters(generator)
    theirs = [nn.Parameter(p.detach().clone()) for p in ours]
    optimizer = AdamW(ours, learning_rate=0.1, weight_decay=0.3)
    reference = torch.optim.AdamW(theirs, lr=0.1, weight_decay=0.3, foreach=False)
    for step in range(5):
        if step == 3:
            optimizer.learning_rate = 0.02
            reference.param_groups[0]["lr"] = 0.02
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(a.shape, generator=generator)
            b.grad = a.grad.clone()
        optimizer.step()
        reference.step()
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a, b)
        for slot, moment in optimizer.state[a].items():
            assert_close(moment, reference.state[b][slot])


def test_the_number_of_steps_is_float32_whatever_torch_s_default(generator):
    [first, _] = parameters(generator)
    first.grad = torch.ones_like(first)
    optimizer = AdamW([first], learning_rate=0.1, weight_decay=0.3)
    torch.set_default_dtype(torch.float64)
    try:
        optimizer.step()
    finally:
        torch.set_default_dtype(torch.float32)
    assert optimizer.state[first]["step"].dtype == torch.float32


def test_a_parameter_without_a_gradient_stays_and_has_no_state(generator):
    first, second = parameters(generator)
    before = second.detach().clone()
    first.grad = torch.ones_like(first)
    optimizer = AdamW([first, second], learning_rate=0.1, weight_decay=0.3)
    optimizer.step()
    assert torch.equal(second, before)
    assert list(optimizer.state) == [first]
    optimizer.zero_grad()
    assert first.grad is None
    optimizer.step()  # nothing to do
    assert optimizer.state[first]["step"] == 1


@pytest.mark.parametrize("module", ["torch._dynamo", "sympy"])
def test_fitting_and_predicting_do_not_import_the_compiler_of_torch(module):
    code = (
        "import sys, numpy as np; from histreg import HistogramRegressor\n"
        "X = np.arange(60.0).reshape(30, 2)\n"
        "model = HistogramRegressor((4,), max_iter=1).fit(X, X[:, 0])\n"
        "model.predict_interval(X)\n"
        f"sys.exit({module!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
