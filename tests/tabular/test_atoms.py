"""Targets that take few values: cells, bins and the mass at each value."""

import numpy as np
import pytest
import torch

from histreg import Bins, Histogram, HistogramRegressor, InputError, metrics
from histreg.tabular.atoms import LEAST_UNSEEN, MOST_ATOMS, Atoms
from histreg.tabular.border_scores import BorderScore
from tests.tabular.examples import counts


def atoms_of(values, unseen=0.1):
    atoms = Atoms(len(values))
    atoms.values[:] = torch.tensor(values)
    atoms.unseen.fill_(unseen)
    return atoms


def test_values_that_repeat_are_found_with_the_share_of_others():
    bins = Bins([-1.0, 5.0, 11.0])
    y = torch.tensor([0.0] * 30 + [1.0] * 9 + [3.5] * 30 + [7.0])
    atoms = Atoms.of(y, bins)
    assert atoms.values.tolist() == [0.0, 1.0, 3.5, 7.0]
    assert atoms.unseen == pytest.approx(1 / 70)  # one of 70 targets occurs once
    assert Atoms.of(y[:-1], bins).unseen == LEAST_UNSEEN


@pytest.mark.parametrize(
    "y",
    [
        torch.rand(100),  # no value repeats
        torch.zeros(100),  # one value
        torch.arange(MOST_ATOMS + 1.0).repeat(10) / MOST_ATOMS,
        torch.arange(20.0).repeat(4) / 20,  # four rows for each value
        torch.cat([torch.zeros(93), torch.rand(7)]),  # 7 % occur once
        torch.tensor([0.0, 1.0, 3.0] * 50),  # beyond the bins
        0.5 + torch.tensor([0, 1e-13], dtype=torch.float64).repeat(50),
    ],
    ids=["all", "one", "many", "rare", "unseen", "beyond", "near"],
)
def test_other_targets_have_no_atoms(y):
    assert Atoms.of(y, Bins([-0.5, 0.5, 1.5])) is None


def test_bins_with_tails_have_no_atoms():
    y = torch.tensor([0.0, 1.0] * 50, dtype=torch.float64)
    heavy = torch.cat([y, torch.linspace(2, 9, 200).double()])
    assert Atoms.of(y, Bins.of(heavy, tails="exponential")) is None


def test_mass_goes_to_the_nearest_value():
    bins = Bins([0.0, 2.0, 4.0])
    atoms = atoms_of([1.0, 2.0, 3.5])
    assert atoms.cells(bins).tolist() == [0.0, 1.5, 2.75, 4.0]
    probs = torch.tensor([[0.6, 0.4]], dtype=torch.float64)
    # Densities are 0.3 and 0.2.
    expected = [[0.45, 0.15 + 0.15, 0.25]]
    torch.testing.assert_close(
        probs @ atoms.shares(bins), torch.tensor(expected).double()
    )


def test_the_share_of_unseen_values_stays_between_them():
    atoms = atoms_of([1.0, 2.0, 3.5], unseen=0.1)
    cells = torch.tensor([[0.5, 0.2, 0.3]], dtype=torch.float64)
    expected = [[0.025, 0.45, 0.035, 0.18, 0.025, 0.27, 0.015]]
    in_bins = atoms.in_bins(cells)
    torch.testing.assert_close(in_bins, torch.tensor(expected).double())
    bins = atoms.bins(Bins([0.0, 2.0, 4.0]))
    assert bins.n_bins == 7 and (bins.low, bins.high) == (0.0, 4.0)
    d = Histogram(bins, probs=in_bins)
    values = atoms.values
    at = d.cdf(values[:, None] + 1e-3) - d.cdf(values[:, None] - 1e-3)  # (3, 1)
    torch.testing.assert_close(at[:, 0], in_bins[0, 1::2], atol=1e-4, rtol=0)
    torch.testing.assert_close(bins.centers[1::2], values, atol=1e-4, rtol=0)
    # P(y <= value) holds the mass at the value, and a density at it is that of its bin.
    below = d.cdf(values[:, None])[:, 0] - d.cdf(values[:, None] - 1e-3)[:, 0]
    torch.testing.assert_close(below, at[:, 0], atol=2e-4, rtol=0)
    density = d.log_prob(values[:, None])[:, 0].exp()
    torch.testing.assert_close(density, in_bins[0, 1::2] / bins.widths[1::2])
    assert d.mode.item() == pytest.approx(1.0, abs=1e-4)
    inside = torch.stack([bins.borders[1:-1:2], bins.borders[2::2]], 1).flatten()
    rounded = atoms.rounded(torch.cat([inside, torch.tensor([0.5, 1.9, 3.9]).double()]))
    assert rounded.tolist() == [
        1.0,
        1.0,
        2.0,
        2.0,
        3.5,
        3.5,
        0.5,
        *rounded[7:].tolist(),
    ]
    torch.testing.assert_close(rounded[7:], torch.tensor([1.9, 3.9]).double())


