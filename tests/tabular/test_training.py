"""The training loop: best weights, own validation rows, independent models."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from histreg.tabular.networks import CopiedBody, Stack, TabularBody
from histreg.tabular.training import (
    Generators,
    Measure,
    Settings,
    Snapshot,
    optimizer_of,
    train,
)
from histreg.tabular.training_rows import TrainingRows, batch_of

N = 60


def squared(outputs, y):
    return (outputs[..., 0, 0] - y[:, 0]) ** 2


def absolute(outputs, y):
    return (outputs[..., 0, 0] - y[:, 0]).abs()


MEASURE = Measure(squared, squared, absolute)


def problem(n_models, seed=0):
    torch.manual_seed(seed)
    x = torch.randn(N, 3)
    y = x[:, :1].sin() + 0.1 * torch.randn(N, 1)
    codes = torch.zeros(N, 0, dtype=torch.int64)
    stack = Stack(TabularBody(n_models, 3, hidden_layer_sizes=(16,), dropout=0.0), 1, 1)
    return stack, TrainingRows((x, codes), y, torch.ones(N))


def hold_out(n_models, n=12):
    held_out = torch.zeros(n_models, N, dtype=torch.bool)
    for i in range(n_models):
        held_out[i, i * n : (i + 1) * n] = True
    return held_out


def validation_loss(stack, rows, held_out):
    with torch.no_grad():
        each = MEASURE.loss(stack.eval()(*rows.inputs), rows.y)
    return (each * held_out).sum(dim=1) / held_out.sum(dim=1)


@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_the_weights_of_the_best_epoch_are_left(averaging):
    stack, rows = problem(2)
    held_out = hold_out(2)
    settings = Settings(
        n_epochs=40, batch_size=8, learning_rate=0.02, patience=40, averaging=averaging
    )
    history = train(stack, rows, held_out, MEASURE, settings)
    assert len(history) == 40
    found = validation_loss(stack, rows, held_out).mean().item()
    best = min(epoch.validation_loss for epoch in history)
    assert found == pytest.approx(best, rel=1e-5)
    assert history[-1].validation_loss > found  # it went on after the best


def test_training_stops_when_no_model_has_improved_for_long():
    stack, rows = problem(1)
    settings = Settings(
        n_epochs=500, batch_size=8, learning_rate=0.05, patience=3, n_drops=0
    )
    history = train(stack, rows, hold_out(1), MEASURE, settings)
    best = max(i for i, epoch in enumerate(history) if epoch.is_best)
    assert len(history) < 500 and len(history) - 1 - best == 3


def test_the_learning_rate_drops_before_training_stops():
    stack, rows = problem(1)
    settings = Settings(
        n_epochs=500, batch_size=8, learning_rate=0.05, patience=3, n_drops=2
    )
    optimizer = optimizer_of(stack, settings)
    rates = []

    def keep(_):
        rates.append(optimizer.learning_rate)

    history = train(
        stack,
        rows,
        hold_out(1),
        MEASURE,
        settings,
        optimizer=optimizer,
        on_epoch=keep,
    )
    assert sorted(set(rates), reverse=True) == pytest.approx([0.05, 0.01, 0.002])
    assert rates == sorted(rates, reverse=True)
    first = next(i for i, rate in enumerate(rates) if rate < 0.05)
    is_best = [epoch.is_best for epoch in history]
    assert not any(is_best[first - 3 : first]) and not any(is_best[-3:])
    assert optimizer.learning_rate == 0.05  # as it was given


def test_patience_doubles_where_the_best_score_is_near_zero():
    lengths = []
    for near_exact in (0.0, 1e6):
        stack, rows = problem(1)
        settings = Settings(
            n_epochs=500,
            batch_size=8,
            learning_rate=0.05,
            patience=3,
            near_exact=near_exact,
            n_drops=0,
        )
        history = train(stack, rows, hold_out(1), MEASURE, settings)
        best = max(i for i, epoch in enumerate(history) if epoch.is_best)
        lengths.append(len(history) - 1 - best)
    assert lengths == [3, 6]


def test_without_validation_all_epochs_are_trained():
    stack, rows = problem(1)
    nobody = torch.zeros(1, N, dtype=torch.bool)
    history = train(stack, rows, nobody, MEASURE, Settings(n_epochs=5, patience=1))
    assert len(history) == 5
    assert all(epoch.validation_loss is None for epoch in history)


def test_held_out_rows_teach_nothing():
    held_out = hold_out(1)
    results = []
    for wrong in (0.0, 1e6):
        stack, rows = problem(1)
        y = rows.y.clone()
        y[held_out[0]] += wrong
        settings = Settings(n_epochs=1, batch_size=8)  # the first epoch is the best
        train(stack, replace(rows, y=y), held_out, MEASURE, settings)
        results.append(stack(*rows.inputs))
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=0)


def test_rows_of_no_weight_teach_nothing():
    nobody = torch.zeros(1, N, dtype=torch.bool)
    weight = torch.ones(N)
    weight[:20] = 0
    results = []
    for wrong in (0.0, 1e6):
        stack, rows = problem(1)
        y = rows.y.clone()
        y[:20] += wrong
        train(
            stack,
            TrainingRows(rows.inputs, y, weight),
            nobody,
            MEASURE,
            Settings(n_epochs=3),
        )
        results.append(stack(*rows.inputs))
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=0)


def test_flags_of_censored_rows_go_with_their_rows():
    """Each batch and the validation see a row's own flag beside its y."""
    stack, rows = problem(1)
    y = torch.arange(N, dtype=torch.float32).unsqueeze(-1)
    seen = []

    def loss(outputs, y, censored):
        assert torch.equal(censored, y % 3 == 0)
        seen.extend(y.flatten().tolist())
        return squared(outputs, y)

    measure = Measure(loss, loss, loss)
    rows = TrainingRows(rows.inputs, y, rows.weight, y % 3 == 0)
    settings = Settings(n_epochs=1, batch_size=7, min_steps=1)
    train(stack, rows, hold_out(1), measure, settings)
    assert set(seen) == set(range(N))


