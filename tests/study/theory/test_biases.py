"""Measurements against the numbers of the paper's appendix, and against numpy."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import norm

from histreg import theory
from histreg.study import measurements
from histreg.study.atari import replays, states
from histreg.study.atari.replays import OutOfStepError, replay_of
from histreg.study.datasets import DATASETS, GAMES, SERIES, DataSet, Table, dataset
from histreg.study.measurements import (
    MEASUREMENTS,
    Measurement,
    bias_simulation,
    gaussian_fit,
)
from tests.study.made_up import Alone
from tests.study.toy_game import GAME, Toy, recorded, written


def measured(what, name=""):
    (outcome,) = Measurement.compute([Measurement(what, name)], Alone())
    return outcome


@pytest.fixture
def _even(monkeypatch):
    """A data set whose targets lie evenly on [0, 100], borders left out."""
    y = (np.arange(20_000) + 0.5) / 200
    data = DataSet(
        name="even",
        title="Even",
        homepage="",
        licence="",
        url=None,
        files=(),
        member="",
        sha256=None,
        n_rows=len(y),
        n_features=2,
        y_range=(0.0, 100.0),
        hidden=(4,),
        dropout=0.0,
        epochs=1,
        quirks="",
        parse=lambda _: Table(np.zeros((len(y), 2)), y, ("a", "b"), ""),
    )
    monkeypatch.setitem(DATASETS, "even", data)


# The label bias of even targets on [0, 100] in 100 bins, 10 of them padding on each
# side: the width is 1.25, and HL-OneBin is a quarter of it off. Checked in numpy.
LABEL_BIASES = {
    0.0: 0.3125,
    1 / 64: 0.297,
    1 / 16: 0.250,
    1 / 8: 0.188,
    1 / 4: 0.0738,
    1 / 2: 1.8e-3,
    4.0: 3.1e-3,
    8.0: 0.224,
    16.0: 2.46,
}


@pytest.mark.usefixtures("_even")
def test_even_targets_have_the_label_bias_of_the_table():
    outcome = measured("label-bias", "even")
    curves = outcome.curves
    found = dict(zip(curves["sigma_in_bins"], curves["label bias"], strict=True))
    assert outcome.metrics["width"] == 1.25
    for sigma, expected in LABEL_BIASES.items():
        # The table's digits, two or three.
        assert found[sigma] == pytest.approx(expected, rel=0.03)
    assert found[1.0] < 1e-6 and found[2.0] < 1e-6


@pytest.mark.usefixtures("_even")
def test_sigmas_run_over_eleven_powers_of_two_after_none():
    sigmas = measured("label-bias", "even").curves["sigma_in_bins"]
    assert sigmas == [0.0, *(2.0**power for power in range(-6, 5))]


def test_the_label_bias_of_repeated_targets_is_weighted_by_how_often_they_come():
    """Diabetes has ties; the mean is over all of its rows, by SciPy."""
    y, (low, high) = dataset("diabetes").load().y, dataset("diabetes").y_range
    assert len(np.unique(y)) < len(y)
    width = (high - low) / 80
    borders = low - 10 * width + width * np.arange(101)
    centers = (borders[1:] + borders[:-1]) / 2
    curves = measured("label-bias", "diabetes").curves
    for sigma, found in zip(curves["sigma_in_bins"], curves["label bias"], strict=True):
        if sigma == 0:
            index = np.floor((y - borders[0]) / width + 1e-9).astype(int)
            means = centers[index]
        else:
            cdf = norm.cdf((borders - y[:, None]) / (sigma * width))
            probs = np.diff(cdf) / (cdf[:, -1:] - cdf[:, :1])
            means = probs @ centers
        # Sums of a hundred products of order 100.
        assert found == pytest.approx(np.abs(means - y).mean(), rel=1e-9, abs=1e-12)


def test_the_density_of_targets_is_numpys_and_has_area_one():
    y = dataset("diabetes").load().y
    curves = measured("targets", "diabetes").curves
    density, borders = np.histogram(y, bins=30, density=True)
    np.testing.assert_allclose(curves["density"], density, rtol=1e-12)
    np.testing.assert_allclose(curves["borders"], borders, rtol=1e-12)
    area = np.sum(np.array(curves["density"]) * np.diff(curves["borders"]))
    assert area == pytest.approx(1)


def test_the_facts_of_diabetes_are_those_of_its_table():
    y = dataset("diabetes").load().y
    assert measured("targets", "diabetes").metrics == {
        "train rows": 354,  # 442 less a fifth, rounded down
        "test rows": 88,
        "features": 10,
        "low": 0,
        "high": 350,
        "smallest": 25,
        "largest": 346,
        "distinct": len(np.unique(y)),
    }


@pytest.fixture(scope="module")
def simulated():
    """Return Figure 13 with few of its points: it takes a second, not half a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurements, "N_DISCRETIZED", 501)
        patch.setattr(measurements, "N_TRUNCATED", 2_001)
        return bias_simulation("", Alone())


