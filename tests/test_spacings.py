"""Spacings: coordinates in which bins lie evenly."""

import numpy as np
import pytest

from histreg import Bins, spacings
from histreg._names import SPACINGS
from histreg.spacings import spacing_of

RNG = np.random.default_rng(0)
TARGETS = {
    "normal": RNG.normal(size=4000),
    "lognormal": RNG.lognormal(0, 1.5, 4000),
    "pareto": RNG.pareto(1.5, 4000) + 1,
    "counts": RNG.poisson(3, 4000).astype(float),
    "zeros": RNG.lognormal(0, 1.5, 4000) * (RNG.uniform(size=4000) < 0.5),
    "years": RNG.integers(1922, 2012, 4000).astype(float),
    "both signs, far": RNG.standard_t(1.5, 4000),
    "two values": np.array([0.0, 1.0, 1.0, 1.0]),
}
targets = pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)


def possible(name, y):
    return name != "log" or y.min() > 0


@targets
@pytest.mark.parametrize("name", SPACINGS[:-1])
def test_a_spacing_and_its_inverse_agree_and_rise(name, y):
    if not possible(name, y):
        pytest.skip("no logarithm")
    to, back = spacing_of(name, y)
    low, high = to(np.array([y.min(), y.max()]))
    t = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), 501)
    assert (np.diff(back(t)) > 0).all()
    inside = t[(t >= low) & (t <= high)]
    np.testing.assert_allclose(to(back(inside)), inside, rtol=1e-9, atol=1e-9)


@targets
@pytest.mark.parametrize("name", SPACINGS)
def test_bins_of_every_spacing_hold_the_targets_and_their_padding(name, y):
    if not possible(name, y):
        pytest.skip("no logarithm")
    bins = Bins.of(y, spacing=name)
    assert bins.n_bins == 100
    places = np.interp(y, bins.borders.numpy(), np.arange(101))
    # Six bins on each side, two sigmas of three paddings, in whatever coordinate.
    assert places.min() == pytest.approx(6, abs=0.01)
    assert places.max() == pytest.approx(94, abs=0.01)


@pytest.mark.parametrize(
    ("name", "coordinate"),
    [("sqrt", np.sqrt), ("log", np.log), ("uniform", lambda y: y)],
)
def test_borders_are_even_in_their_coordinate(name, coordinate):
    bins = Bins.of(TARGETS["pareto"], spacing=name)
    borders = coordinate(bins.borders.numpy()[10:])
    np.testing.assert_allclose(np.diff(borders), np.diff(borders)[0], rtol=1e-6)


def test_quantile_bins_hold_equal_shares_of_nine_tenths():
    y = TARGETS["lognormal"]
    counts, _ = np.histogram(y, Bins.of(y, spacing="quantile").borders.numpy())
    inner = counts[6:94] / len(y)
    # 0.9 of the coordinate is the distribution function, so no bin has more than
    # 1 / (0.9 * 88) of it; half a target more or less lies on each border.
    assert inner.max() <= 1 / (0.9 * 88) + 1 / len(y)
    assert inner.sum() == pytest.approx(1, abs=2 / len(y))


def test_equal_values_share_a_step_and_empty_stretches_get_bins():
    y = np.concatenate([np.zeros(1000), np.ones(1000), [1000.0]])
    bins = Bins.of(y, spacing="quantile")
    # A tenth of the bins lies evenly in y, whatever is there.
    assert bins.widths[6:94].max() < 2 * (1000 / (0.1 * 88))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("normal", "uniform"),
        ("counts", "uniform"),
        ("years", "uniform"),
        ("lognormal", "log"),
        ("both signs, far", "symlog"),
        ("zeros", "sqrt"),
        ("pareto", "quantile"),
        ("two values", "uniform"),
    ],
)
def test_auto_takes_the_first_that_resolves_the_targets(name, expected):
    y = TARGETS[name]
    assert Bins.of(y, spacing="auto") == Bins.of(y, spacing=expected)
    for earlier in SPACINGS[: SPACINGS.index(expected)]:
        if possible(earlier, y):
            borders = Bins.of(y, spacing=earlier).borders.numpy()
            assert spacings.share_unresolved(borders, y) > 0


def test_a_twentieth_within_one_bin_is_not_resolved():
    y = np.concatenate([np.linspace(0, 0.5, 10), np.linspace(1, 100, 90)])
    assert spacings.share_unresolved(np.linspace(0, 100, 101), y) > 0
    assert spacings.share_unresolved(np.linspace(0, 100, 1001), y) == 0
    # Whole numbers ask for no more than a bin for two of them.
    assert (
        spacings.share_unresolved(
            np.linspace(-0.5, 99.5, 51), np.arange(100.0).repeat(5)
        )
        == 0
    )


def test_values_that_differ_by_rounding_are_one():
    k = np.arange(1000) % 10
    y = np.where(np.arange(1000) % 3 > 0, 0.1 * k, k / 10)
    assert len(np.unique(y)) > 10  # 0.30000000000000004 and 0.3
    assert Bins.of(y, spacing="auto") == Bins.of(y)
    expected = Bins.of(k / 10, spacing="quantile").borders
    np.testing.assert_allclose(
        Bins.of(y, spacing="quantile").borders, expected, rtol=0, atol=1e-12
    )
    near = 1 + 1e-12 * np.arange(100)  # but all that there is, where all are so near
    assert Bins.of(near, spacing="quantile").high > near.max()


def test_auto_takes_what_float64_can_hold():
    y = 10 ** np.linspace(-300, 300, 1000)
    with pytest.raises(ValueError, match="y must leave room for padding in float64"):
        Bins.of(y, spacing="log")
    assert Bins.of(y, spacing="auto") == Bins.of(y, spacing="quantile")


@pytest.mark.parametrize("name", SPACINGS)
def test_no_room_in_float64_is_said_so(name):
    with pytest.raises(ValueError, match=r"y must leave room .* range of 1.0..1.79e"):
        Bins.of([1.0, 1.79e308], spacing=name)


@pytest.mark.parametrize("name", SPACINGS)
def test_a_constant_has_uniform_bins_around_it(name):
    assert Bins.of([5.0, 5.0], spacing=name) == Bins.of([5.0, 5.0])


@pytest.mark.parametrize(
    ("y", "name", "sentence"),
    [
        ([0.0, 1.0], "log", 'the spacing "log" needs positive targets'),
        ([0.0, 1.0], "cube", "spacing must be one of 'uniform', 'sqrt'"),
    ],
)
def test_bad_input_gets_one_sentence(y, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        Bins.of(y, spacing=name)