def test_a_model_is_trained_alike_alone_and_in_a_stack():
    """Same start, same batches: the other models of the stack have no effect."""
    pair, rows = problem(2)
    alone, _ = problem(1)
    with torch.no_grad():
        for one, two in zip(alone.parameters(), pair.parameters(), strict=True):
            one.copy_(two[:1])
    nobody = torch.zeros(2, N, dtype=torch.bool)
    settings = Settings(n_epochs=4, batch_size=16)
    for stack, held_out in ((pair, nobody), (alone, nobody[:1])):
        torch.manual_seed(1)
        train(stack, rows, held_out, MEASURE, settings)
    # Batched and single products round differently: 16 steps of float32.
    torch.testing.assert_close(
        alone(*rows.inputs)[0], pair(*rows.inputs)[0], rtol=1e-4, atol=1e-5
    )


def test_an_interrupted_training_is_left_at_its_best_so_far():
    stack, rows = problem(1)
    held_out = hold_out(1)
    seen = []

    def stop(epoch):
        seen.append(epoch.validation_loss)
        if epoch.number == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        settings = Settings(n_epochs=50, batch_size=8)
        train(stack, rows, held_out, MEASURE, settings, on_epoch=stop)
    assert len(seen) == 5
    found = validation_loss(stack, rows, held_out).item()
    assert found == pytest.approx(min(seen), rel=1e-5)


def test_a_snapshot_brings_back_all_that_training_changed():
    _, rows = problem(2)
    body = CopiedBody(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), 2, 3)
    stack = Stack(body, 1, 1)
    settings = Settings(n_epochs=2, batch_size=16)
    optimizer, fresh = optimizer_of(stack, settings), optimizer_of(stack, settings)
    nobody = torch.zeros(2, N, dtype=torch.bool)
    train(stack, rows, nobody, MEASURE, settings, optimizer=optimizer)
    before = copy.deepcopy([stack.state_dict(), *optimizer.state.values()])
    snapshot = Snapshot([stack], [optimizer, fresh])
    for each in (optimizer, fresh):
        train(stack, rows, nobody, MEASURE, settings, optimizer=each)
    snapshot.restore()
    torch.testing.assert_close(
        [stack.state_dict(), *optimizer.state.values()], before, rtol=0, atol=0
    )
    assert not fresh.state


def test_training_draws_from_the_generators_that_are_given():
    results = []
    for state_of_torch in (1, 2):
        _, rows = problem(1)
        start = torch.Generator().manual_seed(0)
        body = TabularBody(1, 3, hidden_layer_sizes=(16,), generator=start)
        stack = Stack(body, 1, 1, generator=start)
        torch.manual_seed(state_of_torch)
        before = torch.get_rng_state()
        generators = Generators.seeded(4, torch.device("cpu"))
        train(
            stack,
            rows,
            hold_out(1),
            MEASURE,
            Settings(n_epochs=3, batch_size=16),
            generators=generators,
        )
        assert torch.equal(torch.get_rng_state(), before)
        results.append(stack(*rows.inputs))
    assert torch.equal(*results)


def test_a_heavy_row_weighs_the_same_in_any_batch():
    """The mean over y that a constant learns is the weighted one, in small batches."""
    torch.manual_seed(0)
    y = torch.zeros(N, 1)
    y[:6] = 1.0
    weight = torch.ones(N)
    weight[:6] = 27.0  # three quarters of all weight
    weight = weight / weight.mean()
    stack = Stack(TabularBody(1, 0, (2,), hidden_layer_sizes=()), 1, 1)
    inputs = (torch.empty(N, 0), torch.ones(N, 1, dtype=torch.int64))
    nobody = torch.zeros(1, N, dtype=torch.bool)
    settings = Settings(
        n_epochs=400, batch_size=4, learning_rate=3e-3, weight_decay=0, averaging=0.999
    )
    rows = TrainingRows(inputs, y, weight)
    train(stack, rows, nobody, MEASURE, settings)
    # Steps of Adam are no exact gradient steps: a tenth of tolerance. Weights
    # normalised within each batch would give 0.31.
    assert stack(*inputs)[0, 0, 0, 0].item() == pytest.approx(0.75, abs=0.1)


class OwnNorm(nn.modules.batchnorm._BatchNorm):
    """A user's own normalisation."""

    def _check_input_dim(self, input):
        assert input.dim() == 2


@pytest.mark.parametrize("norm", [nn.BatchNorm1d, OwnNorm])
def test_frozen_statistics_stay_and_no_batch_has_one_row(norm):
    body = CopiedBody(nn.Sequential(nn.Linear(3, 4), norm(4)), 1, 3)
    stack = Stack(body, 1, 1)
    _, rows = problem(1)
    rows = batch_of(rows, torch.arange(33))  # batches of 16, 16 and 1
    nobody = torch.zeros(1, 33, dtype=torch.bool)
    settings = Settings(n_epochs=1, batch_size=16)
    train(stack, rows, nobody, MEASURE, settings)
    body.requires_grad_(False)
    before = copy.deepcopy(body.state_dict())
    train(
        stack,
        rows,
        nobody,
        MEASURE,
        settings,
        optimizer=optimizer_of(stack.readout, settings),
    )
    for name, tensor in body.state_dict().items():
        assert torch.equal(before[name], tensor)
