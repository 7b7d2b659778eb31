"""Probes against autograd on a plain network with the same weights."""

import pytest
import torch
from torch import nn

from histreg.study.engine.seeding import generator_for
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    HLGauss,
    HLOneBin,
    L2MultiTask,
    L2Noise,
)
from histreg.study.methods.criteria.criterion import Targets
from histreg.study.networks.perceptrons import Perceptrons, Shape, lecun_uniform
from histreg.study.tabular import runs
from histreg.study.tabular.probes import (
    N_PROBED,
    PROBES,
    SMALLEST_EXCESS,
    Gradients,
    Sensitivity,
    Snapshots,
)
from histreg.study.tabular.runs import Training
from histreg.study.tabular.trainer import Examples, recorded_epochs, train

LOW, HIGH = RANGE = (-5.0, 15.0)
SMALL = {"n_bins": 20, "padding_in_bins": 2.0}
WITH_FLOOR = [L2(), L1(), HLOneBin(**SMALL), HLGauss(**SMALL)]
WITH_SLOPE = [L2(), L1(), MDN(3), HLGauss(**SMALL), L2MultiTask(0.3, **SMALL)]


def made_up(n, generator):
    x = torch.randn(n, 5, generator=generator, dtype=torch.float64)
    return Examples(x, (5 + 3 * x[:, 0] + x[:, 1] * x[:, 2]).clamp(*RANGE))


def one(method, rows, hidden=(8, 8, 8)):
    """Return a network of one method, with its criterion, and the same in torch."""
    network = Perceptrons(Shape(5, hidden, ((1, method.n_outputs),)), torch.float64)
    lecun_uniform(network, [(generator_for(1, "body"), generator_for(1, "head"))])
    criterion = method.criterion([method], Targets(rows.y, *RANGE, 1, torch.float64))
    return network, criterion, in_torch(network)