def discretization(outcome):
    curves = outcome.curves
    return np.array(curves["sigma_in_bins"]), np.array(curves["discretisation bias"])


def test_sigmas_are_even_in_their_logarithm(simulated):
    sigmas, _ = discretization(simulated)
    np.testing.assert_allclose(np.log(sigmas), np.linspace(-4, 2, 101), atol=1e-12)


def test_the_discretisation_bias_is_that_of_its_fourier_series(simulated):
    sigmas, biases = discretization(simulated)
    delta = np.linspace(0, 1, 501) - 0.5
    n = np.arange(1, 200)[:, None]
    signs = (-1.0) ** n / (np.pi * n)
    for sigma, bias in zip(sigmas, biases, strict=True):
        terms = np.sin(2 * np.pi * n * delta) * np.exp(-2 * (np.pi * n * sigma) ** 2)
        expected = np.abs((signs * terms).sum(axis=0)).mean()
        # What is left of sums of products of order one in float64.
        assert bias == pytest.approx(expected, rel=1e-9, abs=5e-16)


def test_the_discretisation_bias_is_negligible_from_the_sigmas_told(simulated):
    sigmas, biases = discretization(simulated)
    assert (biases[sigmas >= 0.88] < 1e-7).all()
    assert (biases[sigmas <= 0.85] > 1e-7).all()
    assert (biases[sigmas >= 1.30] <= 1e-15).all()


# Mean absolute bias by the padding in sigmas, of sigma 2; checked in numpy.
TRUNCATION_BIASES = {
    1.0: 0.148,
    1.5: 8.43e-2,
    2.0: 3.79e-2,
    2.5: 1.32e-2,
    3.0: 3.51e-3,
    3.5: 7.15e-4,
    4.0: 1.12e-4,
    4.5: 1.35e-5,
    5.0: 1.25e-6,
    5.5: 9.0e-8,
    6.0: 5.0e-9,
    7.0: 7.3e-12,
}


def test_the_truncation_bias_is_that_of_the_table(simulated):
    curves = simulated.curves
    found = dict(
        zip(curves["padding_in_sigmas"], curves["truncation bias"], strict=True)
    )
    assert list(found) == [1 + 0.5 * i for i in range(40)]
    for padding, expected in TRUNCATION_BIASES.items():
        # The table's digits; fewer points weigh its two ends more, by 1e-3.
        assert found[padding] == pytest.approx(expected, rel=0.01)
    assert all(bias < 5e-16 for padding, bias in found.items() if padding >= 8.5)


def test_the_fits_are_close_to_theory(simulated):
    told = simulated.metrics
    # (2 / pi^2) exp(-2 pi^2 sigma^2) is the first term of the series; the others,
    # which are there for small sigma, and the last few sigmas pull at it.
    assert told["discretisation factor"] == pytest.approx(2 / math.pi**2, rel=0.1)
    assert told["discretisation exponent"] == pytest.approx(-2 * math.pi**2, rel=0.01)
    # A truncated Gaussian's mean is off by its density at the end: exp(-x^2 / 2).
    assert told["truncation exponent"] == pytest.approx(-0.5, rel=0.02)


