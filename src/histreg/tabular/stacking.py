"""Stacking: predictions for held-out training rows, and what is chosen by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from histreg.distribution import Histogram
from histreg.tabular.atoms import Atoms, EndAtoms, ValueAtoms
from histreg.tabular.blending import (
    MIN_ROWS,
    MOST_ROWS,
    Blend,
    Part,
    Votes,
    averaging_gain,
    mean_of,
    n_divided_for,
    relative_spread,
    spread_of,
)
from histreg.tabular.columns import Table
from histreg.tabular.conformal import Calibration
from histreg.tabular.forest_model import ForestModel, fit_forest
from histreg.tabular.kernel_model import fit_kernel
from histreg.tabular.linear_model import fit_linear
from histreg.tabular.model import Model
from histreg.tabular.simple_models import Fitted, SimpleInputs, folds_of
from histreg.tabular.training import Generators
from histreg.tabular.training_rows import TrainingRows
from histreg.tabular.tree_model import fit_trees

SMALLEST_SPREAD = 1e-6  # in standard units
# A kernel model and a forest are tried where targets are nearly exact, and a kernel
# model on small tables: elsewhere they gained nothing on development tables. Below
# 1,000 rows, averaging networks gains more than held-out rows show, each of which is
# predicted by one network, so that a forest looks too good.
NEAR_EXACT = 0.1  # mean absolute error of the best model, in standard units
SMALL = 2_000  # rows
LEAST_SHARE = 2 / 3  # of the rows of a small table, to be held out
MOST_KERNEL_ROWS = 20_000
MIN_FOREST_ROWS = 1_000
# By how much the score must be lower with them, for their size and time.
LEAST_GAIN = {"kernel": 0.005, "forest": 0.02}


def stack(
    model: Model,
    names: Sequence[str],
    data: TrainingRows[Table],
    rows: TrainingRows[tuple[Tensor, ...]],
    held_out: Tensor,
    generators: Generators,
    *,
    divides_bins: bool = True,
) -> None:
    """Mix the networks of a model with simple models, by its held-out rows.

    Nothing happens without names, or if fewer rows were held out than `MIN_ROWS` and
    than `LEAST_SHARE` of the table.

    Parameters
    ----------
    model : Model
    names : sequence of {"linear", "trees", "forest"}
        The simple models, of which those without weight are left out. A forest is
        tried only where targets are nearly exact.
    data : TrainingRows of a Table
    rows : TrainingRows of a network's inputs
        The same rows.
    held_out : Tensor of shape (M, n), bool
        The rows that each network has not seen.
    generators : Generators
    divides_bins : bool
        Whether bins are divided where residuals are narrow, and laid around values that
        targets repeat.
    """
    chosen = torch.nonzero(held_out.any(dim=0).cpu()).flatten()
    if not names or len(chosen) < min(MIN_ROWS, LEAST_SHARE * len(data)):
        return
    if len(chosen) > MOST_ROWS:
        some = torch.randperm(len(chosen), generator=generators.cpu)[:MOST_ROWS]
        chosen = chosen[some.sort().values]
    networks = held_out_histograms(model, rows, held_out, chosen)
    inputs = model.simple_inputs(data.inputs)
    folds = folds_of(len(data), generators.cpu)
    seed = int(torch.randint(2**31 - 1, (), generator=generators.cpu))
    targets = [
        _Target.of(
            of_target,
            center,
            scale,
            data.y[:, i],
            chosen,
            lambda name, y: _fitted(name, model, inputs, y, data.weight, folds, seed),
            names,
        )
        for i, (of_target, center, scale) in enumerate(
            zip(
                networks,
                model.objective.center.tolist(),
                model.objective.scale.tolist(),
                strict=True,
            )
        )
    ]
    atoms: Atoms | None = None
    n_divided = max(target.n_divided for target in targets) if divides_bins else 1
    if divides_bins and len(targets) == 1:  # several targets share their number of bins
        y, bins = data.y[:, 0], networks[0].bins
        atoms = ValueAtoms.of(y, bins)
        if atoms is not None:
            n_divided = 1
        else:
            atoms = EndAtoms.of(y, bins, n_divided)
    # Where all networks hold out the same rows, these are predicted by all of them, as
    # new rows are.
    is_alike = bool(held_out[:, chosen.to(held_out.device)].all())
    gain = 1.0 if is_alike else averaging_gain(len(data))
    weight = data.weight[chosen]
    blends = [
        target.blend(weight, n_divided, gain=gain, atoms=atoms) for target in targets
    ]
    model.blends = [blend.without_unused() for blend, _ in blends]
    mixed = [
        target.mixed(*blended) for target, blended in zip(targets, blends, strict=True)
    ]
    y = data.y[chosen] if atoms is None else atoms.centered(data.y[chosen])
    logits = torch.stack([own.logits for own in mixed], dim=1)
    model.held_out = Calibration(model.bins, logits, y)


class _Target(NamedTuple):
    """What was predicted of one target for n held-out rows."""

    networks: Histogram
    center: float
    scale: float
    y: Tensor  # (n,), in standard units
    fitted: list[Fitted]  # in standard units, the networks first

    @classmethod
    def of(
        cls,
        networks: Histogram,
        center: float,
        scale: float,
        y: Tensor,
        chosen: Tensor,
        fit: Callable[[str, Tensor], Fitted | None],
        names: Sequence[str],
    ) -> _Target:
        """Fit simple models to all rows, and keep what they predict for the chosen."""
        y = (y - center) / scale
        bins = networks.bins.standardised(center, scale)
        fitted = [Fitted(None, mean_of(networks.probs, bins.borders))]
        # Those with a condition last, since it depends on the others.
        for name in sorted(names, key=list(LEAST_GAIN).count):
            errors = [(one.points - y[chosen]).abs().mean() for one in fitted]
            if not _is_tried(name, len(y), min(errors).item()):
                continue
            own = fit(name, y)
            if own is not None:
                fitted.append(own.at(chosen))
        return cls(networks, center, scale, y[chosen], fitted)

    @property
    def n_divided(self) -> int:
        """Into how many parts the bins of this target should be divided."""
        residuals = [self.y - one.points for one in self.fitted]
        bins = self.networks.bins.standardised(self.center, self.scale)
        return n_divided_for(residuals, self.y, bins)

    def blend(
        self,
        weight: Tensor,
        n_divided: int,
        *,
        gain: float,
        atoms: Atoms | None = None,
    ) -> tuple[Blend, list[Tensor]]:
        """Return the mixture of the networks and these models, fitted to the rows.

        Models that gain less than `LEAST_GAIN` are no part of it. What its parts
        predict for the rows comes with it.
        """
        bins = self.networks.bins.standardised(self.center, self.scale)
        probs = self.networks.probs
        spread = spread_of(probs, bins.borders)
        typical = spread.clamp(min=SMALLEST_SPREAD).log().mean().exp()
        relative = relative_spread(probs, bins.borders, typical)
        empty = Blend(
            [],
            center=self.center,
            scale=self.scale,
            n_divided=n_divided,
            atoms=atoms,
        )
        score = empty.score(self.networks.bins)
        mixing = empty.mixing_bins(self.networks.bins)
        mixing = mixing.standardised(self.center, self.scale)
        parts = [
            Votes(one.model)
            if isinstance(one.model, ForestModel)
            else Part.fitted(one, relative, self.y, weight, mixing, score)
            for one in self.fitted
        ]

        def fitted(chosen: Sequence[int]) -> tuple[float, Blend]:
            blend = Blend(
                [parts[i] for i in chosen],
                center=self.center,
                scale=self.scale,
                n_divided=n_divided,
                atoms=atoms,
            )
            blend.typical_spread.copy_(typical)
            y = self.y * self.scale + self.center
            predicted = [self.fitted[i].held_out for i in chosen]
            return blend.fit(self.networks, predicted, y, weight, gain=gain), blend

        gains = [LEAST_GAIN.get(part.described()["kind"]) for part in parts]
        kept = [i for i, least in enumerate(gains) if least is None]
        lowest, blend = fitted(kept)
        for i, least in enumerate(gains):
            if least is None:
                continue
            lower, larger = fitted([*kept, i])
            if lower <= (1 - least) * lowest:
                kept, lowest, blend = [*kept, i], lower, larger
        return blend, [self.fitted[i].held_out for i in kept]

    def mixed(self, blend: Blend, predicted: Sequence[Tensor]) -> Histogram:
        """Return the mixture for the held-out rows, given what its parts predict."""
        bins = self.networks.bins
        divided, geometry = blend.divided(self.networks.probs), blend.geometry(bins)
        mixed = blend.mixed(divided, predicted, geometry)
        return Histogram(blend.bins(bins), probs=blend.placed(mixed))


def _is_tried(name: str, n: int, error: float) -> bool:
    """Whether a model is fitted to n rows, the best of the others being off by that."""
    if name == "kernel":
        return n <= SMALL or (n <= MOST_KERNEL_ROWS and error < NEAR_EXACT)
    return name != "forest" or (n >= MIN_FOREST_ROWS and error < NEAR_EXACT)


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
    own_bins = model.objective.bins
    parts: list[list[Tensor]] = [[] for _ in own_bins]
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
        for bins, part in zip(own_bins, parts, strict=True)
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
    if name == "forest":
        return Fitted(*fit_forest(inputs, y, weight, n_codes, seed=seed))
    if name == "kernel":
        return fit_kernel(inputs, y, weight, folds, n_codes, seed=seed)
    return fit_trees(inputs, y, weight, folds, n_codes, seed=seed)
