"""The Gaussian process: against scikit-learn's, and its choice of lengths."""

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern
from torch.testing import assert_close

from histreg import HistogramRegressor, InputError
from histreg.tabular.kernel_model import (
    MOST_FEATURES,
    Covariance,
    KernelModel,
    covariance,
    fit_covariance,
    fit_kernel,
    log_density,
    root_of,
)
from histreg.tabular.simple_models import folds_of
from histreg.tabular.stacking import SMALL
from tests.tabular.examples import smooth
from tests.tabular.test_linear_model import rows


def reference(chosen):
    """Return scikit-learn's process of features over lengths, without a search."""
    kernel = ConstantKernel(chosen.amplitude.item()) * Matern(nu=2.5)
    kernel += ConstantKernel(chosen.slope.item()) * DotProduct(
        0, sigma_0_bounds="fixed"
    )
    return GaussianProcessRegressor(kernel, alpha=chosen.noise.item(), optimizer=None)


def example(n=40, p=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(n, p, dtype=torch.float64, generator=generator)
    y = features[:, 0].sin() + features[:, 1]
    logs = torch.tensor([0.3, -0.2, -1.0, 0.1, -1.5, -2.0], dtype=torch.float64)
    return features, y - y.mean(), Covariance.of_logs(logs, torch.arange(p)), logs


def test_the_log_density_is_scikit_learns():
    features, y, chosen, _ = example()
    scaled = (features * chosen.inverse_lengths).numpy()
    process = reference(chosen).fit(scaled, y)
    density, _ = log_density(features, y, chosen, torch.arange(3))
    # They differ by the part that no parameter changes.
    expected = process.log_marginal_likelihood_value_ + len(y) / 2 * np.log(2 * np.pi)
    assert density.item() == pytest.approx(expected, rel=1e-9)


def test_its_gradient_is_that_of_finite_differences():
    features, y, _, logs = example()
    columns = torch.tensor([0, 1, 1])  # two features share a length
    logs = logs[[0, 1, 3, 4, 5]]

    def density(logs):
        return log_density(features, y, Covariance.of_logs(logs, columns), columns)

    found = density(logs)[1]
    for i, own in enumerate(found):
        step = torch.zeros_like(logs)
        step[i] = 1e-5
        slope = (density(logs + step)[0] - density(logs - step)[0]) / 2e-5
        # Central differences are off by the square of the step, and by rounding.
        assert own.item() == pytest.approx(slope.item(), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_scikit_learns_where_every_row_is_a_landmark(weighted):
    features, y, chosen, _ = example()
    weight = torch.linspace(0.2, 2, 40) if weighted else torch.ones(40)
    model = KernelModel(3, 0, (), n_landmarks=40)
    model.limits.copy_(torch.tensor([-9.0, 9.0]))
    model.fit(features, y, weight.double(), chosen)
    process = reference(chosen)
    process.alpha = (chosen.noise / weight).numpy()  # of each row
    bias = (weight @ y.float() / weight.sum()).item()
    process.fit(features * chosen.inverse_lengths, y - bias)
    new = 2 * features.flip(1)
    expected = process.predict(new * chosen.inverse_lengths) + bias
    # The landmarks' covariance has a millionth of its size added.
    np.testing.assert_allclose(model.of_features(new), expected, rtol=0, atol=1e-5)


def test_with_fewer_landmarks_weights_are_those_of_the_normal_equations():
    features, y, chosen, _ = example(n=50)
    weight = torch.linspace(0.2, 2, 50, dtype=torch.float64)
    model = KernelModel(3, 0, (), n_landmarks=12)
    model.limits.copy_(torch.tensor([-9.0, 9.0]))
    model.fit(features, y, weight, chosen)
    scaled = features * chosen.inverse_lengths
    rest = y - weight @ y / weight.sum()
    to_all = covariance(scaled[:12], scaled, chosen.amplitude, chosen.slope)
    left = (to_all * weight) @ to_all.T + chosen.noise * to_all[:, :12]
    expected = torch.linalg.solve(left, (to_all * weight) @ rest)
    predicted = to_all.T @ expected + model.bias
    # The landmarks' covariance has a millionth of its size added.
    assert_close(model.of_features(features), predicted, rtol=0, atol=1e-5)


def _seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_held_out_predictions_have_not_seen_the_fold():
    inputs, y = rows(n=80)
    folds = folds_of(80, _seeded(0))
    _, held_out = fit_kernel(inputs, y, torch.ones(80), folds, (4,), seed=0)
    changed = torch.where(folds == 2, y.flip(0), y)
    _, again = fit_kernel(inputs, changed, torch.ones(80), folds, (4,), seed=0)
    assert_close(again[folds == 2], held_out[folds == 2])
    assert not torch.allclose(again[folds == 1], held_out[folds == 1])


def test_lengths_are_short_where_y_varies_and_long_elsewhere():
    features = torch.randn(150, 3, dtype=torch.float64, generator=_seeded(0))
    y = (3 * features[:, 1]).sin()
    chosen = fit_covariance(features, y - y.mean(), torch.arange(3))
    first, second, third = chosen.inverse_lengths.tolist()
    assert second > 5 * max(first, third)
    assert chosen.noise < 0.01


def test_a_column_that_was_constant_in_training_has_no_effect():
    inputs, y = rows(n=60)
    inputs.numbers[:, 1] = 3.0
    model, _ = fit_kernel(inputs, y, torch.ones(60), folds_of(60, None), (4,), seed=0)
    changed = inputs._replace(numbers=inputs.numbers.clone())
    changed.numbers[:, 1] = torch.arange(60.0)
    assert torch.equal(model(changed), model(inputs))


def test_wide_tables_have_none():
    inputs, y = rows(n=60)
    wide = inputs._replace(scaled=torch.zeros(60, MOST_FEATURES))
    folds = folds_of(60, None)
    assert fit_kernel(wide, y, torch.ones(60), folds, (4,), seed=0) is None


def test_it_is_not_tried_on_many_noisy_rows():
    X, y = smooth(SMALL + 1, seed=0)
    y = y + 0.5 * np.random.default_rng(1).normal(size=len(y))
    options = {"hidden_layer_sizes": (8,), "max_iter": 2, "random_state": 0}
    (blend,) = HistogramRegressor(**options).fit(X, y).model_.blends
    assert "kernel" not in [part["kind"] for part in blend.described()]


def test_a_row_is_predicted_the_same_in_any_company():
    inputs, y = rows(n=100, n_codes=(5,))  # of eleven features
    model, _ = fit_kernel(inputs, y, torch.ones(100), folds_of(100, None), (5,), seed=0)
    together = model(inputs)
    for some in (torch.arange(1), torch.arange(37), torch.arange(99, -1, -1)):
        assert torch.equal(model(inputs.at(some)), together[some])
    assert_close(model.of_block(model.features(inputs)), together)


@pytest.mark.parametrize("name", ["landmarks", "weight", "inverse_lengths"])
def test_damaged_models_are_refused(name):
    model = KernelModel(2, 2, (), n_landmarks=3)
    model.scale.fill_(1)
    model.check()
    getattr(model, name).fill_(torch.nan)
    with pytest.raises(InputError, match=f"'{name}' of a simple model must be finite"):
        model.check()


def test_it_joins_where_y_is_a_smooth_function_of_few_rows(tmp_path):
    X, y = smooth(200, seed=0)
    X_new, y_new = smooth(300, seed=1)
    options = {"hidden_layer_sizes": (16,), "max_iter": 5, "random_state": 0}
    models = [
        HistogramRegressor(**options, blend_with=names).fit(X, y)
        for names in ("auto", ("linear", "trees"))
    ]
    (blend,) = models[0].model_.blends
    assert "kernel" in [part["kind"] for part in blend.described()]
    crps = [
        model.predict_dist(X_new).crps(torch.tensor(y_new)).mean() for model in models
    ]
    assert crps[0] < 0.7 * crps[1]
    models[0].save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    assert np.array_equal(again.predict(X_new), models[0].predict(X_new))


def test_equal_rows_whose_covariance_is_singular_by_rounding_have_a_density():
    features, y, _, _ = example(n=30)
    features, y = features.repeat(8, 1), y.repeat(8)
    # Short lengths, steep lines and no noise: entries of 1e9, and 1e-6 on the diagonal.
    logs = torch.tensor([5.0, 5.0, 5.0, 8.0, 10.0, -14.0], dtype=torch.float64)
    chosen = Covariance.of_logs(logs, torch.arange(3))
    density, gradient = log_density(features, y, chosen, torch.arange(3))
    assert density.isfinite() and gradient.isfinite().all()
    plain = torch.diag(torch.tensor([4.0, 9.0], dtype=torch.float64))
    assert_close(root_of(plain.clone()), plain.sqrt())
    for wrong in (torch.nan, -1.0):  # not positive definite, and not by rounding
        matrix = torch.full((20, 20), wrong, dtype=torch.float64)
        matrix.diagonal().fill_(1.0)
        with pytest.raises(RuntimeError, match="cholesky"):
            root_of(matrix)
