"""The cross-entropy and its shortcut: the same numbers as plain autograd."""

import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck

from histreg import HistogramLoss, losses, targets
from histreg import _cross_entropy as cross_entropy
from tests.registries import HISTOGRAM_LOSSES, LOSS_BINS, case

all_kinds = pytest.mark.parametrize(
    "options", HISTOGRAM_LOSSES.values(), ids=HISTOGRAM_LOSSES
)


@all_kinds
@pytest.mark.parametrize("piece", [24, 10**9], ids=["in pieces", "in one"])
def test_the_shortcut_has_the_gradient_of_plain_autograd(
    options, piece, generator, monkeypatch
):
    monkeypatch.setattr(cross_entropy, "_PIECES_ABOVE", 0)
    monkeypatch.setattr(cross_entropy, "_PIECE", piece)
    logits, y = case(generator, 5, 4)
    logits.requires_grad_()
    weight = torch.rand(5, 4, dtype=torch.float64)
    loss = HistogramLoss(LOSS_BINS, **options, reduction="none")

    def gradients(values):
        total = (values * weight).sum()
        # Twice: the second time the gradient that was handed out is found anew.
        return [
            torch.autograd.grad(total, logits, retain_graph=True)[0] for _ in range(2)
        ]

    short = loss(logits, y)
    first, second = gradients(short)
    monkeypatch.setattr(cross_entropy, "_needs_one_gradient", lambda *_: False)
    plain = loss(logits, y)
    expected, _ = gradients(plain)
    assert type(plain.grad_fn).__name__ != "_WithGradientBackward"
    torch.testing.assert_close(short, plain)
    torch.testing.assert_close(first, expected)
    torch.testing.assert_close(second, expected)


def test_dense_targets_take_the_shortcut_only_in_large_batches(monkeypatch):
    logits = torch.zeros(3, 12, requires_grad=True)
    p = targets.gaussian(torch.zeros(3), LOSS_BINS, sigma=0.5)

    def node():
        return type(losses.histogram_loss(logits, p).grad_fn).__name__

    assert node() == "NegBackward0"
    monkeypatch.setattr(cross_entropy, "_PIECES_ABOVE", 35)
    assert node() == "_WithGradientBackward"
    loss = HistogramLoss(LOSS_BINS, reduction="none")
    name = type(loss(logits, torch.zeros(3)).grad_fn).__name__
    assert name == "_WithGradientBackward"


# Torch's own forward derivative of log_softmax goes through the old compiler.
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
@all_kinds
def test_several_gradients_at_once_and_forward_mode(options, generator):
    logits, y = case(generator, 3)
    loss = HistogramLoss(LOSS_BINS, **options, reduction="none")
    plain = torch.autograd.functional.jacobian(lambda z: loss(z, y), logits)
    jacobian = torch.autograd.functional.jacobian
    for strategy in ("reverse-mode", "forward-mode"):
        found = jacobian(
            lambda z: loss(z, y), logits, vectorize=True, strategy=strategy
        )
        torch.testing.assert_close(found, plain)
    tangent = torch.randn_like(logits)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(logits.clone().requires_grad_(), tangent)
        found = forward_ad.unpack_dual(loss(dual, y)).tangent
    torch.testing.assert_close(
        found, (plain.diagonal(dim1=0, dim2=1) * tangent.T).sum(0)
    )


def test_pieces_differentiate_twice(generator, monkeypatch):
    monkeypatch.setattr(cross_entropy, "_PIECES_ABOVE", 0)
    monkeypatch.setattr(cross_entropy, "_PIECE", 24)
    logits, y = case(generator, 4)
    target_probs = targets.gaussian(y, LOSS_BINS, sigma=0.5)
    logits.requires_grad_()
    assert gradcheck(lambda out: losses.histogram_loss(out, target_probs), logits)
    assert gradgradcheck(lambda out: losses.histogram_loss(out, target_probs), logits)


def test_pieces_weigh_target_vectors_that_do_not_sum_to_one(generator, monkeypatch):
    logits, _ = case(generator, 6)
    p = torch.rand(6, 12, generator=generator, dtype=torch.float64)
    logits.requires_grad_()
    plain = losses.histogram_loss(logits, p)
    (expected,) = torch.autograd.grad(plain.sum(), logits)
    monkeypatch.setattr(cross_entropy, "_PIECES_ABOVE", 0)
    monkeypatch.setattr(cross_entropy, "_PIECE", 24)
    pieces = losses.histogram_loss(logits, p)
    (gradient,) = torch.autograd.grad(pieces.sum(), logits)
    torch.testing.assert_close(pieces, plain)
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("above", [0, 10**9])
def test_a_loss_scale_rescues_small_gradients_of_half_precision(above, monkeypatch):
    # exp(-20) is no float16 number, but 1,024 times it is.
    monkeypatch.setattr(cross_entropy, "_PIECES_ABOVE", above)
    logits = torch.zeros(3, 12, dtype=torch.float16)
    logits[:, 0] = -20
    logits.requires_grad_()
    p = targets.one_bin(torch.full((3,), 1.0), LOSS_BINS)
    value = losses.histogram_loss(logits, p).sum() * 1024
    (gradient,) = torch.autograd.grad(value, logits)
    assert gradient.dtype == torch.float16 and bool((gradient[:, 0] > 0).all())


@pytest.mark.parametrize("offset", [0.0, 1e4, -1e4])
def test_the_shortcut_is_as_stable_as_log_softmax(offset):
    # Far from zero, and with one logit towering over the rest.
    logits = torch.zeros(3, 12) + offset
    logits[1, 0] += 1e4
    logits[2, 5] -= 1e4
    y = torch.tensor([0.0, 2.9, 1.0])
    loss = HistogramLoss(LOSS_BINS, reduction="none")
    expected = loss(logits, y)  # no gradient, no shortcut
    torch.testing.assert_close(loss(logits.requires_grad_(), y), expected)