def test_the_surface_is_odd_and_has_slope_minus_one_for_small_sigma(simulated):
    surface = np.array(simulated.curves["surface bias"])  # (sigma, y)
    offsets = np.array(simulated.curves["surface offset"])
    sigmas = np.array(simulated.curves["surface sigma_in_bins"])
    assert surface.shape == (len(sigmas), len(offsets)) == (51, 51)
    assert (offsets[0], offsets[25], offsets[-1]) == (-0.5, 0.0, 0.5)
    # Kept in four digits.
    np.testing.assert_allclose(surface, -surface[:, ::-1], rtol=1e-3, atol=1e-15)
    np.testing.assert_allclose(surface[:, [0, 25, 50]], 0, atol=1e-15)
    middle = np.abs(offsets) < 0.4
    np.testing.assert_allclose(surface[0, middle], -offsets[middle], atol=1e-4)


@pytest.mark.slow
def test_the_whole_simulation_says_what_few_points_of_it_say(simulated):
    whole = bias_simulation("", Alone())
    for name in ("discretisation bias", "truncation bias"):
        np.testing.assert_allclose(
            whole.curves[name], simulated.curves[name], rtol=3e-3, atol=5e-16
        )
    assert np.shape(whole.curves["surface bias"]) == (51, 51)


def test_a_fit_finds_the_factor_and_exponent_it_was_made_of():
    x = torch.linspace(0, 2, 9, dtype=torch.float64)
    assert gaussian_fit(x, 0.3 * torch.exp(-4 * x**2)) == pytest.approx((0.3, -4.0))


def test_the_squared_difference_is_below_both_bounds():
    curves = {k: np.array(v) for k, v in measured("bound").curves.items()}
    epsilon = curves["epsilon"]
    assert ((epsilon > 0) & (epsilon < 1)).all()
    # q at -1 and h with epsilon there, the rest at 1: means 2 (1 - epsilon) apart.
    np.testing.assert_allclose(curves["squared difference"], 4 * (1 - epsilon) ** 2)
    np.testing.assert_allclose(curves["Pinsker"], -2 * np.log(epsilon))
    np.testing.assert_allclose(curves["Bretagnolle-Huber"], 4 * (1 - epsilon))
    smaller = np.minimum(curves["Pinsker"], curves["Bretagnolle-Huber"])
    bound = theory.prediction_bound(-np.log(epsilon), low=-1.0, high=1.0)
    np.testing.assert_allclose(bound, smaller)
    assert (curves["squared difference"] <= smaller).all()


def test_the_bounds_cross_where_the_appendix_says():
    told = measured("bound").metrics
    crossing = told["crossing epsilon"]
    assert crossing == pytest.approx(0.2032, abs=5e-5)
    assert -math.log(crossing) == pytest.approx(1.5936, abs=5e-5)
    # There both bounds are equal.
    assert -2 * math.log(crossing) == pytest.approx(4 * (1 - crossing), rel=1e-12)
    assert told["useless epsilon"] == pytest.approx(math.exp(-2))


def on_series(monkeypatch, y):
    """Return what naive forecasts are worth on a series of 30 moments a month."""

    def parse(content):  # noqa: ARG001
        x = np.random.default_rng(0).normal(size=(len(y), 7))
        x[:, -1] = y
        return Table(x, y.copy(), tuple("abcdefg"), "made")

    made = replace(
        SERIES["ETTh1"],
        name="made",
        files=(),  # so that there is no file to look for
        sha256=None,
        n_rows=len(y),
        rows_a_month=30,
        parse=parse,
    )
    monkeypatch.setitem(SERIES, "made", made)
    return measured("naive", "made")


