"""How tabular runs are computed: splits, donors, corrupted targets, probes."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from histreg.study.datasets import Table, dataset
from histreg.study.methods import (
    L2,
    HLGauss,
    L2SoftmaxMean,
    LinearRegression,
)
from histreg.study.tabular import execution
from histreg.study.tabular.execution import corrupted, split
from histreg.study.tabular.runs import TabularRun, Training
from histreg.study.tabular.trainer import Fit, Start, train
from tests.study.made_up import Memory

SMALL = TabularRun("diabetes", HLGauss(), 1, 3, (4, 4))


class Desk:
    """A context without a store."""

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


# --- Bodies of donors, in two trainings one after the other

SWAPPED = [
    replace(SMALL, donor=L2(), has_frozen_body=True),
    replace(SMALL, donor=L2()),
    replace(SMALL, method=L2(), donor=HLGauss(), has_frozen_body=True),
    replace(SMALL, method=L2SoftmaxMean(), donor=HLGauss()),
]


class Office(Desk):
    """A context with checkpoints, where work stops after some epochs."""

    def __init__(self, checkpoints, stop_after=math.inf):
        super().__init__()
        self.checkpoints = checkpoints
        self.left = stop_after

    def report(self, share):
        super().report(share)
        self.left -= 1
        if not self.left:
            raise InterruptedError


def stopped(runs, n_reports):
    """Return the checkpoints of runs that were stopped."""
    checkpoints = [Memory() for _ in runs]
    with pytest.raises(InterruptedError):
        TabularRun.compute(runs, Office(checkpoints, n_reports))
    return checkpoints


def test_a_run_with_a_donor_is_that_after_the_training_of_the_donor(diabetes):
    rows, others = split(diabetes, 1)

    def trained(method, **options):
        training = Training((4, 4), 0.0, 3, 1e-3, 256)
        how = {"value_range": dataset("diabetes").y_range, "seed": 1, **options}
        return train([method], rows, {"test": others}, training, **how)[0]

    for run in SWAPPED:
        body = trained(run.donor).body
        by_hand = trained(run.method, starts=[Start(body, run.has_frozen_body)])
        (outcome,) = TabularRun.compute([run], Desk())
        assert outcome.metrics == by_hand.metrics
        # Among others, products round differently: 6e-8 each, a few epochs.
        among = TabularRun.compute(SWAPPED, Desk())[SWAPPED.index(run)]
        assert among.metrics == pytest.approx(by_hand.metrics, rel=1e-4)


def test_runs_with_donors_tell_their_progress_over_both_trainings():
    desk = Desk()
    TabularRun.compute(SWAPPED, desk)
    assert desk.shares == [1 / 6, 2 / 6, 4 / 6, 5 / 6]


# After 1 or 2 reports the donors were in training, after 3 or 4 their successors.
@pytest.mark.parametrize("n_reports", [1, 2, 3, 4])
def test_runs_with_donors_that_were_stopped_go_on_to_the_same_numbers(n_reports):
    whole = TabularRun.compute(SWAPPED, Desk())
    office = Office(stopped(SWAPPED, n_reports))
    assert TabularRun.compute(SWAPPED, office) == whole
    assert len(office.shares) == 4 - n_reports


@pytest.mark.parametrize("n_reports", [2, 3])
def test_runs_with_donors_go_on_in_other_company(n_reports):
    whole = TabularRun.compute(SWAPPED, Desk())
    checkpoints = stopped(SWAPPED, n_reports)
    some = [3, 0]
    office = Office([checkpoints[i] for i in some])
    outcomes = TabularRun.compute([SWAPPED[i] for i in some], office)
    assert len(office.shares) == 4 - n_reports
    for i, outcome in zip(some, outcomes, strict=True):
        assert outcome.metrics == pytest.approx(whole[i].metrics, rel=1e-4)


def test_runs_stopped_in_different_epochs_begin_again_with_their_donors():
    whole = TabularRun.compute(SWAPPED, Desk())
    early, late = stopped(SWAPPED, 3), stopped(SWAPPED, 4)
    office = Office([*early[:2], *late[2:]])
    assert TabularRun.compute(SWAPPED, office) == whole
    assert len(office.shares) == 4


# --- Corrupted targets

RANGE = (0.0, 350.0)


def replaced(y, share, seed=1):
    """Return which targets are not what they were."""
    return corrupted(y, share, RANGE, seed) != y


def test_a_share_of_the_targets_is_replaced_within_the_range():
    y = torch.full((1001,), -1.0, dtype=torch.float64)  # outside, so all is seen
    for share, n in ((0.0, 0), (0.1, 100), (0.5, 500), (1.0, 1001)):
        assert replaced(y, share).sum().item() == n
    drawn = corrupted(y, 1.0, RANGE, 1)
    assert drawn.min() >= 0 and drawn.max() <= 350
    # Uniform: the mean's standard error is 3.2, so 1 in 10,000 seeds would fail.
    assert drawn.mean().item() == pytest.approx(175, abs=13)


def test_a_smaller_share_is_part_of_a_larger_with_the_same_draws():
    y = torch.full((500,), -1.0, dtype=torch.float64)
    some, more = (corrupted(y, share, RANGE, 1) for share in (0.2, 0.3))
    changed = some != y
    assert torch.equal(some[changed], more[changed])


def test_corruption_is_a_matter_of_the_seed_alone():
    y = torch.linspace(0, 350, 500, dtype=torch.float64)
    first = corrupted(y, 0.3, RANGE, 1)
    torch.manual_seed(99)
    assert torch.equal(first, corrupted(y, 0.3, RANGE, 1))
    assert not torch.equal(replaced(y, 0.3), replaced(y, 0.3, seed=2))


def test_corrupted_runs_learn_from_corrupted_rows_and_predict_clean_ones(
    diabetes, monkeypatch
):
    seen = []

    def look(methods, rows, others, *_, **__):
        seen.append((rows.y, others["test"].y))
        return [Fit() for _ in methods]

    monkeypatch.setattr(execution, "train", look)
    for method in (L2(), HLGauss()):
        run = replace(SMALL, method=method, corrupted=0.4)
        TabularRun.compute([run], Desk())
    rows, others = split(diabetes, 1)
    for learnt, predicted in seen:
        assert torch.equal(learnt, corrupted(rows.y, 0.4, RANGE, 1))
        assert torch.equal(predicted, others.y)


# --- Probes

PROBED = replace(SMALL, probes=("gradients", "sensitivity"))


def test_probes_add_numbers_and_change_none():
    (plain,) = TabularRun.compute([SMALL], Desk())
    (probed,) = TabularRun.compute([PROBED], Desk())
    added = {"gradient norm", "excess loss", "test sensitivity"}
    assert probed.metrics.keys() - plain.metrics.keys() == added
    assert plain.metrics.items() <= probed.metrics.items()
    assert PROBED.stack_key != SMALL.stack_key
