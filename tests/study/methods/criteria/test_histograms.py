import pytest
import torch

from histreg import targets as target_functions
from histreg import theory
from histreg.bins import Bins
from histreg.study.methods import (
    HLGauss,
    HLGaussAnnealed,
    HLOneBin,
    HLProjected,
    HLUniform,
)
from histreg.study.methods.criteria.criterion import Targets
from histreg.study.methods.criteria.histograms import TargetTables


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


# --- The smallest loss


def criterion_of(methods, y, epochs=1):
    kept = Targets(y, 0.0, 100.0, seed=1, dtype=torch.float64, epochs=epochs)
    criterion = methods[0].criterion(methods, kept)
    criterion.start_epoch(0, torch.arange(len(y)))
    return criterion


def test_the_floor_is_the_entropy_of_the_targets():
    y = torch.linspace(30.0, 70.0, 401, dtype=torch.float64)
    methods = [HLGauss(), HLGauss(2.0), HLOneBin()]
    floor = criterion_of(methods, y).floor(slice(0, len(y)))
    # The formula is good to 1e-4 for sigmas of a bin or more.
    assert floor[0].item() == pytest.approx(theory.entropy_floor(1.0), abs=1e-4)
    assert floor[1].item() == pytest.approx(theory.entropy_floor(2.0), abs=1e-4)
    assert floor[2].item() == 0


def test_the_loss_above_the_floor_is_the_divergence(generator):
    y = torch.rand(30, generator=generator, dtype=torch.float64) * 100
    methods = [HLGauss(), HLOneBin(), HLUniform(0.1)]
    criterion = criterion_of(methods, y)
    logits = torch.randn(3, 30, 100, generator=generator, dtype=torch.float64)
    batch = slice(0, 30)
    above = criterion.loss(logits, batch) - criterion.floor(batch)
    for i, method in enumerate(methods):
        target_probs = method.target_probs(y, method.bins(0.0, 100.0))
        divergence = torch.nn.functional.kl_div(
            logits[i].log_softmax(dim=-1), target_probs, reduction="batchmean"
        )
        assert above[i].item() == pytest.approx(divergence.item(), rel=1e-12)


def test_the_tables_of_an_epoch_are_those_of_its_sigma(generator):
    y = torch.rand(30, generator=generator, dtype=torch.float64) * 100
    methods = [HLGaussAnnealed(0.5), HLGaussAnnealed(2.0, first_sigma_in_bins=4.0)]
    narrowing = criterion_of(methods, y, epochs=10)
    order = torch.randperm(30, generator=generator)
    logits = torch.randn(2, 8, 100, generator=generator, dtype=torch.float64)
    batch = slice(4, 12)
    # 0 in between, as losses are recorded in between; two epochs narrow, then none.
    for epoch, sigmas in (
        (1, (8.0, 4.0)),
        (0, (0.5, 2.0)),
        (2, (2.0, 8.0**0.5)),
        (3, (0.5, 2.0)),
        (10, (0.5, 2.0)),
    ):
        fixed = criterion_of([HLGauss(sigma) for sigma in sigmas], y)
        found, expected = torch.empty_like(logits), torch.empty_like(logits)
        for criterion, out in ((narrowing, found), (fixed, expected)):
            criterion.start_epoch(epoch, order)
            criterion.gradient(logits, batch, out)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