def in_torch(network):
    layers = []
    for weight, bias in network.weights.of_model(0):
        linear = nn.Linear(*weight.shape, dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(weight.T)
            linear.bias.copy_(bias[0])
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def probed(probe, network, criterion, rows, others=None):
    with torch.no_grad():
        return probe.measure(network, [criterion], rows, others or {})[0]


def trained(methods, rows, **options):
    training = Training((8, 8), 0.1, epochs=30, learning_rate=1e-2, batch_size=32)
    others = {"test": made_up(33, torch.Generator().manual_seed(3))}
    how = {"value_range": RANGE, "seed": 3, "dtype": torch.float64, **options}
    return train(methods, rows, others, training, **how)


@pytest.mark.parametrize("method", WITH_FLOOR, ids=lambda m: m.name)
@pytest.mark.parametrize("n", [70, N_PROBED + 500])
def test_gradient_norm_and_excess_loss_are_those_of_autograd(method, n, generator):
    rows = made_up(n, generator)
    network, criterion, plain = one(method, rows)
    some = slice(0, min(n, 2048))
    y = (rows.y[some] - LOW) / (HIGH - LOW)
    loss = method.loss(plain(rows.x[some]), y).mean()
    slopes = torch.autograd.grad(loss, list(plain.parameters()))
    norm = torch.cat([slope.flatten() for slope in slopes]).norm().item()
    floor = 0.0
    if isinstance(method, HLGauss):
        target_probs = method.target_probs(rows.y[some], method.bins(*RANGE))
        floor = torch.special.entr(target_probs).sum(dim=-1).mean().item()
    found = probed(Gradients(), network, criterion, rows)
    assert found["gradient norm"] == pytest.approx(norm, rel=1e-10)
    assert found["excess loss"] == pytest.approx(loss.item() - floor, rel=1e-10)


def test_gradients_are_measured_without_noise(generator):
    rows = made_up(N_PROBED + 500, generator)
    found = [
        probed(Gradients(), *one(method, rows)[:2], rows)
        for method in (L2(), L2Noise(0.5))
    ]
    assert found[0] == found[1]


def test_a_loss_whose_smallest_value_is_not_known_has_no_excess(generator):
    fits = trained([MDN(2), L2()], made_up(70, generator), probes=[Gradients()])
    assert [len(fit.curves["gradient norm"]) for fit in fits] == [30, 30]
    assert ["excess loss" in fit.metrics for fit in fits] == [False, True]


def test_the_excess_loss_is_never_nothing(generator):
    rows = made_up(40, generator)
    rows.y.fill_(LOW)  # which a network without weights fits
    network, criterion, _ = one(L2(), rows)
    network.weights.flat.zero_()
    found = probed(Gradients(), network, criterion, rows)
    assert found == {"gradient norm": 0.0, "excess loss": SMALLEST_EXCESS}


@pytest.mark.parametrize(
    "probe", [Gradients(), Sensitivity(), Snapshots()], ids=["g", "s", "h"]
)
def test_measuring_does_not_change_the_training(probe, generator):
    rows = made_up(70, generator)
    methods = [*WITH_FLOOR, HLGauss(2.0, **SMALL)]
    without = trained(methods, rows)
    with_probe = trained(methods, rows, probes=[probe])
    for a, b in zip(without, with_probe, strict=True):
        assert a.metrics.items() <= b.metrics.items()
        assert torch.equal(a.body, b.body)


def test_gradients_are_recorded_after_every_epoch_with_the_errors(generator):
    fits = trained(WITH_FLOOR, made_up(70, generator), probes=[Gradients()])
    for fit in fits:
        assert fit.curves["epoch"] == list(range(1, 31))
        assert {len(curve) for curve in fit.curves.values()} == {30}
        for name in ("gradient norm", "excess loss"):
            assert fit.curves[name][-1] == fit.metrics[name] > 0


def test_sensitivity_is_no_curve(generator):
    (fit,) = trained([L2()], made_up(70, generator), probes=[Sensitivity()])
    assert fit.metrics["test sensitivity"] > 0
    assert "test sensitivity" not in fit.curves
    assert len(fit.curves["epoch"]) < 30


@pytest.mark.parametrize("method", WITH_SLOPE, ids=lambda m: m.name)
def test_sensitivity_is_the_mean_norm_of_the_slope_of_predictions(method, generator):
    rows, others = made_up(70, generator), made_up(300, generator)
    network, criterion, plain = one(method, rows)

    def predict(x):
        return LOW + method.predict(plain(x)) * (HIGH - LOW)

    x = others.x.clone().requires_grad_()
    # Each row by itself: the sum over rows would hide if they were mixed.
    norms = [torch.autograd.grad(predict(row), row)[0].norm() for row in x.unbind()]
    found = probed(Sensitivity(), network, criterion, rows, {"test": others})
    expected = torch.stack(norms).mean().item()
    assert found == {"test sensitivity": pytest.approx(expected, rel=1e-10)}


def test_sensitivity_of_a_stack_is_that_of_each(generator):
    rows = made_up(70, generator)
    alone = [trained([m], rows, probes=[Sensitivity()])[0] for m in WITH_SLOPE]
    together = trained(WITH_SLOPE, rows, probes=[Sensitivity()])
    for a, b in zip(alone, together, strict=True):
        name = "test sensitivity"
        assert b.metrics[name] == pytest.approx(a.metrics[name], rel=1e-8)


def test_sensitivity_of_a_linear_network_is_its_product_of_weights(generator):
    rows, others = made_up(20, generator), made_up(50, generator)
    network, criterion, _ = one(L2(), rows, hidden=(8, 8))
    # Biases so large that no unit is ever below zero, whatever those below bring.
    weights = network.weights.of_model(0)
    for (_, bias), size in zip(weights[:-1], (1e2, 1e4), strict=True):
        bias.fill_(size)
    product = torch.linalg.multi_dot([weight for weight, _ in weights])  # (5, 1)
    found = probed(Sensitivity(), network, criterion, rows, {"test": others})
    expected = product.norm().item() * (HIGH - LOW)
    assert found["test sensitivity"] == pytest.approx(expected, rel=1e-9)


def test_snapshots_are_the_softmax_at_three_rows_in_order_of_y(generator):
    rows, others = made_up(70, generator), made_up(21, generator)
    method = HLGauss(**SMALL)
    network, criterion, plain = one(method, rows)
    found = probed(Snapshots(), network, criterion, rows, {"test": others})
    shown = others.y.sort().values[[2, 10, 18]]
    assert [each["y"] for each in found["test snapshots"]] == shown.tolist()
    for each in found["test snapshots"]:
        x = others.x[others.y == each["y"]]
        expected = plain(x)[0].softmax(dim=-1).tolist()
        assert each["probs"] == pytest.approx(expected, rel=1e-10)


def test_snapshots_are_curves_of_histogram_losses_alone(generator):
    methods = [L2(), HLGauss(**SMALL), MDN(2), HLOneBin(**SMALL)]
    fits = trained(methods, made_up(70, generator), probes=[Snapshots()])
    has = ["test snapshots" in fit.curves for fit in fits]
    assert has == [False, True, False, True]
    for fit in fits:
        assert fit.curves["epoch"] == recorded_epochs(30)
        assert "test snapshots" not in fit.metrics
    assert len(fits[1].curves["test snapshots"]) == len(recorded_epochs(30))
    first, last = (fits[1].curves["test snapshots"][i] for i in (0, -1))
    assert [each["y"] for each in first] == [each["y"] for each in last]
    assert first[0]["probs"] != last[0]["probs"]
    # Of the stack's two histogram losses each has its own.
    assert fits[3].curves["test snapshots"][-1][0]["probs"] != last[0]["probs"]


def test_runs_know_probes_by_their_names():
    assert tuple(PROBES) == runs.PROBES
