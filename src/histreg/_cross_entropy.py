"""The cross-entropy of logits with target vectors, and how it is evaluated.

Two plain formulas, `_dense` and `_window`, and a shortcut: if only the first derivative
in the logits is needed, the forward pass computes it too, in closed form and mostly in
place. On a CPU, allocating memory costs as much as the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from histreg._tensors import at_least_float32, is_concrete, is_free_to_read
from histreg._windows import Window

# Dense targets of more logits than this are evaluated in pieces of at most so many: a
# piece and its intermediates stay in the cache, and their memory is used again. At
# 65,536 x 256 on two cores that takes 0.7 of the time of F.cross_entropy, plain
# autograd 1.4; at 4,096 rows plain autograd is the faster one.
_PIECES_ABOVE, _PIECE = 2**21, 2**19


def cross_entropy(logits: Tensor, target_probs: Tensor) -> Tensor:
    """Return the cross-entropy of each sample with a whole target vector.

    Parameters
    ----------
    logits, target_probs : Tensors of shape (..., k)

    Returns
    -------
    Tensor of shape (...), float32 for half precision logits
    """
    if (
        logits.numel() > _PIECES_ABOVE
        and logits.device.type == "cpu"
        # Half precision would round the gradient before the loss scale is applied.
        and logits.dtype.itemsize >= 4
        and _needs_one_gradient(logits, [target_probs])
    ):
        return _WithGradient.apply(
            _dense, _evaluate_in_pieces, "none", logits, target_probs
        )
    return _dense(logits, target_probs)


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Return losses per sample unchanged, or their mean or sum."""
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def window_cross_entropy(
    logits: Tensor, window: Window, reduction: str = "none"
) -> Tensor:
    """Return the cross-entropy with target vectors that are zero outside a window.

    Parameters
    ----------
    logits : Tensor of shape (..., k), float32 or float64
    window : Window of shape (..., m), or of its last dimensions
        Samples of leading dimensions that the window lacks share it.
    reduction : {"none", "mean", "sum"}
        Taken here rather than by the caller, it needs no step of its own in the
        backward pass.

    Returns
    -------
    Tensor of shape (...), or () if reduced
    """
    window = _as_wide(window, logits)
    if _needs_one_gradient(logits, window):
        return _WithGradient.apply(
            _window, _evaluate_window, reduction, logits, *window
        )
    return reduced(_window(logits, *window), reduction)


def window_cross_entropy_with_gradient(
    logits: Tensor, window: Window
) -> tuple[Tensor, Tensor]:
    """Return `window_cross_entropy` and its gradient: (...), (..., k)."""
    return _evaluate_window("none", logits, *_as_wide(window, logits))


