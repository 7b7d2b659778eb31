import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from histreg.study.datasets import Table, dataset
from histreg.study.methods import L2, MDN, HLGauss, LinearRegression
from histreg.study.tabular import TabularRun, split

SMALL = TabularRun("diabetes", HLGauss(), 1, 3, (4, 4))


class Desk:
    """A workplace without a store."""

    data_dir = None

    def __init__(self):
        self.shares = []

    checkpoints = ()

    def report(self, share):
        self.shares.append(share)


@pytest.fixture(scope="module")
def diabetes():
    return dataset("diabetes").load()


def rows_of(rows):
    return {tuple(row) for row in torch.cat([rows.x, rows.y[:, None]], 1).tolist()}


def test_a_fifth_is_predicted_and_none_of_it_learnt_from(diabetes):
    learnt, predicted = split(diabetes, seed=1)
    assert len(predicted.y) == 442 // 5
    assert len(learnt.y) + len(predicted.y) == 442
    assert not rows_of(learnt) & rows_of(predicted)


def test_inputs_are_standardised_by_the_rows_to_learn_from(diabetes):
    learnt, predicted = split(diabetes, seed=1)
    zero, one = torch.zeros(10).double(), torch.ones(10).double()
    torch.testing.assert_close(learnt.x.mean(0), zero, atol=1e-12, rtol=0)
    torch.testing.assert_close(learnt.x.std(0, correction=0), one)
    assert not torch.allclose(predicted.x.mean(0), zero, atol=1e-3)


def test_splits_of_other_seeds_differ_and_of_one_do_not(diabetes):
    assert torch.equal(split(diabetes, 1)[1].y, split(diabetes, 1)[1].y)
    assert not torch.equal(split(diabetes, 1)[1].y, split(diabetes, 2)[1].y)


def test_validation_rows_come_from_those_to_learn_from(diabetes):
    y_test = split(diabetes, 1)[1].y
    inner, judged = split(diabetes, 1, "validation")
    assert len(judged.y) == (442 - 88) // 5
    assert len(inner.y) + len(judged.y) + len(y_test) == 442
    together = torch.cat([inner.y, judged.y, y_test]).sort().values
    torch.testing.assert_close(together, torch.tensor(diabetes.y).sort().values)


def test_a_constant_column_becomes_zero_however_large_it_is():
    X = np.stack([np.arange(50.0), np.full(50, 0.1), np.full(50, 1e9 + 0.1)], axis=1)
    rows, _ = split(Table(X, np.arange(50.0), ("a", "b", "c"), "", None), 1)
    assert rows.x[:, 1:].abs().max() < 1e-5
    assert rows.x[:, 0].std() > 0.5


def test_the_protocol_is_that_of_the_paper():
    run = TabularRun.of("ct", HLGauss(), 1)
    assert (run.epochs, run.hidden, run.dropout) == (1000, (192,) * 4, 0.05)
    assert (run.learning_rate, run.batch_size) == (1e-3, 256)
    # Steps of the specification, part 3.
    steps = {"ct": 168_000, "song": 241_650, "bike": 27_500, "pole": 23_500}
    for name, expected in steps.items():
        data = dataset(name)
        n_train = data.n_rows - data.n_rows // 5
        assert data.epochs * math.ceil(n_train / 256) == expected


def test_a_stack_is_everything_but_the_method():
    assert SMALL.stack == replace(SMALL, method=MDN(2)).stack
    for change in ({"seed": 2}, {"epochs": 4}, {"part": "validation"}):
        assert SMALL.stack != replace(SMALL, **change).stack
    assert SMALL.stack != TabularRun.of("diabetes", LinearRegression(), 1).stack


def test_networks_are_trained_and_measured():
    desk = Desk()
    first, second = TabularRun.compute([SMALL, replace(SMALL, method=L2())], desk)
    assert set(first.metrics) == {
        "train loss",
        "train MAE",
        "train RMSE",
        "test MAE",
        "test RMSE",
    }
    assert first.metrics != second.metrics
    assert first.curves["epoch"] == [1, 2, 3]
    assert desk.shares == [1 / 3, 2 / 3]
    assert first.data_sha256 == dataset("diabetes").load().sha256


def test_linear_regression_is_least_squares(diabetes):
    run = TabularRun.of("diabetes", LinearRegression(), 1)
    (outcome,) = TabularRun.compute([run], Desk())
    learnt, predicted = split(diabetes, 1)
    design = np.column_stack([learnt.x.numpy(), np.ones(len(learnt.y))])
    coefficients = np.linalg.lstsq(design, learnt.y.numpy(), rcond=None)[0]
    error = predicted.x.numpy() @ coefficients[:-1] + coefficients[-1]
    error -= predicted.y.numpy()
    assert outcome.metrics["test MAE"] == pytest.approx(np.abs(error).mean())
    assert outcome.metrics["test RMSE"] == pytest.approx(np.sqrt((error**2).mean()))


def test_validation_runs_report_validation_errors_and_no_test_errors():
    run = replace(SMALL, part="validation")
    (outcome,) = TabularRun.compute([run], Desk())
    assert "validation MAE" in outcome.metrics
    assert "test MAE" not in outcome.metrics


def test_a_run_that_diverges_has_no_metrics_but_an_epoch():
    run = replace(SMALL, method=L2(), learning_rate=1e30, epochs=5)
    (outcome,) = TabularRun.compute([run], Desk())
    assert outcome.metrics == {}
    assert outcome.diverged_at in (1, 2, 3, 4, 5)


def test_another_data_set_brings_its_own_protocol_but_keeps_changes():
    run = replace(TabularRun.of("pole", L2(), 1), learning_rate=0.5)
    moved = run.moved_to("bike")
    assert (moved.dataset, moved.hidden, moved.epochs) == ("bike", (64,) * 4, 500)
    assert moved.learning_rate == 0.5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"part": "train"}, "part must be one of 'test', 'validation'"),
    ],
)
def test_nonsense_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(SMALL, **change)
