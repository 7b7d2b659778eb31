"""Implementations are put through the vectors: ours, mistakes of others, and others."""

import inspect
import json

import numpy as np
import pytest

from tests.conformance import make_vectors, reader
from tests.conformance.implementations import (
    IMPLEMENTATIONS,
    MODULES,
    Histreg,
    error_after_casting,
    error_after_loading,
)

CASES = json.loads(make_vectors.PATH.read_text())["cases"]


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_the_file_holds_what_mpmath_computes():
    assert make_vectors.contents() == json.loads(make_vectors.PATH.read_text())


def test_the_reader_has_ten_lines():
    lines = inspect.getsource(reader.errors).splitlines()
    assert len(lines) <= 10


@pytest.mark.parametrize(
    "error",
    [error for _, error in reader.errors(Histreg)],
    ids=[f"{case['function']}: {case['catches']}" for case in CASES],
)
def test_histreg_is_right_to_the_last_digits(error):
    # A few units in the last place, of sums of at most eleven terms.
    assert error < 4e-15


def test_histreg_has_every_function_of_the_vectors():
    assert len(list(reader.errors(Histreg))) == len(CASES)


# ---- mistakes that were found in public code: each is caught by a vector


class Mistakes:
    """Each is one mistake in an otherwise right function."""

    def mean(logits, borders):  # a mean over bins: k times too small
        return (softmax(logits) * (borders[:-1] + borders[1:]) / 2).mean(-1)

    def mean_of_borders(logits, borders):
        return (softmax(logits) * borders[:-1]).sum(-1)

    def mean_by_symlog(logits, borders):
        centers = (borders[:-1] + borders[1:]) / 2
        symlog = np.sign(centers) * np.log1p(np.abs(centers))
        value = (softmax(logits) * symlog).sum(-1)
        return np.sign(value) * np.expm1(np.abs(value))

    def gaussian_target(y, borders, sigma):  # not normalised over the bins
        from scipy.stats import norm

        return np.diff(norm.cdf(borders, y[:, None], sigma), axis=-1)

    def gaussian_target_mirrored(y, borders, sigma):
        return Histreg.gaussian_target(y, -borders[::-1], sigma)

    def gaussian_target_float32(y, borders, sigma):
        return Histreg.gaussian_target(
            y.astype(np.float32), borders.astype(np.float32) + 0.0, sigma
        )

    def gaussian_target_even(y, borders, sigma):
        even = np.linspace(borders[0], borders[-1], len(borders))
        return Histreg.gaussian_target(y, even, sigma)

    def two_hot_target(y, centers):  # an epsilon in the denominator
        index = np.searchsorted(centers, y.clip(centers[0], centers[-1]), "right") - 1
        index = index.clip(0, len(centers) - 2)
        lower, upper = centers[index], centers[index + 1]
        share = (y.clip(centers[0], centers[-1]) - lower) / (upper - lower + 1e-5)
        eye = np.eye(len(centers))
        return eye[index] * (1 - share)[:, None] + eye[index + 1] * share[:, None]

    def two_hot_target_without_clipping(y, centers):
        result = np.zeros((len(y), len(centers)))
        for i, value in enumerate(y):
            distance = np.abs(value - centers) / (centers[1] - centers[0])
            result[i] = (1 - distance).clip(0)
        return result

    def cross_entropy(logits, y, borders, sigma):  # the log of a softmax
        with np.errstate(divide="ignore", invalid="ignore"):
            target = Histreg.gaussian_target(y, borders, sigma)
            return -(target * np.log(softmax(logits))).sum(-1)

    def quantiles(logits, borders, levels):  # mass of the first bin is forgotten
        cumulated = np.cumsum(softmax(logits), -1)
        rows = [np.interp(levels, row, borders[1:]) for row in cumulated]
        return np.array(rows)

    def cdf(logits, borders, y):  # a step function
        below = borders[1:] <= y[:, None]
        return (softmax(logits) * below).sum(-1)

    def backup(logits, centers, rewards, discounts):  # mass vanishes on the grid
        result = np.zeros_like(logits)
        for i, probs in enumerate(softmax(logits)):
            moved = rewards[i] + discounts[i] * centers
            b = (moved.clip(centers[0], centers[-1]) - centers[0]) / np.diff(centers)[0]
            low, high = np.floor(b).astype(int), np.ceil(b).astype(int)
            np.add.at(result[i], low, probs * (high - b))
            np.add.at(result[i], high, probs * (b - low))
        return result

    def backup_of_one_discount(logits, centers, rewards, discounts):
        same = np.full_like(discounts, discounts[0])
        return Histreg.backup(logits, centers, rewards, same)


MISTAKES = {
    name: function for name, function in vars(Mistakes).items() if name[0] != "_"
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_vectors_catch_a_known_mistake(name):
    function = next(f for f in vars(Histreg) if name.startswith(f))
    wrong = type("Wrong", (), {function: staticmethod(MISTAKES[name])})
    # NaN is caught too. rlax's epsilon, the smallest, is 1e-5 off.
    assert any(not error < 5e-6 for _, error in reader.errors(wrong))


# ---- modules


@pytest.mark.parametrize("law", [error_after_loading, error_after_casting])
def test_our_module_keeps_its_bins(law):
    # The mean itself is float32.
    assert law(*MODULES["histreg"]) < 1e-4


# ---- other implementations, where they are installed

TOLERANCE = {
    "hl-gauss-pytorch": 2e-7,  # float32 results
    "rlax": 2e-5,  # an epsilon of 1e-5 in transform_to_2hot
    "torchrl": 1e-14,
}


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS[1:])
def test_other_implementations_are_as_far_off_as_the_page_says(implementation):
    name = implementation.package
    pytest.importorskip(
        name.replace("-", "_"), reason="comes with the extra 'frameworks'"
    )
    for case, error in reader.errors(implementation):
        assert error < TOLERANCE[name], case["catches"]


@pytest.mark.filterwarnings("ignore")
def test_the_support_of_hl_gauss_pytorch_is_not_in_its_state():
    pytest.importorskip("hl_gauss_pytorch", reason="comes with the extra 'frameworks'")
    assert error_after_loading(*MODULES["hl-gauss-pytorch"]) == pytest.approx(5.0)