def test_the_score_is_the_crps_of_points():
    values = torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64)
    atoms = atoms_of(values.tolist())
    networks = Bins([-1.0, 2.0, 5.0])
    score = BorderScore(Bins(atoms.cells(networks)), values)
    p = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.float64).expand(3, -1)
    # E|Y - y| - E|Y - Y'| / 2 by hand, for the three values.
    between = 0.2 * 0.5 * 1 + 0.2 * 0.3 * 4 + 0.5 * 0.3 * 3
    expected = [0.5 + 1.2 - between, 0.2 + 0.9 - between, 0.8 + 1.5 - between]
    torch.testing.assert_close(score(p, values), torch.tensor(expected).double())


def test_values_must_be_rising_and_shares_be_shares():
    atoms_of([1.0, 2.0]).check()
    with pytest.raises(InputError, match="values of a blend's atoms must be finite"):
        atoms_of([2.0, 1.0]).check()
    with pytest.raises(InputError, match="share of unseen values must lie between"):
        atoms_of([1.0, 2.0], unseen=1.0).check()


def test_counts_are_predicted_as_counts(tmp_path):
    X, y = counts(600, seed=0)
    X_new, y_new = counts(2_000, seed=1)
    options = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}
    model = HistogramRegressor(**options).fit(X, y)
    d = model.predict_dist(X_new)
    # What is read is a count, but for the few that lie between.
    quantiles = model.predict_quantiles(X_new, alpha=[0.25, 0.5, 0.75])
    assert (quantiles == np.round(quantiles)).mean() > 0.99
    at_most = [d.cdf(torch.full((len(X_new),), float(k))) for k in range(3)]
    for k in range(3):  # P(y > k) is that of more than k, also at the count itself
        above = model.predict_dist(X_new).prob(k + 0.5, torch.inf)
        torch.testing.assert_close(1 - at_most[k], above, atol=2e-3, rtol=0)
    spread = HistogramRegressor(**options, bins=model.model_.objective.bins[0])
    crps = [
        one.predict_dist(X_new).crps(torch.tensor(y_new)).mean().item()
        for one in (model, spread.fit(X, y))
    ]
    assert crps[0] < 0.995 * crps[1]
    lower, upper = model.predict_interval(X_new, 0.9)
    assert 0.88 < ((lower <= y_new) & (y_new <= upper)).mean() < 0.99  # of whole counts
    model.save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    assert np.array_equal(again.predict_dist(X_new).probs, d.probs)


def test_calibration_takes_half_of_the_mass_at_a_value():
    atoms = atoms_of([1.0, 2.0, 3.5])
    bins = atoms.bins(Bins([0.0, 2.0, 4.0]))
    y = torch.tensor([[1.0], [1.5], [3.5]], dtype=torch.float64)
    assert torch.equal(atoms.centered(y)[1], y[1])
    torch.testing.assert_close(atoms.centered(y)[[0, 2], 0], bins.centers[[1, 5]])
    d = Histogram(bins, probs=atoms.in_bins(torch.tensor([[0.5, 0.2, 0.3]]).double()))
    # Of the 0.1 that is at no value, 0.025 lies below the first.
    assert metrics.pit(d, [1.0]).item() == pytest.approx(0.025 + 0.45 / 2)
    assert metrics.pit(d, [1.5]).item() == pytest.approx(
        d.cdf(torch.tensor(1.5)).item()
    )


def test_a_calibrated_distribution_of_counts_is_as_good():
    X, y = counts(600, seed=0)
    options = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}
    model = HistogramRegressor(**options).fit(X, y).calibrate(*counts(400, seed=1))
    X_new, y_new = counts(2_000, seed=2)
    plain = model.predict_dist(X_new).crps(torch.tensor(y_new)).mean()
    calibrated = model.predict_calibrated(X_new).histogram()
    assert calibrated.crps(torch.tensor(y_new)).mean() < 1.03 * plain
    lower, upper = model.predict_interval(X_new, 0.9)
    assert 0.9 <= ((lower <= y_new) & (y_new <= upper)).mean() < 0.99


def test_several_targets_share_their_number_of_bins_and_have_no_atoms():
    X, y = counts(300, seed=0)
    options = {"hidden_layer_sizes": (8,), "max_iter": 2, "random_state": 0}
    model = HistogramRegressor(**options).fit(X, np.stack([y, X[:, 0]], axis=1))
    assert all(blend.atoms is None for blend in model.model_.blends)
