"""HistogramHead: features in, logits out."""

import shutil

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load, save
from torch import nn

from histreg import Bins, Histogram, HistogramHead, HistogramLoss, metrics
from tests.registries import BINS

SHAPES = [(4,), (5, 4), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_have_one_entry_per_bin(shape, generator):
    head = HistogramHead(4, BINS["even"])
    features = torch.randn(shape, generator=generator)
    assert head(features).shape == (*shape[:-1], 16)
    d = head.distribution(features)
    assert isinstance(d, Histogram) and d.batch_shape == shape[:-1]
    assert d.bins == BINS["even"]


@pytest.mark.parametrize("shape", SHAPES)
def test_several_targets_with_their_own_bins(shape):
    columns = [Bins.uniform(0.0, 1.0, 8), Bins.uniform(-90.0, 90.0, 8)]
    head = HistogramHead(4, columns)
    features = torch.randn(shape)
    logits = head(features)
    assert logits.shape == (*shape[:-1], 2, 8)
    parts = head.distribution(features)
    assert [d.bins for d in parts] == columns
    for i, d in enumerate(parts):
        assert d.batch_shape == shape[:-1]
        torch.testing.assert_close(d.probs, logits[..., i, :].softmax(-1))
    y = torch.zeros(*shape[:-1], 2)
    assert HistogramLoss(columns)(logits, y).isfinite()


@pytest.mark.parametrize("shape", SHAPES)
def test_several_targets_that_share_their_bins(shape):
    head = HistogramHead(4, BINS["even"], n_targets=7)
    features = torch.randn(shape)
    assert head(features).shape == (*shape[:-1], 7, 16)
    d = head.distribution(features)
    assert d.batch_shape == (*shape[:-1], 7)
    y = torch.zeros(*shape[:-1], 7)
    assert HistogramLoss(BINS["even"])(head(features), y).isfinite()


def of_each_step(head, features, n_steps):
    """Return the logits of a forecast step by step, by its weights: h times (b, k)."""
    k = head.n_bins
    for t in range(n_steps):
        of_step = slice(None) if head.n_targets is None else slice(t * k, t * k + k)
        seen = features[:, t] if head.n_targets is None else features
        yield F.linear(seen, head.linear.weight[of_step], head.linear.bias[of_step])


@pytest.mark.parametrize(
    ("n_targets", "shape"),
    [(None, (5, 7, 4)), (7, (5, 4))],
    ids=["features of each step", "one vector a window"],
)
def test_a_forecast_is_what_a_loop_over_its_steps_gives(n_targets, shape, generator):
    bins = Bins.around(0.0, 10.0, n_bins=30)
    head = HistogramHead(4, bins, n_targets=n_targets, dtype=torch.float64)
    features = torch.randn(shape, dtype=torch.float64, generator=generator)
    y = torch.rand(5, 7, dtype=torch.float64, generator=generator) * 10
    d, loss = head.distribution(features), HistogramLoss(bins)(head(features), y)
    assert isinstance(d, Histogram) and d.batch_shape == (5, 7)

    steps = [
        (Histogram(bins, logits=logits), y[:, t], logits)
        for t, logits in enumerate(of_each_step(head, features, 7))
    ]
    readings = {
        "mean": (d.mean, [s.mean for s, _, _ in steps]),
        "quantiles": (
            d.quantiles([0.1, 0.5, 0.9]),  # (3, 5, 7)
            [s.quantiles([0.1, 0.5, 0.9]) for s, _, _ in steps],
        ),
        "crps": (metrics.crps(d, y), [metrics.crps(s, at) for s, at, _ in steps]),
        "covered": (
            metrics.covered(*d.interval(0.9), y),
            [metrics.covered(*s.interval(0.9), at) for s, at, _ in steps],
        ),
    }
    for name, (at_once, by_step) in readings.items():
        expected = torch.stack(by_step, dim=-1)
        torch.testing.assert_close(at_once, expected, msg=lambda m, n=name: f"{n}: {m}")

    by_loop = sum(HistogramLoss(bins)(logits, at) for _, at, logits in steps) / 7
    torch.testing.assert_close(loss, by_loop)
    parameters = list(head.parameters())
    for gradient, expected in zip(
        torch.autograd.grad(loss, parameters),
        torch.autograd.grad(by_loop, parameters),
        strict=True,
    ):
        torch.testing.assert_close(gradient, expected)


def test_features_of_each_step_for_a_head_of_all_steps_are_refused_by_the_loss():
    head = HistogramHead(4, BINS["even"], n_targets=7)
    with pytest.raises(ValueError, match=r"y must have shape \(5, 7, 7\)"):
        HistogramLoss(BINS["even"])(head(torch.randn(5, 7, 4)), torch.rand(5, 7))


@pytest.mark.parametrize("bins", BINS.values(), ids=BINS)
def test_an_untrained_head_can_predict_the_middle_exactly(bins):
    head = HistogramHead(4, bins, zero_init=True, dtype=torch.float64)
    d = head.distribution(torch.randn(3, 4, dtype=torch.float64) * 100)
    middle = (bins.low + bins.high) / 2
    span = bins.high - bins.low
    # The borders at 1e6 are themselves rounded to 1e-10.
    assert (d.mean - middle).abs().max() <= 1e-15 * span + 1e-16 * abs(middle)
    torch.testing.assert_close(
        d.pdf(bins.centers.unsqueeze(-1)),
        torch.full((bins.n_bins, 3), 1 / span, dtype=torch.float64),
    )


def test_zero_init_of_float32_and_several_targets():
    columns = [BINS["even"], Bins([2.0**i for i in range(17)])]
    for d in HistogramHead(4, columns, zero_init=True).distribution(torch.randn(2, 4)):
        middle = (d.bins.low + d.bins.high) / 2
        torch.testing.assert_close(d.mean, torch.full((2,), middle), rtol=1e-5, atol=0)


def test_a_zero_head_still_learns():
    head = HistogramHead(4, BINS["even"], zero_init=True)
    loss = HistogramLoss(BINS["even"])(head(torch.randn(8, 4)), torch.rand(8))
    (gradient,) = torch.autograd.grad(loss, head.linear.weight)
    assert gradient.abs().sum() > 0


def test_bins_travel_in_the_state_dict():
    # Bins missing from the saved state were the defect of others.
    model = nn.Sequential(nn.Linear(3, 4), HistogramHead(4, Bins.around(5.0, 6.0)))
    other = nn.Sequential(nn.Linear(3, 4), HistogramHead(4, Bins.around(0.0, 1.0)))
    other.load_state_dict(load(save(model.state_dict())))
    x = torch.randn(5, 3)
    first = model[1].distribution(model[0](x))
    second = other[1].distribution(other[0](x))
    assert second.bins == Bins.around(5.0, 6.0)
    assert torch.equal(first.mean, second.mean)


def test_bins_of_several_targets_travel_too():
    columns = [Bins.uniform(0.0, 1.0, 8), Bins.uniform(-90.0, 90.0, 8)]
    other = HistogramHead(4, columns[:1] * 2)
    other.load_state_dict(HistogramHead(4, columns).state_dict())
    assert other.bins == tuple(columns)


def test_casting_the_head_does_not_round_its_bins():
    head = HistogramHead(4, BINS["far away"]).half()
    assert head.bins == BINS["far away"] and head.linear.weight.dtype == torch.float16
    assert torch.equal(head.state_dict()["_extra_state"][0], BINS["far away"].state())


def test_the_head_compiles_without_a_graph_break():
    torch.compiler.reset()
    head = HistogramHead(4, BINS["even"], n_targets=2)
    features = torch.randn(3, 4)
    compiled = torch.compile(head, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(features), head(features))


def test_a_wrong_number_of_bins_is_refused_when_loading():
    head = HistogramHead(4, BINS["even"])
    with pytest.raises(ValueError, match=r"must hold 1 x 16 bins, .* got 1 x 2 bins$"):
        head.load_state_dict(HistogramHead(4, BINS["two"]).state_dict())
    assert head.bins == BINS["even"]  # as it was


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda b: HistogramHead(0, b), "in_features must be a whole number of at"),
        (lambda b: HistogramHead(b, 8), "in_features must be a whole number of at"),
        (lambda b: HistogramHead(4, b, n_targets=0), "n_targets must be a whole"),
        (lambda b: HistogramHead(4, [b, b], n_targets=2), "requires a single Bins"),
        (lambda b: HistogramHead(4, [b, BINS["two"]]), r"n_bins, got \[2, 16\]"),
        (
            lambda b: HistogramHead(4, BINS["uneven"], bias=False, zero_init=True),
            "zero_init needs bias=True",
        ),
        (
            lambda b: HistogramHead(4, b, bias=False).rebin(Bins.uniform(0, 1, 16)),
            "rebin needs bias=True",
        ),
        (lambda b: HistogramHead(4, b).rebin(BINS["two"]), "as many as those they"),
        (lambda b: HistogramHead(4, b).rebin([b]), "as many as those they replace"),
        (lambda b: HistogramLoss(b).rebin(BINS["two"]), "as many as those they"),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        make(BINS["even"])
    assert "\n" not in str(error.value)


