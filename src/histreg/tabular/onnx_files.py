"""ONNX files: a model's predictions, scaling included, for other runtimes.

Calibrated quantiles and central intervals are quantiles of the predicted distribution
at levels that are the same for all rows of a group, so a file can hold them. Labels
and groups are given by their numbers, or as text, which ONNX's operator LabelEncoder
turns into these numbers.
"""

from __future__ import annotations

import copy
import json
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from histreg._checks import check_fraction
from histreg._files import atomic_write
from histreg._tensors import as_float64
from histreg.errors import InputError
from histreg.tabular import conformal
from histreg.tabular.blending import (
    Blend,
    Part,
    Votes,
    masses,
    mean_of,
    relative_spread,
)
from histreg.tabular.calibrated import corrections_of
from histreg.tabular.columns import NumberScaling, calendar, named_kinds
from histreg.tabular.kernel_model import KernelModel
from histreg.tabular.model import Model
from histreg.tabular.networks import Stack
from histreg.tabular.objectives import OnHistogram, OnNumber
from histreg.tabular.onnx_trees import (
    ML_DOMAIN,
    Ensemble,
    Ensembles,
    ensemble_of_forest,
    ensemble_of_trees,
    import_ml,
    interpolated,
    interpolation,
    trees_columns,
)
from histreg.tabular.row_groups import RowGroups
from histreg.tabular.simple_models import SimpleInputs
from histreg.tabular.tree_model import TreeModel


