"""Targets that take few values: cells, bins and the mass at each value."""

import numpy as np
import pytest
import torch
from scipy import stats

from histreg import Bins, Histogram, HistogramRegressor, InputError, metrics
from histreg.tabular.atoms import LEAST_UNSEEN, MOST_ATOMS, EndAtoms, ValueAtoms
from histreg.tabular.border_scores import BorderScore
from tests import damage
from tests.tabular.examples import counts, spending


def atoms_of(values, unseen=0.1):
    atoms = ValueAtoms(len(values))
    atoms.values[:] = torch.tensor(values)
    atoms.unseen.fill_(unseen)
    return atoms


def test_values_that_repeat_are_found_with_the_share_of_others():
    bins = Bins([-1.0, 5.0, 11.0])
    y = torch.tensor([0.0] * 30 + [1.0] * 9 + [3.5] * 30 + [7.0])
    atoms = ValueAtoms.of(y, bins)
    assert atoms.values.tolist() == [0.0, 1.0, 3.5, 7.0]
    assert atoms.unseen == pytest.approx(1 / 70)  # one of 70 targets occurs once
    assert ValueAtoms.of(y[:-1], bins).unseen == LEAST_UNSEEN


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
    assert ValueAtoms.of(y, Bins([-0.5, 0.5, 1.5])) is None


def test_bins_with_tails_have_no_atoms():
    y = torch.tensor([0.0, 1.0] * 50, dtype=torch.float64)
    heavy = torch.cat([y, torch.linspace(2, 9, 200).double()])
    assert ValueAtoms.of(y, Bins.of(heavy, tails="exponential")) is None


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


def test_the_randomised_transform_is_uniform_where_y_has_mass(generator):
    atoms = atoms_of([0.0, 1.0, 2.0])
    bins = atoms.bins(Bins([-1.0, 1.0, 3.0]))
    probs = atoms.in_bins(torch.tensor([[0.5, 0.2, 0.3]]).double())
    d = Histogram(bins, probs=probs.expand(4_000, -1))
    drawn = torch.multinomial(probs, 4_000, replacement=True, generator=generator)[0]
    shares = torch.rand(4_000, dtype=torch.float64, generator=generator)
    y = bins.borders[drawn] + shares * bins.widths[drawn]
    pit = metrics.pit(d, y, generator=generator)
    # Beyond this in one of 10,000 sets of draws, if it is uniform.
    assert stats.kstest(pit.numpy(), "uniform").pvalue > 1e-4
    assert stats.kstest(metrics.pit(d, y).numpy(), "uniform").pvalue < 1e-9


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


EVEN = Bins.uniform(-3.0, 10.0, 13)  # of width 1
AT_ZERO = torch.cat([torch.zeros(20), torch.tensor([0.4, 0.8]), 1.5 + torch.rand(78)])


def test_an_end_has_an_atom_if_many_targets_are_there():
    atoms = EndAtoms.of(AT_ZERO, EVEN)
    assert (atoms.n_low, atoms.n_high) == (4, 0)  # up to one bin beside zero
    assert atoms.values.tolist() == [0.0]
    assert atoms.unseen.tolist() == pytest.approx([2 / 22])
    assert atoms.width == 1.0
    finer = EndAtoms.of(AT_ZERO, EVEN, n_divided=4)
    assert (finer.n_low, finer.n_high, finer.width) == (16, 0, 1.0)
    upper = EndAtoms.of(7.0 - AT_ZERO, EVEN)
    assert (upper.n_low, upper.n_high, upper.values.tolist()) == (0, 4, [7.0])
    both = EndAtoms.of(torch.cat([AT_ZERO, torch.full((20,), 6.5)]), EVEN)
    assert (both.n_low, both.n_high) == (4, 5)  # the first border at 5.5 or below is 5
    assert both.values.tolist() == [0.0, 6.5] and len(both) == 2
    assert both.unseen.tolist() == pytest.approx([2 / 22, LEAST_UNSEEN])


@pytest.mark.parametrize(
    ("y", "bins"),
    [
        (torch.linspace(0, 5, 100), EVEN),
        (torch.cat([torch.zeros(9), torch.linspace(1, 5, 20)]), EVEN),  # nine
        (torch.cat([torch.zeros(10), torch.linspace(1, 5, 200)]), EVEN),  # 4.8 %
        (torch.zeros(100), EVEN),
        (AT_ZERO, Bins.uniform(0.0, 10.0, 10)),  # no bin below
        (AT_ZERO + 20, EVEN),
        (AT_ZERO, Bins.uniform(-1.0, 3.0, 2)),  # no bin would be left
        (1e9 * torch.ones(100).double() + AT_ZERO.double() * 1e-3, EVEN),
        (AT_ZERO.double() + 1e9, Bins.uniform(1e9 - 1, 1e9 + 3, 40)),
        (AT_ZERO, Bins.of(AT_ZERO.double().exp(), tails="exponential")),
    ],
    ids=["none", "nine", "few", "all", "end", "out", "two", "beyond", "near", "tails"],
)
def test_other_ends_have_no_atom(y, bins):
    assert EndAtoms.of(y, bins) is None


