import pytest
import torch

from histreg.bins import Bins
from histreg.study.methods import (
    HLGauss,
    HLGaussAnnealed,
    HLOneBin,
    HLProjected,
    HLUniform,
)
from histreg.study.methods.histograms import mean_of


@pytest.mark.parametrize(
    "method",
    [HLGauss(), HLOneBin(), HLUniform(0.1), HLProjected()],
    ids=lambda m: m.name,
)
def test_the_bins_are_those_of_the_tabular_preset(method):
    assert method.bins(0.0, 100.0) == Bins.preset("tabular", 0.0, 100.0)


def test_the_targets_of_pole_lie_on_borders_unless_the_grid_is_shifted():
    pole = torch.arange(0.0, 101.0, 10.0, dtype=torch.float64)
    borders = HLOneBin().bins(0.0, 100.0).borders
    assert torch.isin(pole, borders).all()
    centers = HLOneBin(shift_in_bins=0.5).bins(0.0, 100.0).centers
    assert (pole[:, None] - centers).abs().min(dim=1).values.max().item() < 1e-12


def test_the_mean_is_that_of_the_centers_and_ignores_what_is_lacking_of_one():
    bins = Bins.uniform(1922.0, 2011.0, 4)
    probs = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    assert mean_of(probs, bins).item() == pytest.approx(
        (probs * bins.centers).sum().item(), rel=1e-14
    )
    rounded = probs * (1 - 1e-6)
    # Relative to the middle, 1966.5, the loss of 1e-6 is one of 2e-5, not of 2e-3.
    assert abs(mean_of(rounded, bins) - mean_of(probs, bins)).item() < 3e-5


def test_cross_entropies_over_other_bins_are_trained_apart():
    assert HLGauss().group == HLOneBin().group
    assert HLGauss().group != HLGauss(n_bins=50, padding_in_bins=5.0).group


# --- Targets that narrow


@pytest.mark.parametrize("epochs", [5, 20, 150, 500, 1000])
@pytest.mark.parametrize("final", [2.0**-6, 0.5, 4.0])
def test_annealing_starts_at_eight_bins_and_narrows_by_equal_factors(epochs, final):
    method = HLGaussAnnealed(final)
    sigmas = [method.at(e, epochs).sigma_in_bins for e in range(1, epochs + 1)]
    n = epochs // 5  # a fifth of the epochs, in this list of whole numbers
    # The specification's formula: multiplied by tau after each of the first epochs.
    tau = (final / 8) ** (1 / n)
    expected = [8 * tau ** min(i, n) for i in range(epochs)]
    assert sigmas[0] == 8
    assert sigmas == pytest.approx(expected, rel=1e-12)
    assert set(sigmas[n:]) == {final}


@pytest.mark.parametrize("epochs", [2, 3, 4])
def test_annealing_of_few_epochs_takes_one(epochs):
    method = HLGaussAnnealed(0.5)
    sigmas = [method.at(e, epochs).sigma_in_bins for e in range(1, epochs + 1)]
    assert sigmas == [8.0] + [0.5] * (epochs - 1)


def test_losses_that_are_reported_are_against_the_final_target():
    assert HLGaussAnnealed(0.3).at(0, 10).sigma_in_bins == pytest.approx(0.3)


def test_targets_that_narrow_are_trained_apart_from_those_that_stay():
    assert HLGaussAnnealed().group != HLGauss().group


def test_annealing_takes_a_part_of_the_epochs():
    with pytest.raises(ValueError, match="annealed_share must lie between 0 and 1"):
        HLGaussAnnealed(annealed_share=2.0)
