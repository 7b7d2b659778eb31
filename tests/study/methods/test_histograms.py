import pytest
import torch

from histreg import targets as target_functions
from histreg.bins import Bins
from histreg.study.methods import HLGauss, HLOneBin, HLProjected, HLUniform, Targets
from histreg.study.methods.histograms import TargetTables, mean_of


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


def test_tables_hold_the_target_of_each_row():
    y = torch.tensor([3.0, 7.0, 3.0, 100.0], dtype=torch.float64)
    methods = [HLGauss(2.0), HLProjected()]
    tables = TargetTables(methods, Targets(y, 0.0, 100.0, seed=1))
    tables.start_epoch(torch.tensor([3, 0, 1, 2]))
    found = tables.of(slice(1, 4))  # rows 0, 1, 2
    bins = Bins.preset("tabular", 0.0, 100.0)
    gauss = target_functions.gaussian(y[:3], bins, sigma=2 * bins.width)
    projected = target_functions.projected(y[:3], bins)
    torch.testing.assert_close(found, torch.stack([gauss, projected]).float())
    assert tables.tables.shape == (2, 3, 100)  # three distinct y


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
