"""One form for every complaint: the argument, the requirement, the value."""

import math

import pytest
import torch

from histreg import _checks


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (
            lambda: _checks.check_choice("kind", "c", ("a", "b")),
            "kind must be one of 'a', 'b', got kind='c'",
        ),
        (
            lambda: _checks.check_choice("loss", "Histgram", ("l2", "histogram")),
            "loss must be one of 'l2', 'histogram', got loss='Histgram'; "
            "did you mean 'histogram'?",
        ),
        (
            lambda: _checks.check_positive("sigma", -1.0),
            "sigma must be finite and positive, got sigma=-1.0",
        ),
        (
            lambda: _checks.check_fraction("coverage", 90),
            "coverage must lie between 0 and 1, got coverage=90",
        ),
        (
            lambda: _checks.check_count("n_bins", True, at_least=1),
            "n_bins must be a whole number of at least 1, got n_bins=True",
        ),
        (
            lambda: _checks.check_shape(
                "y", torch.zeros(3, 1), (3,), because="like the logits"
            ),
            "y must have shape (3,) like the logits, got shape (3, 1)",
        ),
        (
            lambda: _checks.check_finite("y", torch.tensor([0.0, math.nan, math.inf])),
            "y must be finite, got 2 of 3 values that are not, the first nan",
        ),
    ],
)
def test_a_complaint_names_argument_requirement_and_value(check, sentence):
    with pytest.raises(ValueError) as error:
        check()
    assert str(error.value) == sentence


def test_numbers_do_not_stand_for_true_and_false():
    _checks.check_bool("censored", torch.tensor([True]))
    with pytest.raises(TypeError, match=r"^censored must hold bool, got torch\.uint8$"):
        _checks.check_bool("censored", torch.ones(1, dtype=torch.uint8))