class Exported(nn.Module):
    """A model as plain tensor operations: raw columns in, mean and quantiles out.

    Parameters
    ----------
    model : Model
        Of an objective on bins or on one number.
    alpha : sequence of q floats
        Levels of the quantiles.
    coverage : float, optional
        Return the ends of central intervals too, calibrated if the model is.
    calibrated : bool
        Whether the quantiles are those of the calibrated distribution.
    """

    def __init__(
        self,
        model: Model,
        alpha: Sequence[float],
        coverage: float | None = None,
        *,
        calibrated: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(model.objective, OnHistogram | OnNumber):
            raise InputError(
                "to_onnx needs a loss on bins or on one number, got "
                f"{type(model.objective).__name__}"
            )
        if not (model.scaling.n_outputs or model.codes.n_codes):
            raise InputError("to_onnx needs a column that varies, got none")
        if not all(0 <= level <= 1 for level in alpha):
            raise InputError(f"alpha must hold levels in [0, 1], got {list(alpha)}")
        self.is_histogram = isinstance(model.objective, OnHistogram)
        self.kinds = [kind for kind in model.kinds if kind != "label"]
        self.scaling: NumberScaling = model.scaling
        self.stack: Stack = model.sharp or model.network
        self.blends = None if model.blends is None else nn.ModuleList(model.blends)
        self.atoms = model.atoms
        pairs = zip(model.blends or (), model.objective.bins, strict=False)
        self.geometries = [blend.geometry(bins) for blend, bins in pairs]
        self.ensembles = Ensembles()
        self.scores = interpolation(
            self.scaling.knots.numpy(), self.scaling.scores.numpy()
        )
        blends = model.blends or ()
        self.trees = [list(map(_trees_of, blend.all_parts)) for blend in blends]
        self.residuals = list(map(_residuals_of, blends))
        self.centers: Tensor  # (m, k)
        self.borders: Tensor  # (m, k + 1)
        self.center: Tensor  # (m,)
        self.scale: Tensor  # (m,)
        self.levels: Tensor  # (g + 1, m, q), and two more for an interval
        self.fixed: Tensor  # of the same shape: y instead of a quantile, or NaN
        self.has_interval = coverage is not None
        self.groups = _groups_of(model, coverage, calibrated=calibrated)
        centers = torch.stack([bins.centers for bins in model.bins])
        borders = torch.stack([bins.borders for bins in model.bins])
        self.register_buffer("centers", centers)
        self.register_buffer("borders", borders)
        self.register_buffer("center", model.objective.center)
        self.register_buffer("scale", model.objective.scale)
        self.tails = [(bins.lower_tail, bins.upper_tail) for bins in model.bins]
        levels, fixed = _levels(
            model, alpha, coverage, calibrated=calibrated, groups=self.groups
        )
        self.register_buffer("levels", levels)
        self.register_buffer("fixed", fixed)

    def forward(
        self,
        numbers: Tensor,
        codes: Tensor | None = None,
        groups: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, ...]:
        """Return means (n, m), and of a histogram quantiles (n, m, q).

        With a coverage also the lower and the upper ends of intervals, (n, m) each. The
        group of a row (n,) is its position in the list of groups, from 1, or 0.
        """
        if codes is None:  # a table without labels
            codes = torch.zeros(numbers.shape[0], 0, dtype=torch.int64)
        numbers = self._with_calendar(numbers)
        scaled = self._scaled(numbers)
        outputs = self.stack(scaled, codes)  # (M, n, m, o)
        if not self.is_histogram:
            outputs = outputs.to(torch.float64).squeeze(-1)
            return self.center + self._average(outputs) * self.scale
        if self.blends is None:  # the smallest probabilities matter
            outputs = outputs.to(torch.float64)
        probs = outputs.softmax(dim=-1).to(torch.float64)
        probs = self._average(probs)  # (n, m, k)
        if self.blends is not None:
            probs = self._blended(probs, SimpleInputs(numbers, scaled, codes))
        mean = (probs * self.centers).sum(dim=-1)
        if groups is None:  # one for all rows
            levels, fixed = self.levels[0], self.fixed[0]
        else:
            levels, fixed = self.levels[groups], self.fixed[groups]
        quantiles = self._quantiles(probs, levels)
        if self.atoms is not None:
            quantiles = self.atoms.rounded(quantiles)
        if self.groups is not None:
            quantiles = torch.where(fixed.isnan(), quantiles, fixed)
        if not self.has_interval:
            return mean, quantiles
        return mean, quantiles[..., :-2], quantiles[..., -2], quantiles[..., -1]

    def _with_calendar(self, numbers: Tensor) -> Tensor:
        """Return the numbers of a `Table` for one number per column."""
        parts = [
            calendar(numbers[:, i]) if kind == "time" else numbers[:, i : i + 1]
            for i, kind in enumerate(self.kinds)
        ]
        return torch.cat(parts, dim=1) if "time" in self.kinds else numbers

    def _scaled(self, numbers: Tensor) -> Tensor:
        """Return what `NumberScaling` does, by a search that ONNX has."""
        columns = numbers.index_select(1, self.scaling.kept)  # (n, kept)
        if not len(self.scaling.kept):
            return self.scaling.with_gaps(columns, numbers)
        segments = self.ensembles.exported(self.scores, columns)
        segments = segments.unflatten(1, (-1, 4))
        return self.scaling.with_gaps(interpolated(columns, segments), numbers)

    def _blended(self, probs: Tensor, inputs: SimpleInputs) -> Tensor:  # (n, m, k)
        assert self.blends is not None
        by_target = [
            self._mixed(self.blends[i], probs[:, i], inputs, i)
            for i in range(len(self.geometries))
        ]
        return torch.stack(by_target, dim=1)

    def _mixed(
        self, blend: nn.Module, probs: Tensor, inputs: SimpleInputs, i: int
    ) -> Tensor:
        """Return what `Blend.distribution` does for the i-th target: (n, k)."""
        assert isinstance(blend, Blend)
        borders, cells, shares = self.geometries[i]
        networks = blend.divided(probs)
        spread = relative_spread(networks, borders, blend.typical_spread)
        mixture = networks if shares is None else networks @ shares
        mixture = blend.weights[0] * mixture
        points, weights, powers = [], [], []
        for j, part in enumerate(blend.all_parts):
            weight = blend.weights[1 + j]
            if isinstance(part, Votes):
                features = part.model.features(inputs)
                votes = self.ensembles.exported(self.trees[i][j], features)
                mass = part.probs(votes.to(torch.float64), spread, cells)
                mixture = mixture + weight * mass
                continue
            if part.model is None:
                own = mean_of(networks, borders)
            elif isinstance(part.model, TreeModel):
                columns = trees_columns(part.model, inputs)
                sums = self.ensembles.exported(self.trees[i][j], columns)
                own = part.model.bias + sums.squeeze(1)
            elif isinstance(part.model, KernelModel):
                own = part.model.of_block(part.model.features(inputs))
            else:
                own = part.model(inputs)
            points.append(own)
            weights.append(weight)
            powers.append(part.power)
        if points:  # the cdfs around them, at once
            predicted = torch.stack(points, dim=1)  # (n, J)
            scale = spread[:, None] ** torch.stack(powers)
            residuals = (cells[1:-1, None] - predicted[:, None]) / scale[:, None]
            segments = self.ensembles.exported(
                self.residuals[i], residuals.flatten(0, 1)
            ).unflatten(1, (-1, 4))
            cdfs = interpolated(residuals.flatten(0, 1), segments)  # (n (k - 1), J)
            own_weights = torch.stack(weights)
            cdf = (cdfs @ own_weights).view_as(residuals[..., 0])
            mixture = mixture + masses(cdf, own_weights.sum())
        return blend.placed(_sharpened(mixture, blend.sharpness))

    def _average(self, values: Tensor) -> Tensor:
        # mean() would have the name of our output in the graph.
        return values.sum(dim=0) / self.stack.n_models

    def _quantiles(self, probs: Tensor, levels: Tensor) -> Tensor:  # (n, m, q)
        """Return quantiles at levels (m, q), or (n, m, q) by row."""
        cdf = probs.cumsum(dim=-1)  # (n, m, k), at the upper border of each bin
        cdf = cdf / cdf[..., -1:]
        # (n, m, 1, k) against (m, q, 1) or (n, m, q, 1)
        index = (cdf.unsqueeze(-2) < levels.unsqueeze(-1)).to(torch.int64).sum(-1)
        index = index.clamp(max=cdf.shape[-1] - 1)  # (n, m, q)
        above = cdf.gather(-1, index)
        below = F.pad(cdf, (1, 0)).gather(-1, index)
        mass = above - below
        share = (levels - below) / mass.where(mass > 0, 1)
        borders = self.borders.expand(*probs.shape[:-1], -1)
        start, end = borders.gather(-1, index), borders.gather(-1, index + 1)
        share = share.clamp(0, 1)
        y = start + (end - start) * share
        return torch.stack(
            [
                self._in_tails(y[:, i], index[:, i], share[:, i], i)
                for i in range(len(self.tails))
            ],
            dim=1,
        )

    def _in_tails(self, y: Tensor, index: Tensor, share: Tensor, i: int) -> Tensor:
        """Return quantiles (n, q) of a target, replacing those in tail bins."""
        lower, upper = self.tails[i]
        if lower is not None:
            z = lower.distance(share)
            y = torch.where(index == 0, self.borders[i, 1] - z, y)
        if upper is not None:
            z = upper.distance(1 - share)
            y = torch.where(
                index == self.centers.shape[1] - 1, self.borders[i, -2] + z, y
            )
        return y


def _trees_of(part: Part | Votes) -> Ensemble | None:
    """Return the trees of a part of a mixture, if it has any."""
    if isinstance(part, Votes):
        return ensemble_of_forest(part.model)
    return ensemble_of_trees(part.model) if isinstance(part.model, TreeModel) else None


def _residuals_of(blend: Blend) -> Ensemble | None:
    """Return the cdfs of the residuals of all parts that have some."""
    own = [part.residuals for part in blend.all_parts if isinstance(part, Part)]
    if not own:
        return None
    longest = max(len(residuals.points) for residuals in own)
    # Beyond the last point the cdf is 1, so that it may be repeated.
    points, levels = (
        np.stack([np.pad(one, (0, longest - len(one)), mode="edge") for one in each])
        for each in (
            [residuals.points.numpy() for residuals in own],
            [residuals.levels.numpy() for residuals in own],
        )
    )
    return interpolation(points, levels)


def _sharpened(probs: Tensor, sharpness: Tensor) -> Tensor:
    """Return what `sharpened` does, by fewer operators of ONNX: (n, k) -> (n, k)."""
    padded = F.pad(probs, (1, 1))  # (n, k + 2)
    below = padded[:, :-1].cumsum(dim=-1)  # (n, k + 1), at the borders
    above = torch.onnx.ops.symbolic(
        "CumSum",
        (padded[:, 1:], torch.tensor(1)),
        {"reverse": 1},
        dtype=probs.dtype,
        shape=below.shape,
    )
    a, b = below.clamp(0, 1) ** sharpness, above.clamp(0, 1) ** sharpness
    total = a + b
    cdf, survival = a / total, b / total
    up, down = cdf[:, 1:] - cdf[:, :-1], survival[:, :-1] - survival[:, 1:]
    # Each difference is accurate where its terms are small.
    return torch.where(cdf[:, :-1] > 0.5, down, up).clamp(min=0)


def _groups_of(
    model: Model, coverage: float | None, *, calibrated: bool
) -> RowGroups | None:
    """Return the groups that a file needs to know the rows of, None without any."""
    asks = calibrated or coverage is not None
    if not asks or model.calibration is None:
        return None
    return model.calibration.groups


def _levels(
    model: Model,
    alpha: Sequence[float],
    coverage: float | None,
    *,
    calibrated: bool,
    groups: RowGroups | None,
) -> tuple[Tensor, Tensor]:  # (g + 1, m, q) each, and two more for an interval
    """Return at which levels the predicted distribution of each target is read.

    For other groups first, then for each group; and what replaces the quantiles where
    nothing can be promised: minus or plus infinity, or the ends of the bins.
    """
    if not isinstance(model.objective, OnHistogram):
        if coverage is not None or calibrated:
            raise InputError(
                "coverage and calibrated need a loss that predicts a distribution, got "
                "one that predicts one number"
            )
        levels = torch.tensor(alpha, dtype=torch.float64).expand(1, 1, -1)
        return levels, torch.full_like(levels, math.nan)
    if calibrated and model.calibration is None:
        raise InputError("calibrated quantiles need a calibrated model; use calibrate")
    if coverage is not None:
        check_fraction("coverage", coverage)
    by_group = []
    # A row of another group has no calibration rows, and comes first.
    for code in [None] if groups is None else [groups.n, *range(groups.n)]:
        codes = None if code is None else torch.tensor([code])
        by_target = [
            _levels_of_target(model, i, alpha, coverage, calibrated, codes)
            for i in range(model.n_targets)
        ]
        levels, fixed = map(torch.stack, zip(*by_target, strict=True))
        if groups is None and not bool(fixed.isnan().all()):
            raise InputError(
                "to_onnx needs finite intervals and quantiles, but there are too few "
                "calibration rows for this coverage, or y beyond the bins"
            )
        by_group.append((levels, fixed))
    all_levels, all_fixed = map(torch.stack, zip(*by_group, strict=True))
    return all_levels, all_fixed


def _levels_of_target(
    model: Model,
    i: int,
    alpha: Sequence[float],
    coverage: float | None,
    calibrated: bool,
    codes: Tensor | None,
) -> tuple[Tensor, Tensor]:  # (q,) each, and two more for an interval
    """Return levels of the i-th target and fixed ends, for a row of this group."""
    calibration = model.calibration
    levels = torch.tensor(list(alpha), dtype=torch.float64)
    if calibrated:
        assert calibration is not None
        levels = corrections_of(calibration, i)[
            0 if codes is None else int(codes)
        ].inverse(levels)
    fixed = levels.where(levels.isinf(), math.nan)
    if coverage is not None:
        t = 0.0
        if calibration is not None:
            t = float(calibration.growths_of(coverage, "central", codes)[i])
        bins = model.bins[i]
        ends = as_float64([math.nan, math.nan])
        if t >= 1:
            ends = as_float64([bins.lowest, bins.highest])
        if t == math.inf:
            ends = as_float64([-math.inf, math.inf])
        levels = torch.cat([levels, conformal.central_levels(coverage, t)])
        fixed = torch.cat([fixed, ends])
    return levels.where(levels.isfinite(), 0.5), fixed


def export(
    model: Model,
    path: Path,
    alpha: Sequence[float],
    coverage: float | None = None,
    *,
    calibrated: bool = False,
    takes_text: bool = False,
) -> None:
    """Write a model as ONNX, atomically; see `Exported` and `take_text`."""
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the extra: pip install 'histreg[onnx]'"
        ) from error
    exported = (
        copy.deepcopy(Exported(model, alpha, coverage, calibrated=calibrated))
        .cpu()
        .eval()
    )
    n_labels = model.kinds.count("label")
    n_rows = 3  # torch.export treats sizes of 0 and 1 as special
    example = {"numbers": torch.zeros(n_rows, len(exported.kinds), dtype=torch.float64)}
    if n_labels:
        example["codes"] = torch.zeros(n_rows, n_labels, dtype=torch.int64)
    if exported.groups is not None:
        example["groups"] = torch.zeros(n_rows, dtype=torch.int64)
    n = torch.export.Dim("n")
    names = ["mean", "quantiles"] + ["lower", "upper"] * exported.has_interval
    with _torch_silent():
        program = torch.onnx.export(
            exported,
            kwargs=example,
            input_names=list(example),
            output_names=names if exported.is_histogram else ["mean"],
            dynamic_shapes={name: {0: n} for name in example},
            dynamo=True,
            verbose=False,
        )
    assert program is not None  # without a path, export returns the program
    check_any_rows(program)
    facts = {
        "alpha": list(alpha),
        "coverage": coverage,
        "calibrated": calibrated,
        "labels": model.codes.levels,
        "groups": [] if exported.groups is None else list(exported.groups.levels),
        "kinds": named_kinds(model.kinds),
    }
    proto = program.model_proto
    exported.ensembles.write(proto)
    if takes_text:
        if n_labels:
            take_text(proto, "codes", "labels", model.codes.levels)
        if exported.groups is not None:
            take_text(proto, "groups", "group_names", [exported.groups.levels])
    for name, value in facts.items():
        entry = proto.metadata_props.add()
        entry.key, entry.value = name, json.dumps(value)
    with atomic_write(path) as partial:
        partial.write_bytes(proto.SerializeToString())


