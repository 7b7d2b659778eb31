"""The names that the command line knows are those that the modules know."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from histreg import Bins, Histogram, HistogramRegressor, _names


def test_they_and_the_checks_of_arguments_load_no_library():
    code = "import sys, histreg._names, histreg._checks; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"torch", "numpy", "sklearn"} & set(result.stdout.split())


@pytest.mark.parametrize("spacing", _names.SPACINGS)
def test_every_spacing_lays_bins(spacing):
    assert Bins.of(torch.arange(1.0, 100.0), spacing=spacing).n_bins == 100


@pytest.mark.parametrize("kind", _names.TAILS)
def test_every_tail_lies_beyond_bins(kind):
    assert Bins.of(torch.arange(1.0, 2000.0), tails=kind).n_bins >= 100


@pytest.mark.parametrize("method", _names.INTERVALS)
def test_every_interval_can_be_asked_for(method):
    lower, upper = Histogram(
        Bins.uniform(0.0, 1.0, 4), probs=torch.ones(4) / 4
    ).interval(0.5, method)
    assert upper - lower == pytest.approx(0.5)


@pytest.mark.parametrize("loss", _names.ON_NUMBERS)
def test_losses_on_numbers_are_losses(loss):
    assert loss in _names.LOSSES


def test_the_description_makes_a_folder_a_model(tmp_path):
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    HistogramRegressor(max_iter=1).fit(X, y).save(tmp_path / "model")
    assert (tmp_path / "model" / _names.MODEL_JSON).is_file()
