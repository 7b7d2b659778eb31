"""Probes: additional measurements of networks in training, which do not affect it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from histreg.study.methods.criteria.criterion import Criterion
from histreg.study.methods.criteria.histograms import CrossEntropies
from histreg.study.networks.perceptrons import Perceptrons
from histreg.study.tabular.trainer import Examples, Probe, When, batches

N_PROBED = 2048  # rows on which gradients are measured
SMALLEST_EXCESS = 1e-12
ROWS_AT_ONCE = 256
SHOWN = (0.1, 0.5, 0.9)  # quantiles of y of the rows whose histograms are kept


class Gradients:
    """The steepness of the loss relative to its height, after each epoch.

    The norm of the gradient in all weights, and the loss minus the smallest possible
    one, both on the first 2,048 training rows.
    """

    when: ClassVar[When] = "every epoch"

    def measure(
        self,
        network: Perceptrons,
        criteria: Sequence[Criterion],
        rows: Examples,
        others: Mapping[str, Examples],  # noqa: ARG002
    ) -> list[dict[str, float]]:
        """Return "gradient norm" and "excess loss" of each network.

        The second is left out if the smallest loss is not known.
        """
        x = rows.x[:N_PROBED]
        everything = slice(0, len(x))
        outputs = network.forward(x)
        slopes = network.output_slopes(x)
        excess = []
        for criterion, out, slope in zip(criteria, outputs, slopes, strict=True):
            criterion.start_epoch(0, torch.arange(len(x)))
            criterion.gradient(out, everything, slope)
            floor = criterion.floor(everything).double()
            excess.append(criterion.loss(out, everything).double() - floor)
        network.backward(x)
        measured = [
            {"gradient norm": network.gradients.vector_of(i).norm().item()}
            for i in range(network.shape.n_models)
        ]
        for numbers, loss in zip(measured, torch.cat(excess).tolist(), strict=True):
            if not math.isnan(loss):
                numbers["excess loss"] = max(loss, SMALLEST_EXCESS)
        return measured


class Sensitivity:
    """How much predictions change with the inputs, on test rows at the end."""

    when: ClassVar[When] = "last epoch"

    def measure(
        self,
        network: Perceptrons,
        criteria: Sequence[Criterion],
        rows: Examples,  # noqa: ARG002
        others: Mapping[str, Examples],
    ) -> list[dict[str, float]]:
        """Return the mean norm of the derivative of the prediction by the inputs.

        In original units of y per standard deviation of the inputs.
        """
        measured: list[dict[str, float]] = [{} for _ in range(network.shape.n_models)]
        for name, part in others.items():
            norms = torch.cat(
                [
                    _input_slopes(network, criteria, part.x[batch]).norm(dim=-1)
                    for batch in batches(len(part.x), ROWS_AT_ONCE)
                ],
                dim=1,
            )  # (M, n)
            for numbers, norm in zip(measured, norms.double().mean(dim=1), strict=True):
                numbers[f"{name} sensitivity"] = norm.item()
        return measured


def _input_slopes(
    network: Perceptrons, criteria: Sequence[Criterion], x: Tensor
) -> Tensor:  # (M, n, d)
    outputs = network.forward(x)
    slopes = network.output_slopes(x)
    for criterion, out, slope in zip(criteria, outputs, slopes, strict=True):
        leaf = out.detach().requires_grad_()
        with torch.enable_grad():
            total = criterion.predict(leaf).sum()
        slope.copy_(torch.autograd.grad(total, leaf)[0])
    network.backward(x)
    return network.input_slopes(x)


class Snapshots:
    """The histograms predicted for three test rows, in the course of training.

    The rows whose y are the 10 %, 50 % and 90 % quantiles.
    """

    when: ClassVar[When] = "recorded epochs"

    def measure(
        self,
        network: Perceptrons,
        criteria: Sequence[Criterion],
        rows: Examples,  # noqa: ARG002
        others: Mapping[str, Examples],
    ) -> list[dict[str, Any]]:
        """Return "<name> snapshots": for each of the rows, y and the probabilities.

        Nothing for networks that are not trained by cross-entropy over bins.
        """
        measured: list[dict[str, Any]] = [{} for _ in range(network.shape.n_models)]
        for name, part in others.items():
            ranked = part.y.argsort(stable=True)
            shown = ranked[[int(share * (len(ranked) - 1)) for share in SHOWN]]
            y = part.y[shown].tolist()
            i = 0
            groups = zip(criteria, network.forward(part.x[shown]), strict=True)
            for criterion, outputs in groups:  # (M, 3, o)
                for probs in outputs.double().softmax(dim=-1).tolist():
                    if isinstance(criterion, CrossEntropies):
                        measured[i][f"{name} snapshots"] = [
                            {"y": at, "probs": h}
                            for at, h in zip(y, probs, strict=True)
                        ]
                    i += 1
        return measured


PROBES: dict[str, type[Probe]] = {
    "gradients": Gradients,
    "sensitivity": Sensitivity,
    "snapshots": Snapshots,
}