def take_text(
    proto: Any, codes: str, texts: str, levels: Sequence[Sequence[str]]
) -> None:
    """Let an ONNX model take text in place of the codes of it.

    Parameters
    ----------
    proto : onnx ModelProto
        It is changed.
    codes : str
        The input (n, c) or (n,), int64, that is replaced.
    texts : str
        The name of the new input, of the same shape.
    levels : sequence of c sequences of str
        The text of the codes 1, 2, ... of each column; any other has code 0.
    """
    from onnx import TensorProto, helper

    graph = proto.graph
    [given] = [one for one in graph.input if one.name == codes]
    is_flat = len(given.type.tensor_type.shape.dim) == 1
    given.name = texts
    given.type.tensor_type.elem_type = TensorProto.STRING
    nodes, parts = [], []
    for i, known in enumerate(levels):
        column, coded = texts, codes
        if not is_flat:
            column, coded = f"{texts}.{i}", f"{codes}.{i}"
            number = helper.make_tensor(f"{texts}.{i}.at", TensorProto.INT64, [1], [i])
            graph.initializer.append(number)
            own = helper.make_node("Gather", [texts, number.name], [column], axis=1)
            nodes.append(own)
        nodes.append(
            helper.make_node(
                "LabelEncoder",
                [column],
                [coded],
                domain=ML_DOMAIN,
                keys_strings=list(known) or [""],  # must not be empty
                values_int64s=list(range(1, len(known) + 1)) or [0],
                default_int64=0,
            )
        )
        parts.append(coded)
    if not is_flat:
        nodes.append(helper.make_node("Concat", parts, [codes], axis=1))
    others = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *others])
    import_ml(proto)


def check_any_rows(program: torch.onnx.ONNXProgram) -> None:
    """Refuse a program for one number of rows.

    PyTorch 2.6 writes one, without an error, where it cannot export a size that varies.
    """
    sizes = [each.shape[0] for each in program.model.graph.inputs if each.shape]
    if any(isinstance(size, int) for size in sizes):
        raise InputError(
            "to_onnx must export models for any number of rows, which PyTorch "
            f"{torch.__version__} cannot do; install a newer PyTorch"
        )


@contextmanager
def _torch_silent() -> Iterator[None]:
    """Silence messages of torch and onnxscript that come with every model."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