def cross_entropy_with_gradient(
    logits: Tensor, target_probs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return `cross_entropy` and its gradient: (..., k) -> (...), (..., k)."""
    log_probs = logits.log_softmax(dim=-1)
    losses = -(target_probs * log_probs).sum(dim=-1)
    whole = target_probs.sum(dim=-1, keepdim=True)  # 1 up to rounding
    return losses, log_probs.exp_().mul_(whole).sub_(target_probs)


def _as_wide(window: Window, logits: Tensor) -> Window:
    """Return a window for all samples; leading dimensions that it lacks share it."""
    if window.indices.dim() == logits.dim():
        return window
    shape = (*logits.shape[:-1], window.indices.shape[-1])
    return Window(*(part.expand(shape) for part in window))


def evaluated_cross_entropy(
    loss: Callable[[Tensor, Tensor], Tensor],
    evaluate: Callable[[str, Tensor, Tensor], tuple[Tensor, Tensor]],
    logits: Tensor,
    y: Tensor,
    reduction: str,
) -> Tensor | None:
    """Return the loss of ``evaluate``, or None if more than a gradient is needed.

    Parameters
    ----------
    loss, evaluate : callable
        See `_WithGradient`. If ``evaluate`` has a true ``divides_gradient``, the
        gradient that it returns with ``"mean"`` is that of the mean.
    logits : Tensor of shape (..., k)
    y : Tensor of shape (...)
    reduction : {"none", "mean", "sum"}
    """
    if not _needs_one_gradient(logits, [y]):
        return None
    return _WithGradient.apply(loss, evaluate, reduction, logits, y)


def _dense(logits: Tensor, target_probs: Tensor) -> Tensor:
    log_probs = at_least_float32(logits).log_softmax(dim=-1)
    return -(target_probs.to(log_probs.dtype) * log_probs).sum(dim=-1)


def _window(logits: Tensor, indices: Tensor, target_probs: Tensor) -> Tensor:
    log_probs = logits.log_softmax(dim=-1)
    return -(log_probs.gather(-1, indices) * target_probs).sum(dim=-1)


def _needs_one_gradient(logits: Tensor, data: Iterable[Tensor]) -> bool:
    """Whether `_WithGradient` applies: only a first derivative is needed."""
    if not (torch.is_grad_enabled() and logits.requires_grad and is_concrete(logits)):
        return False
    for tensor in data:
        if tensor.requires_grad or not is_concrete(tensor):
            return False
    return forward_ad.unpack_dual(logits).tangent is None


class _WithGradient(torch.autograd.Function):
    """A loss whose forward pass computes the gradient as well.

    ``loss(logits, *data)`` is the plain formula, (..., k), ... -> (...);
    ``evaluate(reduction, logits, *data)`` returns its values, `reduced`, and the
    gradient of each sample's in the logits. The backward pass scales that gradient in
    place and hands it out; a second one evaluates anew, and one that is itself to be
    differentiated goes through the plain formula.
    """

    @staticmethod
    def forward(
        ctx: Any,
        loss: Callable[..., Tensor],
        evaluate: Callable[..., tuple[Tensor, Tensor]],
        reduction: str,
        logits: Tensor,
        *data: Tensor,
    ) -> Tensor:
        value, ctx.gradient = evaluate(reduction, logits.detach(), *data)
        ctx.loss, ctx.evaluate, ctx.reduction = loss, evaluate, reduction
        ctx.n_data = len(data)
        ctx.is_divided = reduction == "mean" and getattr(
            evaluate, "divides_gradient", False
        )
        ctx.n_samples = logits.numel() // logits.shape[-1]
        ctx.save_for_backward(logits, *data)
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scale = grads[0]  # () if reduced, else (...)
        gradient, ctx.gradient = ctx.gradient, None
        if (
            ctx.is_divided
            and gradient is not None
            and not torch.is_grad_enabled()
            and is_free_to_read(scale)
        ):
            # The usual backward pass of a mean: nothing is left to do.
            if scale.item() != 1:
                gradient.mul_(scale)
            return (None, None, None, gradient, *[None] * ctx.n_data)
        if ctx.reduction == "none":
            scale = scale.unsqueeze(-1)
        elif ctx.reduction == "mean":
            scale = scale / ctx.n_samples
        if ctx.is_divided and gradient is not None:
            gradient = gradient * ctx.n_samples
        if torch.is_grad_enabled():  # create_graph=True
            logits, *data = ctx.saved_tensors
            value = ctx.loss(logits, *data).sum()
            (gradient,) = torch.autograd.grad(value, logits, create_graph=True)
            gradient = gradient * scale
        else:
            if gradient is None:
                logits, *data = ctx.saved_tensors
                _, gradient = ctx.evaluate("none", logits.detach(), *data)
            # Several gradients at once (is_grads_batched) do not fit in place.
            gradient = gradient.mul_(scale) if is_concrete(scale) else gradient * scale
        return (None, None, None, gradient, *[None] * ctx.n_data)


def _evaluate_window(
    reduction: str, logits: Tensor, indices: Tensor, target_probs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy over a window and its gradient, softmax - target.

    With the largest logit as origin nothing overflows, and its probability, at least
    1 / k, gives the logarithm of the sum. The softmax itself becomes the gradient, so
    that one array of the logits' size is made where plain autograd makes four.
    """
    probs = logits.softmax(dim=-1)  # (..., k)
    top = logits.amax(dim=-1, keepdim=True)  # (..., 1)
    within = logits.gather(-1, indices).sub_(top)  # (..., m)
    losses = -within.mul_(target_probs).sum(dim=-1) - probs.amax(dim=-1).log()
    gradient = probs.scatter_add_(-1, indices, -target_probs)
    return reduced(losses, reduction), gradient


def _evaluate_in_pieces(
    reduction: str, logits: Tensor, target_probs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy and its gradient, some rows at a time."""
    k = logits.shape[-1]
    rows, targets = logits.reshape(-1, k), target_probs.reshape(-1, k)
    gradient = torch.empty_like(rows)
    losses = []
    size = max(1, _PIECE // k)
    for begin in range(0, len(rows), size):
        piece = slice(begin, begin + size)
        value, gradient[piece] = _evaluate_dense(rows[piece], targets[piece])
        losses.append(value)
    whole = torch.cat(losses).reshape(logits.shape[:-1])
    return reduced(whole, reduction), gradient.view_as(logits)


def _evaluate_dense(logits: Tensor, target_probs: Tensor) -> tuple[Tensor, Tensor]:
    with torch.enable_grad():
        logits = logits.detach().requires_grad_()
        log_probs = at_least_float32(logits).log_softmax(dim=-1)
    p = target_probs.to(log_probs.dtype)
    losses = -(p * log_probs.detach()).sum(dim=-1)
    # The derivative of log_softmax along p is what the loss needs, but for a sign.
    (minus,) = torch.autograd.grad(log_probs, logits, p)
    return losses, minus.neg_()
