"""The steps of a fit: validation rows, settings, what is built."""

import pytest
import torch

from histreg import HistogramRegressor
from histreg.tabular.columns import LabelCodes, NumberScaling
from histreg.tabular.fitting import (
    MAX_EMBEDDED_COLUMNS,
    MIN_VALIDATION_ROWS,
    MOST_ROWS_IN_FOLDS,
    body_for,
    held_out_rows,
    settings_for,
    sharpening_settings,
    sharpens,
)

CPU = torch.device("cpu")


def held_out(options, n, n_models=3):
    generator = torch.Generator().manual_seed(0)
    return held_out_rows(options, n_models, n, CPU, generator)


def test_each_model_has_validation_rows_of_its_own():
    rows = held_out(HistogramRegressor(validation_fraction=0.2), 100)
    assert rows.shape == (3, 100) and rows.sum(dim=1).tolist() == [20] * 3
    assert rows.sum(dim=0).max() == 1
    many = held_out(HistogramRegressor(validation_fraction=0.5), 100)
    assert many.sum(dim=1).tolist() == [50] * 3  # the shuffle begins again


def test_too_few_validation_rows_are_none():
    fewest, tenth = 10 * MIN_VALIDATION_ROWS, {"validation_fraction": 0.1}
    options = HistogramRegressor(**tenth)
    assert held_out(options, fewest, n_models=1).sum() == MIN_VALIDATION_ROWS
    assert held_out(options, fewest - 10, n_models=1).sum() == 0
    assert held_out(options, 20).sum() == 3 * 2  # together they are enough
    assert held_out(options, 10).sum() == 0
    assert held_out(HistogramRegressor(), 5, n_models=5).sum() == 5
    assert held_out(HistogramRegressor(), 4, n_models=5).sum() == 0
    assert held_out(HistogramRegressor(early_stopping=False), 1000).sum() == 0


def test_each_row_is_held_out_once_unless_there_are_many():
    options = HistogramRegressor()
    assert (held_out(options, 99).sum(dim=0) == 1).all()
    many = MOST_ROWS_IN_FOLDS + 1
    assert held_out(options, many).sum(dim=1).tolist() == [many // 10] * 3
    assert held_out(options, 100, n_models=1).sum() == 10


@pytest.mark.parametrize(
    ("n", "batch_size"), [(1, 64), (4095, 64), (4096, 128), (8192, 256), (10**6, 256)]
)
def test_batches_are_smaller_for_fewer_rows(n, batch_size):
    assert settings_for(HistogramRegressor(), n).batch_size == batch_size
    assert settings_for(HistogramRegressor(batch_size=7), n).batch_size == 7


def test_many_rows_need_fewer_epochs_of_patience():
    assert settings_for(HistogramRegressor(), 10_000).patience == 5
    assert settings_for(HistogramRegressor(), 10_001).patience == 3
    assert settings_for(HistogramRegressor(n_iter_no_change=7), 10_001).patience == 7


def test_settings_are_those_of_the_options():
    options = HistogramRegressor(
        max_iter=30, learning_rate_init=0.1, weight_decay=0.2, n_iter_no_change=6
    )
    settings = settings_for(options, 100)
    assert (settings.n_epochs, settings.patience) == (30, 6)
    assert (settings.learning_rate, settings.weight_decay) == (0.1, 0.2)
    assert settings_for(options, 100, n_epochs=1).n_epochs == 1
    sharp = sharpening_settings(settings)
    assert (sharp.n_epochs, sharp.patience) == (20, 4)
    assert sharp.learning_rate == 0.1


def test_only_smoothed_targets_are_sharpened():
    assert sharpens(HistogramRegressor()) and sharpens(HistogramRegressor(loss="brier"))
    for options in (
        {"final_sigma_in_bins": None},
        {"target": "one_bin"},
        {"loss": "crps"},
    ):
        assert not sharpens(HistogramRegressor(**options))


@pytest.mark.parametrize(
    ("n_columns", "is_embedded"),
    [(MAX_EMBEDDED_COLUMNS, True), (MAX_EMBEDDED_COLUMNS + 1, False)],
)
def test_many_columns_are_not_embedded(n_columns, is_embedded):
    scaling = NumberScaling(n_columns, range(n_columns), [])
    options = HistogramRegressor((8,), n_estimators=2)
    body = body_for(options, scaling, LabelCodes([]), None)
    assert body.layers[0].weight.shape[1] == n_columns * (9 if is_embedded else 1)
    assert body.n_models == 2 and body.n_features == 8
    learnt = body_for(
        options.set_params(embedding_width="auto"), scaling, LabelCodes([]), None
    )
    assert (learnt.number_embedding is not None) == is_embedded