# ---- export: what a distribution is asked goes with the network


class Predicting(nn.Module):
    """A network that answers with means, quantiles, probabilities and logits."""

    def __init__(self, bins: Bins) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 64), nn.ReLU())
        self.head = HistogramHead(64, bins)

    def forward(self, x, y):
        d = self.head.distribution(self.body(x))
        return d.mean, d.quantiles([0.1, 0.5, 0.9]), d.cdf(y), d.logits


def exported(network: nn.Module) -> torch.export.ExportedProgram:
    """Return the network for any number of rows."""
    rows = torch.export.Dim("rows")
    example = torch.rand(3, 3), torch.rand(3)
    return torch.export.export(network, example, dynamic_shapes=({0: rows}, {0: rows}))


def to_onnx(network: nn.Module, path: str) -> None:
    names = {"input_names": ["x", "y"]}
    names["output_names"] = ["mean", "quantiles", "cdf", "logits"]
    torch.onnx.export(exported(network), f=path, verbose=False, **names)


def answers(path: str, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path)
    outputs = session.run(None, {"x": x.numpy(), "y": y.numpy()})
    return [torch.tensor(output) for output in outputs]


EXPORTED = {
    "even": Bins.around(0.0, 100.0),
    "uneven": Bins([-1.0, 0.0, 0.5, 4.0, 90.0]),
}


