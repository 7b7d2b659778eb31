"""Survival: scores of predictions when some targets are censored."""

import math

import numpy as np
import pytest
import torch

from histreg import Bins, Histogram, metrics
from tests import references


def lives(n, seed=0, whole=False):
    """Return times, flags of those cut short at a uniform time, and all lives."""
    rng = np.random.default_rng(seed)
    life, limit = 5 * rng.weibull(1.5, size=n), rng.uniform(0, 9, size=n)
    if whole:
        life, limit = np.ceil(life), np.ceil(limit)
    return np.minimum(life, limit), limit < life, life


@pytest.mark.parametrize("n", [2, 3, 8, 65])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("is_censored", [False, True])
def test_concordance_counts_every_pair_as_its_definition_does(n, ties, is_censored):
    for seed in range(8):
        y, censored, _ = lives(n, seed, whole=ties)
        predicted = y + 3 * np.random.default_rng(seed).normal(size=n)
        predicted = predicted.round() if ties else predicted
        censored = censored & is_censored
        expected = references.concordance(predicted, y, censored)
        if expected is None:
            continue
        found = metrics.concordance(predicted, y, censored if is_censored else None)
        assert found == pytest.approx(expected, rel=1e-12)


def test_concordance_by_hand():
    # Known orders: 1 before all, 2 before 4 (3 is censored at 3, before 4).
    y, censored = [1.0, 2.0, 3.0, 4.0], [False, False, True, False]
    assert metrics.concordance(y, y, censored) == 1
    assert metrics.concordance([-t for t in y], y, censored) == 0
    assert metrics.concordance([0.0] * 4, y, censored) == 0.5
    assert metrics.concordance([1.0, 4.0, 3.0, 2.0], y, censored) == 3 / 5
    # Equal times: an event comes before what is censored; two events do not count.
    assert metrics.concordance([2.0, 1.0], [5.0, 5.0], [True, False]) == 1
    with pytest.raises(ValueError, match="two y whose order is known, got none among"):
        metrics.concordance([2.0, 1.0], [5.0, 5.0])


@pytest.mark.parametrize("low", [-1.0, 2.0], ids=["around", "within"])
def test_without_censoring_the_censored_crps_is_the_crps(low, generator):
    _, _, y = lives(40)
    bins = Bins([low, *torch.linspace(low + 0.1, 4, 9).tolist(), 4.5])
    logits = torch.randn(40, 10, generator=generator, dtype=torch.float64)
    d = Histogram(bins, logits=logits)
    found = metrics.censored_crps(d, y, np.zeros(40, dtype=bool), horizon=math.inf)
    torch.testing.assert_close(found, metrics.crps(d, y))


@pytest.mark.parametrize("horizon", [0.5, 3.0, 7.0])
@pytest.mark.parametrize("whole", [False, True], ids=["times", "tied times"])
def test_the_censored_crps_is_the_integral_of_its_definition(horizon, whole, generator):
    y, censored, _ = lives(25, whole=whole)
    bins = Bins([-1.0, 0.3, 1.0, 2.5, 6.0])
    logits = torch.randn(25, 4, generator=generator, dtype=torch.float64)
    d = Histogram(bins, logits=logits)
    found = metrics.censored_crps(d, y, censored, horizon=horizon)
    expected = references.censored_crps(d, y, censored, horizon)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_on_average_the_censored_crps_is_what_it_would_be_without_censoring():
    # 20,000 lives of a third censored; both means have a standard error near 0.01.
    y, censored, life = lives(20000)
    d = Histogram(Bins.uniform(0.0, 16.0, 8), logits=torch.zeros(8)).expand((20000,))
    found = metrics.censored_crps(d, y, censored, horizon=7.0).mean().item()
    known = np.zeros(20000, dtype=bool)
    expected = metrics.censored_crps(d, life, known, horizon=7.0).mean().item()
    assert 0.3 < censored.mean() < 0.6
    assert found == pytest.approx(expected, abs=0.06)
    # To take what was cut short for the truth is far off.
    naive = metrics.censored_crps(d, y, known, horizon=7.0).mean().item()
    assert abs(naive - expected) > 0.3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"horizon": 4.5}, "horizon must not exceed the largest y, 4, which is cen"),
        ({"horizon": math.nan}, "horizon must not exceed"),
        ({"y": [1.0, 2.0]}, r"y must have shape \(3,\)"),
        ({"y": [1.0, 2.0, math.inf]}, "y must be finite"),
        ({"censored": [True, False]}, r"censored must have shape \(3,\) like y"),
    ],
)
def test_censored_scores_refuse_in_one_sentence(options, sentence):
    d = Histogram(Bins([0.0, 1.0, 5.0]), logits=torch.zeros(3, 2))
    given = {"y": [1.0, 2.0, 4.0], "censored": [False, False, True], "horizon": 3.0}
    with pytest.raises(ValueError, match=sentence):
        metrics.censored_crps(d, **{**given, **options})
    with pytest.raises(TypeError, match="censored must hold bool"):
        metrics.censored_crps(d, **{**given, "censored": [0, 0, 1]})
