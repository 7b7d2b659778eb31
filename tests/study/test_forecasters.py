"""Bodies of forecasters: shapes, and what they may and may not see."""

import math

import pytest
import torch

from histreg.study.forecasters import BODIES, Transformer

EACH = pytest.mark.parametrize("name", BODIES)


@EACH
def test_a_body_makes_features_of_windows(name):
    body = BODIES[name](7, 12).eval()
    features = body(torch.randn(5, 12, 7))
    assert features.shape == (5, body.n_features)
    assert features.isfinite().all()


@EACH
def test_windows_do_not_see_one_another(name):
    torch.manual_seed(0)
    body = BODIES[name](7, 12).eval()
    x = torch.randn(5, 12, 7)
    changed = x.clone()
    changed[1:] += 1
    torch.testing.assert_close(body(x)[0], body(changed)[0])


def test_the_linear_body_sees_the_target_alone():
    x = torch.randn(5, 12, 7)
    assert torch.equal(BODIES["Linear"](7, 12)(x), x[..., -1])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # 2 layers: 4 (or 3) gates of 256 x (7 + 256) and 256 x 512, two biases each;
        # 2 x 512 of layer norms.
        ("LSTM", 4 * 256 * (7 + 256 + 2) + 4 * 256 * (256 + 256 + 2) + 1024),
        ("GRU", 3 * 256 * (7 + 256 + 2) + 3 * 256 * (256 + 256 + 2) + 1024),
        # 7 to 128; 3 blocks of attention, two layers of 512 and two norms.
        (
            "Transformer",
            8 * 128
            + 3 * (4 * (128 * 128 + 128) + 128 * 512 + 512 + 512 * 128 + 128 + 4 * 128),
        ),
        ("Linear", 0),
    ],
)
def test_the_numbers_of_weights_are_those_of_the_paper_s_sizes(name, expected):
    assert sum(each.numel() for each in BODIES[name](7, 96).parameters()) == expected


def test_the_order_of_moments_matters_to_the_transformer():
    torch.manual_seed(0)
    body = Transformer(7, 12).eval()
    x = torch.randn(1, 12, 7)
    assert not torch.allclose(body(x), body(x.flip(1)))


def test_places_are_sines_and_cosines_of_falling_frequency():
    places = Transformer(7, 5).places
    assert places[3, 0].item() == pytest.approx(math.sin(3))
    assert places[3, 1].item() == pytest.approx(math.cos(3))
    slow = 10_000 ** (-126 / 128)
    assert places[3, 126].item() == pytest.approx(math.sin(3 * slow), rel=1e-5)
