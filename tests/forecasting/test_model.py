"""The model: what ridge regression forecasts, and calibrated intervals."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge as SklearnRidge

from histreg import Bins, Histogram
from histreg.forecasting.model import (
    PENALTIES,
    Calibration,
    Design,
    Ridge,
    fit_model,
)
from histreg.forecasting.windows import WindowShape
from histreg.tabular import conformal
from histreg.tabular.training import Generators, Settings

DESIGN = Design((8,), 0.0, n_networks=2, n_bins=30, sigma_in_bins=1.0)
SETTINGS = Settings(n_epochs=2, min_steps=5)


def fitted(y: torch.Tensor, shape: WindowShape):
    generators = Generators.seeded(0, torch.device("cpu"))
    nothing = torch.empty(len(y), 0, dtype=torch.float64)
    return fit_model(y, nothing, shape, DESIGN, SETTINGS, generators)[0]


def test_the_ridge_regression_of_each_step_is_one_of_the_penalties(generator):
    rows = torch.randn(60, 3, dtype=torch.float64, generator=generator) * 5 + 2
    noise = torch.randn(60, 2, dtype=torch.float64, generator=generator)
    y = rows[:, :2] * torch.tensor([1.0, 0.01]) + noise
    ridge = Ridge.of(rows, y)
    z = ((rows - rows.mean(dim=0)) / rows.std(dim=0, correction=0)).numpy()
    for i in range(2):
        candidates = [
            SklearnRidge(alpha).fit(z, y[:, i].numpy()).predict(z)
            for alpha in PENALTIES
        ]
        off = [np.abs(c - ridge(rows)[:, i].numpy()).max() for c in candidates]
        assert min(off) < 1e-9


def test_a_series_that_repeats_itself_is_forecast_exactly():
    wave = torch.tensor([0.0, 3.0, 1.0, -2.0, 5.0], dtype=torch.float64)
    y = torch.stack([wave.repeat(30), 1e6 + 100 * wave.repeat(30)], dim=1)  # (150, 2)
    shape = WindowShape(window=6, horizon=3)
    model = fitted(y, shape)
    origins = torch.tensor([149])
    nothing = torch.empty(150, 0, dtype=torch.float64)
    forecast = model.forecast(shape.inputs(y, nothing, origins))
    assert forecast.batch_shape == (1, 3, 2)
    expected = torch.tensor([[5.0, 0.0, 3.0], [1e6 + 500, 1e6, 1e6 + 300]]).mT
    scale = torch.tensor([1.0, 100.0])
    assert ((forecast.mean[0] - expected) / scale).abs().max() < 0.05


def test_intervals_are_those_of_conformal_prediction(generator):
    bins = Bins.uniform(-3.0, 3.0, 20)
    logits = torch.randn(40, 2, 20, dtype=torch.float64, generator=generator)
    z = torch.randn(40, 2, dtype=torch.float64, generator=generator)
    z[3, 1] = 9.0  # outside the bins
    judged = Calibration.of(Histogram(bins, logits=logits), z)
    for coverage in (0.5, 0.9):
        expected = [
            conformal.growth(
                conformal.scores(
                    Histogram(bins, logits=logits[:, i]), z[:, i], coverage
                ),
                coverage,
            )
            for i in range(2)
        ]
        assert judged.growths(coverage).tolist() == pytest.approx(expected)
    assert judged.growths(0.99).tolist() == [torch.inf, torch.inf]  # of 40 windows


def test_calibrated_intervals_cover_the_windows_they_were_calibrated_by():
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.normal(size=(400, 1)).cumsum(axis=0))
    shape = WindowShape(window=4, horizon=2)
    model = fitted(y[:200], shape)
    nothing = torch.empty(400, 0, dtype=torch.float64)
    origins = torch.arange(200, 399)
    forecast = model.forecast(shape.inputs(y, nothing, origins))
    values = shape.targets(y, origins).mT
    model.calibrate(forecast, values)
    lower, upper = model.interval(forecast, 0.8)
    inside = ((lower <= values) & (values <= upper)).sum(dim=0).flatten()
    # The ceil(200 * 0.8)-th smallest of 199 scores: 160 are inside, without ties.
    assert inside.tolist() == [160, 160]