def test_naive_forecasts_of_what_grows_steadily_are_off_by_the_steps(monkeypatch):
    """By hand: of y = t the last value is h behind, the mean of 96 h + 47.5."""
    outcome = on_series(monkeypatch, np.arange(620.0))
    deviation = math.sqrt((360**2 - 1) / 12)  # of 0 to 359, the months of train
    h = np.arange(1, 97)
    # The 25 windows that forecast within the test part, of 480 to 599.
    ahead = np.concatenate([np.arange(t, t + 96) for t in range(480, 505)]) - 179.5
    expected = {}
    for how, error in (
        ("last value", h),
        ("mean of inputs", h + 47.5),
        ("zero", ahead),
    ):
        expected[f"{how}, test MSE"] = np.mean((error / deviation) ** 2)
        expected[f"{how}, test MAE"] = np.mean(error / deviation)
    # Inputs are in float32, of order 4, and differ by a hundredth.
    assert outcome.metrics == pytest.approx(expected, rel=1e-5)
    assert outcome.data_sha256 == "made"


def test_naive_forecasts_of_the_level_of_train_are_all_right(monkeypatch):
    """A year at -1 and 1 in turn, which then is 0, the mean: no error is left."""
    y = np.where(np.arange(620) % 2, 1.0, -1.0)
    y[360:] = 0.0
    told = on_series(monkeypatch, y).metrics
    assert set(told.values()) == {0.0}
    assert len(told) == 6


@pytest.fixture
def _toy(tmp_path, monkeypatch):
    """A toy game, of which 100 frames are replayed."""
    monkeypatch.setenv("HISTREG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HISTREG_DATA", str(tmp_path))
    monkeypatch.setitem(GAMES, "toy", GAME)
    monkeypatch.setattr(measurements, "replay_of", partial(replay_of, emulator_of=Toy))
    monkeypatch.setattr(measurements, "N_FRAMES", 100)
    monkeypatch.setattr(replays, "TIME_LIMIT", 25)
    monkeypatch.setattr(states, "KNOWN", 0.99)  # or all of it were cut off


@pytest.mark.usefixtures("_toy")
def test_a_replay_is_told_by_its_resets_its_rewards_and_its_parts(tmp_path):
    content = recorded(130, time_limit=25)
    written(tmp_path, content)
    outcome = measured("replays", "toy")
    told, curves = outcome.metrics, outcome.curves
    # They last 20, 27, 24, 21 actions: the second is cut off by the time limit.
    assert curves["start"] == [0, 22, 48, 74, 97]
    assert curves["stop"] == [21, 48, 73, 96, 100]
    assert curves["is over"] == [1, 0, 1, 1, 0]
    assert [at for at in range(100) if content[at] == ord("R")] == curves["start"]
    assert told["frames"] == 100 and told["episodes"] == 5
    assert told["resets after the end"] == 3
    assert told["resets at the time limit"] == 1
    assert told["test episodes"] == 1 and told["train episodes"] == 4
    assert told["test states"] == 20
    # The second action scores 1, the third -0.5; each is one letter of the file.
    assert (
        told["rewarded share"] == sum(letter in b"bc" for letter in content[:100]) / 100
    )
    ended = [content[a:b] for a, b in ((0, 21), (48, 73), (74, 96))]
    points = sum(part.count(b"b") - part.count(b"c") / 2 for part in ended)
    assert told["mean score"] == pytest.approx(points / 3)
    assert told["least return"] < told["mean return"] < told["largest return"]
    assert outcome.data_sha256 == GAME.actions(n_frames=100).sha256


@pytest.mark.usefixtures("_toy")
def test_a_replay_that_loses_step_is_no_measurement(tmp_path):
    content = recorded(130, time_limit=25)
    written(tmp_path, content[:5] + content[6:])
    with pytest.raises(OutOfStepError, match="the replay of Toy must keep step"):
        measured("replays", "toy")


@pytest.mark.parametrize("what", MEASUREMENTS)
def test_json_brings_a_measurement_back(what):
    run = Measurement(what, "pole")
    assert Measurement.from_json(run.to_json()) == run


def test_a_measurement_moves_to_another_data_set_if_it_is_on_one():
    assert Measurement("targets", "pole").moved_to("bike").dataset == "bike"
    assert Measurement("bias").moved_to("bike") == Measurement("bias")


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="what must be one of 'label-bias'"):
        Measurement("weight")
