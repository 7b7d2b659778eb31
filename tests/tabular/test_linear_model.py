"""Ridge regression: against normal equations, and its choice of the penalty."""

import numpy as np
import pytest
import torch

from histreg.tabular.linear_model import (
    MOST_FEATURES,
    PENALTIES,
    fit_linear,
)
from histreg.tabular.simple_models import SimpleInputs, folds_of


def rows(n=60, d=3, n_codes=(4,), seed=0):
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(n, d, dtype=torch.float64, generator=generator)
    numbers[::7, 0] = torch.nan
    codes = torch.stack(
        [torch.randint(k, (n,), generator=generator) for k in n_codes], dim=1
    )
    y = 2 * numbers[:, 1] - numbers[:, 2] + codes[:, 0] + 0.1 * numbers[:, 1] ** 2
    y = y + torch.randn(n, dtype=torch.float64, generator=generator)
    scaled = numbers.nan_to_num().tanh().float()
    return SimpleInputs(numbers, scaled, codes), y


def ridge_by_hand(features, y, weight):
    """Return coefficients and intercept: every penalty, its hat matrix, the best."""
    total, n = weight.sum(), len(y)
    mean, y_mean = weight @ features / total, weight @ y / total
    centered, rest = features - mean, y - y_mean
    root = np.sqrt(weight / total)[:, None]
    best = (np.inf, None)
    for penalty in PENALTIES.numpy():
        a = root * centered
        inverse = np.linalg.inv(a.T @ a + penalty * np.eye(a.shape[1]))
        hat = a @ inverse @ a.T
        left = ((root[:, 0] * rest - hat @ (root[:, 0] * rest)) ** 2).sum()
        share = 1 - (np.trace(hat) + 1) / n
        if share > 0 and left / share**2 < best[0]:
            best = (left / share**2, inverse @ a.T @ (root[:, 0] * rest))
    return best[1], y_mean - mean @ best[1]


@pytest.mark.parametrize("weighted", [False, True])
def test_each_fold_is_solved_as_by_hand(weighted):
    inputs, y = rows()
    generator = torch.Generator().manual_seed(1)
    folds = folds_of(len(y), generator)
    weight = torch.rand(len(y), generator=generator) if weighted else torch.ones(60)
    model, held_out = fit_linear(inputs, y, weight, folds, (4,))
    features = model.features(inputs).numpy()
    no_scores = np.r_[0:3, 6:10]
    slopes = {}
    for used in (np.arange(10), no_scores):
        expected, found = np.empty(len(y)), np.zeros((5, 10))
        for fold in range(5):
            others = (folds != fold).numpy()
            found[fold, used], start = ridge_by_hand(
                features[others][:, used],
                y.numpy()[others],
                weight.double().numpy()[others],
            )
            expected[~others] = features[~others] @ found[fold] + start
        error = (weight.numpy() * (expected - y.numpy()) ** 2).sum()
        slopes[error] = found.mean(axis=0), expected
    slope, expected = slopes[min(slopes)]
    np.testing.assert_allclose(held_out, expected, rtol=1e-6)
    np.testing.assert_allclose(model.weight, slope, atol=1e-6)


def test_predictions_stay_near_the_targets():
    inputs, y = rows()
    model, _ = fit_linear(inputs, y, torch.ones(60), folds_of(60, None), (4,))
    model.weight.mul_(1e6)
    span = y.max() - y.min()
    assert model(inputs).max() <= y.max() + 0.11 * span
    assert model(inputs).min() >= y.min() - 0.11 * span


def test_a_prediction_does_not_depend_on_the_rows_beside_it(generator):
    numbers = torch.randn(300, 77, dtype=torch.float64, generator=generator)
    inputs = SimpleInputs(numbers, torch.zeros(300, 0), torch.zeros(300, 0).long())
    y, weight = numbers[:, :5].sum(dim=1), torch.ones(300)
    model = fit_linear(inputs, y, weight, folds_of(300, generator), ()).model
    whole = model(inputs)
    for n in (1, 2, 7, 100):
        assert torch.equal(model(inputs.at(torch.arange(9, 9 + n))), whole[9 : 9 + n])


def test_scales_of_the_largest_numbers_are_finite(generator):
    y = torch.randn(100, dtype=torch.float64, generator=generator)
    rare = torch.zeros(100, dtype=torch.float64)
    wide = torch.full((100,), 1.7e308, dtype=torch.float64)
    rare[:9], wide[::2] = 1.7e308, -1.7e308
    numbers = torch.stack([y, rare, wide], dim=1)
    inputs = SimpleInputs(numbers, torch.zeros(100, 0), torch.zeros(100, 0).long())
    fitted = fit_linear(inputs, y, torch.ones(100), folds_of(100, generator), ())
    fitted.model.check()
    assert (fitted.held_out - y).abs().max() < 0.1


def test_without_columns_the_mean_is_predicted():
    nothing = SimpleInputs(
        torch.zeros(10, 0).double(), torch.zeros(10, 0), torch.zeros(10, 0).long()
    )
    y = torch.arange(10.0, dtype=torch.float64)
    model, _ = fit_linear(nothing, y, torch.ones(10), torch.arange(10) % 5, ())
    torch.testing.assert_close(model(nothing), torch.full((10,), 4.5).double())


def test_too_many_columns_are_left_to_others():
    d = MOST_FEATURES // 2 + 1
    inputs = SimpleInputs(
        torch.zeros(4, d).double(), torch.zeros(4, d), torch.zeros(4, 0).long()
    )
    y = torch.zeros(4).double()
    assert fit_linear(inputs, y, torch.ones(4), torch.arange(4), ()) is None
