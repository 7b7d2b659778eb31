"""Theorems as numbers: that a number would be large if its statement were false.

That they are small of this code is in tests/study/claims/test_theory.py.
"""

import math

import pytest
import torch

from histreg import losses, targets, theory
from histreg.study.claims.theory import TOLERANCES
from histreg.study.theory import theorems


def violated(check):
    """Return the names of numbers beyond their tolerances."""
    return {k for k, v in check().items() if not v <= TOLERANCES[k]}


def scaled(function, factor):
    return lambda *args, **options: factor * function(*args, **options)


# What is broken, and by what factor; the check that must see it, and in which numbers.
BROKEN = [
    (
        targets,
        "projected",
        1.001,
        theorems.target_sanity,
        ["T1 largest |sum p - 1|"],
    ),
    (
        targets,
        "gaussian",
        1.001,
        theorems.target_sanity,
        ["T1 narrow HL-Gauss from HL-OneBin", "T1 wide HL-Gauss from 1 / k"],
    ),
    (
        losses,
        "histogram_loss",
        1.001,
        theorems.loss_identities,
        [
            "T2 loss - entropy from KL",
            "T2 loss of h = p from the entropy",
            "T2 gradient from h - p",
            "T2 finite differences from h - p",
            "T2 Hessian from diag(h) - h h'",
        ],
    ),
    (
        theory,
        "entropy_floor",
        1.001,
        theorems.loss_identities,
        ["T2 smallest loss from its formula"],
    ),
    (
        theory,
        "gradient_bound",
        0.1,
        theorems.gradient_bound,
        ["T3 largest gradient over the bound"],
    ),
    (
        losses,
        "l2",
        1.1,
        theorems.gradient_bound,
        ["T3 largest l2 gradient over its bound"],
    ),
    (
        theory,
        "label_bias",
        -1.0,
        theorems.discretization_series,
        ["T6 series from the direct sum, in bins"],
    ),
    (
        theory,
        "discretization_bias",
        1.1,
        theorems.half_width_bound,
        ["T7 largest bias over w / 2"],
    ),
    (
        theory,
        "discretization_bias",
        0.9,
        theorems.half_width_bound,
        ["T7 nearly tight case from w / 2, in bins"],
    ),
    (
        targets,
        "uniform",
        1.001,
        theorems.uniform_bias,
        ["T9 mean of HL-Uniform from its formula"],
    ),
    (
        theory,
        "prediction_bound",
        0.9,
        theorems.prediction_bound,
        [
            "T12 largest squared difference over the bound, shift-invariant",
            "T12 squared difference of the example over the bound",
        ],
    ),
    (
        losses,
        "histogram_loss",
        1.001,
        theorems.maximum_entropy,
        ["T13 KL(q || h) from the loss"],
    ),
]


@pytest.mark.parametrize(
    ("module", "name", "factor", "check", "seen"),
    BROKEN,
    ids=[f"{each[1]} x {each[2]}" for each in BROKEN],
)
def test_a_broken_function_is_seen(module, name, factor, check, seen, monkeypatch):
    broken = scaled(getattr(module, name), factor)
    monkeypatch.setattr(module, name, broken)
    if name == "projected":  # which the registry holds by itself
        monkeypatch.setitem(theorems.TARGETS, "HL-Projected", broken)
    assert set(seen) <= violated(check)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("gaussian", theorems.target_sanity),  # not the mirror image any more
        ("gaussian", theorems.smoothing_bias),
        ("projected", theorems.projected_bias),
        ("gaussian", theorems.simulated_bias),
        ("gaussian", theorems.preset_biases),
        ("gaussian", theorems.maximum_entropy),
    ],
)
def test_a_target_that_is_one_bin_off_is_seen(name, check, monkeypatch):
    target = getattr(targets, name)

    def moved(*args, **options):
        return target(*args, **options).roll(1, dims=-1)

    monkeypatch.setattr(targets, name, moved)
    assert violated(check)


def test_a_loss_with_another_minimiser_is_seen(monkeypatch):
    monkeypatch.setattr(theorems, "TARGETS", {"HL-OneBin": targets.one_bin})
    # The probability of being wrong: all mass goes to the most frequent bin.
    monkeypatch.setattr(
        losses, "histogram_loss", lambda z, p: 1 - (z.softmax(dim=-1) * p).sum(dim=-1)
    )
    assert violated(theorems.minimizer)


def test_the_numbers_are_the_same_each_time():
    torch.manual_seed(99)
    first = theorems.prediction_bound()
    torch.manual_seed(98)
    assert theorems.prediction_bound() == first
    assert theorems.target_sanity() == theorems.target_sanity()


def test_what_is_not_a_number_is_the_worst():
    found = theorems._Worst()
    for value in (1.0, math.nan, 2.0):
        found.see("a", torch.tensor([value, 0.5]))
    assert math.isnan(found.numbers["a"])