@pytest.mark.parametrize("bins", EXPORTED.values(), ids=EXPORTED)
def test_an_exported_network_answers_as_the_network_does(bins):
    network = Predicting(bins).eval()
    # Rows of another number than in the example, and y on borders and outside.
    x = torch.randn(7, 3)
    y = torch.tensor([-5.0, 0.0, 0.5, bins.low, bins.high, 50.0, 1000.0])
    program = exported(network)
    for actual, expected in zip(program.module()(x, y), network(x, y), strict=True):
        torch.testing.assert_close(actual, expected)
    assert "searchsorted" not in program.graph_module.code  # which ONNX does not have
    assert "bucketize" not in program.graph_module.code


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch.onnx warns of its own parts
def test_quantiles_and_cdf_run_in_onnx(tmp_path):
    network = Predicting(EXPORTED["uneven"]).eval()
    path = str(tmp_path / "network.onnx")
    to_onnx(network, path)
    x, y = torch.randn(9, 3), torch.linspace(-5.0, 100.0, 9)
    for actual, expected in zip(answers(path, x, y), network(x, y), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_int8_weights_change_the_crps_by_less_than_two_per_cent(tmp_path):
    onnx = pytest.importorskip("onnx")
    quantization = pytest.importorskip("onnxruntime.quantization")
    x = torch.rand(512, 3)
    y = 100 * x[:, 0] + 5 * torch.randn(512)
    network = Predicting(Bins.of(y))
    loss = HistogramLoss(network.head.bins)
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(150):
        optimizer.zero_grad()
        loss(network.head(network.body(x)), y).backward()
        optimizer.step()
    path = str(tmp_path / "network.onnx")
    to_onnx(network.eval(), path)
    model = onnx.load(path)
    del model.graph.value_info[:]  # onnxruntime's shapes of it contradict themselves
    quantization.quantize_dynamic(model, path + "8")

    def crps(logits):
        return Histogram(network.head.bins, logits=logits).crps(y).mean().item()

    before, after = crps(answers(path, x, y)[-1]), crps(answers(path + "8", x, y)[-1])
    assert before < 3.5  # the noise alone has 5 / sqrt(pi) = 2.8
    assert after == pytest.approx(before, rel=0.02)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="inductor needs a C++ compiler")
@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_body_and_head_compile_together():
    torch.compiler.reset()
    network = Predicting(EXPORTED["even"]).eval()
    x, y = torch.randn(7, 3), torch.linspace(-5.0, 100.0, 7)
    compiled = torch.compile(network, fullgraph=True)
    for actual, expected in zip(compiled(x, y), network(x, y), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
