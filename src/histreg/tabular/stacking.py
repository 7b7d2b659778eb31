"""Stacking: predictions for held-out training rows, and what is chosen by them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from histreg.distribution import Histogram
from histreg.tabular.blending import (
    MIN_ROWS,
    MOST_ROWS,
    Blend,
    Part,
    relative_spread,
    spread_of,
)
from histreg.tabular.columns import Table
from histreg.tabular.conformal import Calibration
from histreg.tabular.linear_model import fit_linear
from histreg.tabular.model import Model
from histreg.tabular.simple_models import Fitted, SimpleInputs, folds_of
from histreg.tabular.training import Generators
from histreg.tabular.training_rows import TrainingRows
from histreg.tabular.tree_model import fit_trees

SMALLEST_SPREAD = 1e-6  # in standard units


def stack(
    model: Model,
    names: Sequence[str],
    data: TrainingRows[Table],
    rows: TrainingRows[tuple[Tensor, ...]],
    held_out: Tensor,
    generators: Generators,
) -> None:
    """Mix the networks of a model with simple models, by its held-out rows.

    Nothing happens if fewer than `MIN_ROWS` rows were held out, or without names.

    Parameters
    ----------
    model : Model
    names : sequence of {"linear", "trees"}
        The simple models, of which those without weight are left out.
    data : TrainingRows of a Table
    rows : TrainingRows of a network's inputs
        The same rows.
    held_out : Tensor of shape (M, n), bool
        The rows that each network has not seen.
    generators : Generators
    """
    chosen = torch.nonzero(held_out.any(dim=0).cpu()).flatten()
    if len(chosen) < MIN_ROWS or not names:
        return
    if len(chosen) > MOST_ROWS:
        some = torch.randperm(len(chosen), generator=generators.cpu)[:MOST_ROWS]
        chosen = chosen[some.sort().values]
    networks = held_out_histograms(model, rows, held_out, chosen)
    inputs = model.simple_inputs(data.inputs)
    folds = folds_of(len(data), generators.cpu)
    seed = int(torch.randint(2**31 - 1, (), generator=generators.cpu))
    blends, predicted = [], []
    for i, of_target in enumerate(networks):
        center = model.objective.center[i].item()
        scale = model.objective.scale[i].item()
        y, weight = (data.y[:, i] - center) / scale, data.weight
        fitted = [
            own
            for name in names
            if (own := _fitted(name, model, inputs, y, weight, folds, seed)) is not None
        ]
        bins = of_target.bins.standardised(center, scale)
        spread = spread_of(of_target.probs, bins.borders)
        typical = spread.clamp(min=SMALLEST_SPREAD).log().mean().exp()
        relative = relative_spread(of_target.probs, bins.borders, typical)
        blend = Blend(
            [Part.fitted(one, relative, y, weight, chosen, bins) for one in fitted],
            center=center,
            scale=scale,
        )
        blend.typical_spread.copy_(typical)
        simple = [one.held_out[chosen] for one in fitted]
        blend.fit(of_target, simple, data.y[chosen, i], weight[chosen])
        probs = blend.mixed(of_target.probs, simple, of_target.bins.borders)
        predicted.append(Histogram(of_target.bins, probs=probs).logits)
        blends.append(blend.without_unused())
    model.blends = blends
    model.held_out = Calibration(
        model.bins, torch.stack(predicted, dim=1), data.y[chosen]
    )


@torch.no_grad()
def held_out_histograms(
    model: Model,
    rows: TrainingRows[tuple[Tensor, ...]],
    held_out: Tensor,
    chosen: Tensor,
) -> list[Histogram]:
    """Return the mixture of the networks that have not seen a row, by target.

    Parameters
    ----------
    model : Model
    rows : TrainingRows of a network's inputs
    held_out : Tensor of shape (M, n), bool
        Each of the chosen rows is held out by at least one network.
    chosen : Tensor of shape (c,), int64

    Returns
    -------
    list of m Histograms of batch shape (c,), float64 on the CPU
    """
    network = model.sharp or model.network
    parts: list[list[Tensor]] = [[] for _ in model.bins]
    for some in chosen.split(4096):
        index = some.to(held_out.device)
        inputs = (part.index_select(0, index) for part in rows.inputs)
        outputs = network(*inputs).cpu()  # (M, c, m, k)
        has_not_seen = held_out[:, index].cpu()  # (M, c)
        for i, part in enumerate(parts):
            probs = outputs[:, :, i].to(torch.float64).softmax(dim=-1)
            total = (probs * has_not_seen.unsqueeze(-1)).sum(dim=0)
            part.append(total / has_not_seen.sum(dim=0).unsqueeze(-1))
    return [
        Histogram(bins, probs=torch.cat(part))
        for bins, part in zip(model.bins, parts, strict=True)
    ]


def _fitted(
    name: str,
    model: Model,
    inputs: SimpleInputs,
    y: Tensor,
    weight: Tensor,
    folds: Tensor,
    seed: int,
) -> Fitted | None:
    n_codes = model.codes.n_codes
    if name == "linear":
        return fit_linear(inputs, y, weight, folds, n_codes)
    return fit_trees(inputs, y, weight, folds, n_codes, seed=seed)
