"""The mixture of networks and simple models in one loop."""

import pytest
import torch

from histreg import Bins
from histreg.tabular import compiled_blends
from histreg.tabular.atoms import EndAtoms, ValueAtoms
from histreg.tabular.blending import Blend, Part, Residuals, Votes
from histreg.tabular.compiled_blends import CompiledBlend, compiled_blend, mix
from histreg.tabular.forest_model import ForestModel
from histreg.tabular.simple_models import SimpleInputs

N_ROWS, N_MODELS = 40, 3
NOTHING = SimpleInputs(
    torch.zeros(N_ROWS, 0, dtype=torch.float64),
    torch.zeros(N_ROWS, 0),
    torch.zeros(N_ROWS, 0, dtype=torch.int64),
)
NOTHING_OF_ONE = SimpleInputs(*(part[:1] for part in NOTHING))


class Given:
    """A simple model that predicts given numbers."""

    def __init__(self, predicted):
        self.predicted = predicted

    def __call__(self, inputs, **_):
        return self.predicted[: len(inputs.numbers)]


def example(k, *, n_divided=1, sharpness=1.3, power=0.5, seed=0):
    """Return a blend of networks, their mean and a model, and logits (M, n, k)."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    parts = []
    for n_points in (18, 60):
        residuals = Residuals(n_points)
        points = normal(n_points).sort().values * 0.3
        points[4] = points[5]  # of targets that repeat
        residuals.points.copy_(points)
        parts.append(Part(None, residuals, power))
    model = Given(normal(N_ROWS) * 2)
    model.predicted[0] = 100.0  # far above the bins
    model.predicted[1] = -100.0
    blend = Blend(parts, center=0.4, scale=1.5, n_divided=n_divided)
    blend.weights.copy_(torch.tensor([0.5, 0.2, 0.3]))
    blend.sharpness.fill_(sharpness)
    blend.typical_spread.fill_(0.4)
    borders = (normal(k).abs() + 0.1).cumsum(0) / k * 6 - 3
    bins = Bins([-4.0, *borders.tolist()])
    logits = (normal(N_MODELS, N_ROWS, k) * 3).to(torch.float32)
    return blend, model, bins, logits


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("power", [0.0, 0.5, 0.3, 1.0])
@pytest.mark.parametrize(("k", "n_divided"), [(3, 1), (8, 2), (100, 1), (13, 4)])
def test_the_loop_returns_the_probabilities_of_the_blend(
    k, n_divided, power, sharpness
):
    blend, model, bins, logits = example(
        k, n_divided=n_divided, power=power, sharpness=sharpness
    )
    compiled = CompiledBlend(blend, bins)
    compiled._models[1], compiled._is_networks[1] = model, False
    probs = compiled.probs(logits, NOTHING)
    # The same float32 probabilities of each network, in float64 from there on.
    networks = blend.divided(logits.softmax(-1).to(torch.float64).mean(dim=0))
    geometry = blend.geometry(bins)
    mean = blend.predicted(NOTHING, networks, geometry)[0]
    expected = blend.mixed(networks, [mean, model.predicted], geometry)
    torch.testing.assert_close(probs, expected, rtol=1e-8, atol=1e-14)
    torch.testing.assert_close(
        probs.sum(dim=-1), torch.ones(N_ROWS, dtype=torch.float64), rtol=1e-14, atol=0
    )


def test_mass_at_an_end_is_placed_as_by_the_blend():
    blend, _, bins, logits = example(20)
    atoms = EndAtoms(4, 3)
    atoms.values[:] = torch.stack([bins.borders[2] + 0.01, bins.borders[-2]])
    atoms.unseen[:] = torch.tensor([0.1, 0.02])
    ended = Blend(list(blend.parts), atoms=atoms)
    for name, value in blend.named_buffers(recurse=False):
        getattr(ended, name).copy_(value)
    mixed = CompiledBlend(blend, bins).probs(logits, NOTHING)
    loop = CompiledBlend(ended, bins)
    placed = loop.probs(logits, NOTHING)
    assert torch.equal(placed, atoms.in_bins(mixed))
    assert loop.bins == ended.bins(bins) and loop.bins.n_bins == placed.shape[1]
    assert torch.equal(loop.probs(logits[:, 5:6], NOTHING_OF_ONE), placed[5:6])


def test_what_is_compiled_is_the_loop_as_it_is_written(monkeypatch):
    blend, _, bins, logits = example(12)
    compiled = CompiledBlend(blend, bins).probs(logits, NOTHING)
    monkeypatch.setattr(compiled_blends, "mixture", lambda: mix)
    plain = CompiledBlend(blend, bins).probs(logits, NOTHING)
    torch.testing.assert_close(compiled, plain, rtol=1e-11, atol=1e-15)


def test_a_row_is_mixed_the_same_in_any_company():
    blend, _, bins, logits = example(30)
    compiled = CompiledBlend(blend, bins)
    whole = compiled.probs(logits, NOTHING)
    for rows in (slice(0, 1), slice(7, 20)):
        some = SimpleInputs(*(part[rows] for part in NOTHING))
        assert torch.equal(compiled.probs(logits[:, rows], some), whole[rows])


def test_probabilities_that_leave_nothing_on_one_side_have_finite_results():
    blend, _, bins, logits = example(20, sharpness=3.0)
    logits[:, :, 3] = 1e4  # all mass of the networks in one bin
    blend.weights.copy_(torch.tensor([1.0, 0.0, 0.0]))
    probs = CompiledBlend(blend, bins).probs(logits, NOTHING)
    assert (probs >= 0).all()
    torch.testing.assert_close(probs[:, 3], torch.ones(N_ROWS, dtype=torch.float64))


def test_the_loop_is_used_where_its_results_are_those_of_the_blend(monkeypatch):
    blend, _, bins, _ = example(10)
    assert compiled_blend(blend, bins) is compiled_blend(blend, bins)
    assert compiled_blend(blend, bins).bins == bins
    shifted = Bins([border + 1 for border in bins.borders.tolist()])
    assert compiled_blend(blend, shifted).bins == shifted
    alone = Blend([])
    assert compiled_blend(alone, bins) is None
    point_mass = Blend([Part(None, Residuals(18))])
    assert compiled_blend(point_mass, bins) is None
    monkeypatch.setattr(compiled_blends, "is_installed", lambda: False)
    assert compiled_blend(blend, bins) is None
    assert compiled_blends.mixture.__wrapped__() is None


def test_values_that_repeat_and_forests_are_left_to_the_blend():
    blend, _, bins, _ = example(12)
    assert compiled_blend(blend, bins) is not None
    atoms = ValueAtoms(3)
    assert compiled_blend(Blend(list(blend.parts), atoms=atoms), bins) is None
    forest = Votes(ForestModel(1, (), n_trees=1, n_nodes=1, depth=1))
    assert compiled_blend(Blend([*blend.parts, forest]), bins) is None
