"""The CRPS at borders, against the exact one."""

import torch

from histreg import Bins, Histogram
from histreg.tabular.border_scores import BorderScore


def test_it_is_near_the_exact_score():
    torch.manual_seed(0)
    bins = Bins.around(-1.0, 1.0, n_bins=200)
    logits = -0.5 * ((bins.centers - torch.randn(50, 1)) / 0.4) ** 2
    y = torch.rand(50, dtype=torch.float64) * 2 - 1
    d = Histogram(bins, logits=logits.double())
    score = BorderScore(bins)(d.probs, y)
    width = bins.widths.max()
    torch.testing.assert_close(score, d.crps(y), rtol=0, atol=width.item())


def test_a_point_mass_has_the_distance_in_whole_bins():
    bins = Bins(torch.arange(0.0, 6.0))
    probs = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0]])
    score = BorderScore(bins)
    # Between the bin of the mass, 1 to 2, and that of y lie one border and three.
    assert score(probs, torch.tensor([2.5])).item() == 1
    assert score(probs, torch.tensor([4.5])).item() == 3
    assert score(probs, torch.tensor([1.5])).item() == 0


def test_tails_count_as_none():
    bins = Bins.of(torch.randn(500).exp(), tails="gpd")
    assert BorderScore(bins).widths.isfinite().all()