def test_mass_near_an_end_goes_to_its_value():
    atoms = EndAtoms.of(torch.cat([AT_ZERO, torch.full((20,), 6.5)]), EVEN)
    probs = torch.arange(1.0, 14.0, dtype=torch.float64)[None] / 91
    bins, in_bins = atoms.bins(EVEN), atoms.in_bins(probs)
    kept = EVEN.borders[4:9]  # 1 to 5
    assert bins.n_bins == 13 - 4 - 5 + 6 == in_bins.shape[1]
    assert bins.borders[[0, -1]].tolist() == [-3.0, 10.0]
    assert torch.equal(bins.borders[3:-3], kept)
    torch.testing.assert_close(in_bins.sum(), torch.tensor(1.0).double())
    d = Histogram(bins, probs=in_bins)

    def below(y):
        return d.cdf(torch.tensor(y, dtype=torch.float64)).item()

    inner = (1 - LEAST_UNSEEN) * 2 / 22  # of the mass near zero, for 0.4 and 0.8
    at = below(0.0) - below(-1e-3)
    # A ten-thousandth of the bin of a value lies above it.
    assert at == pytest.approx((10 / 91) * (1 - LEAST_UNSEEN - inner), rel=2e-4)
    assert below(1.0) - below(1e-3) == pytest.approx(10 / 91 * inner, abs=1e-4)
    assert below(5.0) == pytest.approx(36 / 91)  # as before
    assert 1 - below(6.5) == pytest.approx(55 / 91 * LEAST_UNSEEN, abs=1e-4)
    assert atoms.rounded(d.icdf(torch.tensor([[0.05], [0.9]])))[:, 0].tolist() == [
        0.0,
        6.5,
    ]


def test_the_ends_of_a_mirrored_target_are_mirrored():
    atoms = EndAtoms.of(AT_ZERO.double(), EVEN)
    mirror = Bins(-EVEN.borders.flip(0))
    mirrored = EndAtoms.of(-AT_ZERO.double(), mirror)
    probs = torch.rand(5, 13, dtype=torch.float64).softmax(dim=1)
    expected = atoms.in_bins(probs).flip(1)
    torch.testing.assert_close(mirrored.in_bins(probs.flip(1)), expected)
    borders = -atoms.bins(EVEN).borders.flip(0)
    # The bin of a value lies below it, so that P(y <= value) has its mass.
    torch.testing.assert_close(
        mirrored.bins(mirror).borders, borders, atol=2e-4, rtol=0
    )


def brier(probability, happened):
    return np.square(np.asarray(probability) - happened).mean()


def test_a_target_with_many_zeros_is_predicted_to_be_zero(tmp_path):
    X, y = spending(600, seed=0)
    X_new, y_new = spending(2_000, seed=1)
    options = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}
    model = HistogramRegressor(**options).fit(X, y)
    spread = HistogramRegressor(**options, bins=model.model_.objective.bins[0])
    spread.fit(X, y)
    d, smooth = model.predict_dist(X_new), spread.predict_dist(X_new)
    zero = torch.zeros(len(X_new), dtype=torch.float64)
    assert (d.cdf(zero - 1e-2) < LEAST_UNSEEN).all()  # nothing below
    assert brier(d.cdf(zero), y_new == 0) < 0.9 * brier(smooth.cdf(zero), y_new == 0)
    assert d.cdf(zero).mean().item() == pytest.approx((y_new == 0).mean(), abs=0.05)
    truth = torch.tensor(y_new)
    assert d.crps(truth).mean() < smooth.crps(truth).mean()
    assert (model.predict_quantiles(X_new, alpha=[0.05]) == 0).mean() > 0.5
    lower, upper = model.predict_interval(X_new, 0.9)
    assert 0.88 < ((lower <= y_new) & (y_new <= upper)).mean() < 0.98
    model.save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    assert np.array_equal(again.predict_dist(X_new).probs, d.probs)


def test_a_calibrated_model_of_a_target_with_many_zeros_is_saved(tmp_path):
    X, y = spending(600, seed=0)
    options = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}
    model = HistogramRegressor(**options).fit(X, y).calibrate(*spending(400, seed=1))
    X_new, y_new = spending(2_000, seed=2)
    lower, upper = model.predict_interval(X_new, 0.9)
    assert 0.87 <= ((lower <= y_new) & (y_new <= upper)).mean() < 0.98
    model.save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    assert np.array_equal(again.predict_interval(X_new, 0.9), (lower, upper))


@pytest.mark.parametrize(
    ("end_atoms", "width", "sentence"),
    [
        ([1000, 0], 1.0, "must have size|must leave some of the"),
        ([0, 0], 1.0, "blend.0.atoms"),
        ([3], 1.0, "'end_atoms' must be two non-negative whole numbers"),
        (None, 0.0, "width of a blend's end atoms must be positive"),
    ],
)
def test_damaged_ends_are_refused(tmp_path, end_atoms, width, sentence):
    X, y = spending(200, seed=0)
    options = {"hidden_layer_sizes": (8,), "max_iter": 2, "random_state": 0}
    HistogramRegressor(**options, n_estimators=2).fit(X, y).save(tmp_path / "model")
    described, tensors = damage.read(tmp_path / "model")
    described["end_atoms"] = end_atoms or described["end_atoms"]
    tensors["blend.0.atoms.width"].mul_(width)
    damage.write(tmp_path / "model", described, tensors)
    with pytest.raises(InputError, match=sentence):
        HistogramRegressor.load(tmp_path / "model")
