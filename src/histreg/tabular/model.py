"""Model: everything learnt from a table, and its predictions for another.

Columns, bins, weights and calibration in one object that does not depend on the
regressor's options or on scikit-learn. Predictions are made for a limited number of
rows at a time, so that memory stays bounded.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from histreg._threads import one_thread
from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular.adamw import AdamW
from histreg.tabular.atoms import Atoms, EndAtoms, ValueAtoms
from histreg.tabular.blending import Blend
from histreg.tabular.columns import (
    INSTANT,
    NUMBER_OR_TIME,
    LabelCodes,
    NumberScaling,
    Table,
    n_numbers,
    named_kinds,
)
from histreg.tabular.compiled_blends import compiled_blend
from histreg.tabular.conformal import Calibration
from histreg.tabular.model_schema import (
    BLEND,
    BODY,
    READOUT,
    SHARP,
    check_names,
    kinds_in,
)
from histreg.tabular.networks import CopiedBody, Stack, TabularBody, without_autocast
from histreg.tabular.objectives import Objective, OnHistogram
from histreg.tabular.predictions import Predictions
from histreg.tabular.row_groups import RowGroups
from histreg.tabular.simple_models import SimpleInputs

T = TypeVar("T")

CHUNK = 4096  # rows at once; 16,384 took a fifth longer
READ_ROWS = 2048  # rows whose predictions are read at once, by one thread
AT_ONCE = 256  # rows of the networks: what the layers return stays in the cache
CHUNK_FLOATS = 2**24  # at once: fewer rows for wide tables and large ensembles
BLOCK, BACKBONE_BLOCK = 8, 32
"""The networks are run on a multiple of this many rows, filled up by repeating the last
one; the second number is for a module of the user's. Sums in float32 then have one
order, so that the prediction for a row does not depend on the rows beside it."""


@dataclass
class Model:
    """A fitted stack of networks with the columns it reads and the bins it predicts on.

    Parameters
    ----------
    kinds : tuple of {"number", "time", "duration", "label"}
        Of each column of the table. Models saved by older versions may have the kinds
        ``"number or time"`` and ``"instant"``, times without calendar columns.
    scaling : NumberScaling
    codes : LabelCodes
    objective : Objective
        It has the bins of each target.
    network : Stack
    is_flat : bool
        Whether y had shape (n,); results then have no dimension of targets.
    sharp : Stack, optional
        The same body with a readout that was fitted to sharper targets. If present, it
        makes the predictions.
    blends : sequence of m Blends, optional
        What the networks are mixed with.
    held_out : Calibration, optional
        Predictions for training rows, each by models that have not seen the row.
    calibration : Calibration, optional
    """

    kinds: tuple[str, ...]
    scaling: NumberScaling
    codes: LabelCodes
    objective: Objective
    network: Stack
    is_flat: bool
    sharp: Stack | None = None
    blends: Sequence[Blend] | None = None
    held_out: Calibration | None = None
    calibration: Calibration | None = None

    @property
    def bins(self) -> tuple[Bins, ...]:
        """The bins of each target that distributions are predicted on.

        Those of the networks, or of their blend: divided further, or around values that
        the target repeats.
        """
        bins = tuple(self.objective.bins)
        if self.blends is None:
            return bins
        return tuple(map(Blend.bins, self.blends, bins))

    @property
    def atoms(self) -> Atoms | None:
        """The values of the target that have mass, if there are any."""
        return self.blends[0].atoms if self.blends else None

    @property
    def n_targets(self) -> int:
        """The number of targets, m."""
        return len(self.objective.bins)

    @property
    def trained_parts(self) -> tuple[nn.Module, ...]:
        """The network, and the second readout if there is one."""
        return (self.network, self.sharp.readout) if self.sharp else (self.network,)

    def inputs(self, table: Table) -> tuple[Tensor, Tensor]:
        """Return a network's inputs: numbers (n, d) float32, codes (n, c) int64."""
        return self.simple_inputs(table)[1:]

    def simple_inputs(self, table: Table) -> SimpleInputs:
        """Return the inputs of simple models."""
        numbers = torch.tensor(table.numbers)  # a copy: arrays may be read-only
        return SimpleInputs(numbers, self.scaling(numbers), self.codes(table.labels))

    def predictions(
        self, table: Table, groups: Tensor | None = None
    ) -> Iterator[Predictions]:
        """Yield the predictions for successive chunks of rows.

        ``groups`` (n,) has the group of each row, if the calibration has groups.
        """
        stack = self.sharp or self.network
        n_floats = stack.n_models * (
            64 * self.scaling.n_outputs + 4 * stack.readout.weight[0].numel() // 64
        )  # of a row, roughly: embeddings and outputs
        chunk = max(64, min(CHUNK, CHUNK_FLOATS // max(1, n_floats)))
        chunk -= chunk % BACKBONE_BLOCK
        for rows in _slices(0, len(table.numbers), chunk):
            # Within the context, nothing is yielded: it would be the caller's as well.
            yield self._predictions_of(table, rows, groups)

    def read(
        self,
        table: Table,
        reading: Callable[[Predictions], T],
        groups: Tensor | None = None,
    ) -> list[T]:
        """Return readings of the predictions for successive rows, in their order.

        As many chunks as torch has threads are evaluated at once, each by one of them:
        threads that work on rows of their own need not wait for each other.

        Parameters
        ----------
        table : Table
        reading : callable
            It returns what is kept of the predictions for some rows.
        groups : Tensor of shape (n,), optional
            See `predictions`.
        """

        def read_chunk(chunk: slice) -> list[T]:
            with one_thread():
                return [
                    reading(self._predictions_of(table, rows, groups))
                    for rows in _slices(chunk.start, chunk.stop, READ_ROWS)
                ]

        chunks = list(_slices(0, len(table.numbers), CHUNK))
        n_threads = min(torch.get_num_threads(), len(chunks))
        if n_threads < 2 or self._device.type != "cpu":
            read = list(map(read_chunk, chunks))
        else:
            pool = ThreadPoolExecutor(n_threads, thread_name_prefix="histreg")
            try:
                read = list(pool.map(read_chunk, chunks))
            finally:
                pool.shutdown(cancel_futures=True)
        return [one for part in read for one in part]

    @property
    def _device(self) -> torch.device:
        return self.network.readout.weight.device

    def _predictions_of(
        self, table: Table, rows: slice, groups: Tensor | None
    ) -> Predictions:
        inputs = self.simple_inputs(table.at(rows))
        return Predictions.of(
            self._outputs(inputs),
            self.objective,
            self.calibration,
            is_flat=self.is_flat,
            blended=self._blended(inputs),
            groups=None if groups is None else groups[rows],
            atoms=self.atoms,
        )

    def _outputs(self, inputs: SimpleInputs) -> Tensor:  # (M, n, m, o) on the CPU
        stack, device = self.sharp or self.network, self._device
        block = BLOCK if isinstance(stack.body, TabularBody) else BACKBONE_BLOCK
        n, parts = len(inputs.scaled), []
        with torch.inference_mode(), without_autocast(device):
            for rows in _slices(0, n, AT_ONCE if device.type == "cpu" else n):
                numbers, codes = inputs.scaled[rows], inputs.codes[rows]
                n_rows = len(numbers)
                if n_rows % block:
                    whole = torch.arange(-(-n_rows // block) * block)
                    whole = whole.clamp(max=n_rows - 1)
                    numbers, codes = numbers[whole], codes[whole]
                outputs = stack(numbers.to(device), codes.to(device))
                parts.append(outputs[:, :n_rows].cpu())
            return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]

    def _blended(
        self, inputs: SimpleInputs
    ) -> Callable[[Tensor, int], Histogram] | None:
        """Return how the networks' outputs (M, n, m, k) for a target are mixed."""
        if self.blends is None:
            return None
        blends = self.blends

        def blended(outputs: Tensor, i: int) -> Histogram:
            own_bins = self.objective.bins[i]
            loop = compiled_blend(blends[i], own_bins)
            if loop is None:
                networks = self.objective.distribution(outputs, i)
                return blends[i].distribution(networks, inputs)
            probs = loop.probs(outputs[:, :, i], inputs)
            return Histogram(loop.bins, probs=probs)

        return blended

    def calibrate(
        self, table: Table, y: Tensor, groups: RowGroups | None = None
    ) -> None:
        """Keep the predictions for these rows and their y (n, m), by groups if any."""
        logits = [
            torch.stack([d.logits for d in part.distributions], dim=1)
            for part in self.predictions(table)
        ]
        if self.atoms is not None:
            y = self.atoms.centered(y)
        self.calibration = Calibration(self.bins, torch.cat(logits), y, groups)

    def begin_sharp(self, generator: torch.Generator | None = None) -> Stack:
        """Return the second stack: the same body with a copy of the readout.

        It is created on the first call and kept.
        """
        if self.sharp is None:
            # The weights drawn here are not used. Without drawing them, every later
            # draw would differ, and with it the results of every random_state.
            self.sharp = Stack(
                self.network.body, *self.network.shape, generator=generator
            )
            self.sharp.readout = copy.deepcopy(self.network.readout)
        return self.sharp

    def rebin(
        self,
        objective: Objective,
        table: Table,
        optimizers: Iterable[AdamW] = (),
    ) -> None:
        """Change to the bins of another objective, and keep the predictions.

        Parameters
        ----------
        objective : Objective
            The same except for its bins, of which there are as many.
        table : Table
            Some rows, whose predictions are to be kept.
        optimizers : iterable of AdamW
            Their moments are moved to the new bins as well.
        """
        if isinstance(objective, OnHistogram):
            device = self.network.readout.weight.device
            rows = slice(CHUNK)  # enough for a fit
            inputs = self.inputs(table.at(rows))
            with torch.no_grad():
                features = self.network.body(*(tensor.to(device) for tensor in inputs))
            for stack in (self.network, self.sharp):
                if stack is not None:
                    stack.rebin(
                        self.objective.bins, objective.bins, features, optimizers
                    )
        self.objective = objective
        self.forget_held_out()

    def forget_held_out(self) -> None:
        """Drop what was fitted to the predictions of the network as it was before."""
        self.blends = self.held_out = self.calibration = None

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return the model as JSON values and tensors, for a file.

        Raises if weights are not finite.
        """
        described = {
            "kinds": named_kinds(self.kinds),
            "tells_times": NUMBER_OR_TIME not in self.kinds,
            "has_calendar": INSTANT not in self.kinds,
            "labels": [list(levels) for levels in self.codes.levels],
            "is_flat": self.is_flat,
            "is_sharp": self.sharp is not None,
            "is_calibrated": self.calibration is not None,
        }
        if self.blends is not None:
            described["blends"] = [blend.described() for blend in self.blends]
            described["n_divided"] = self.blends[0].n_divided
            atoms = self.atoms
            described["n_atoms"] = len(atoms) if isinstance(atoms, ValueAtoms) else 0
            if isinstance(atoms, EndAtoms):
                described["end_atoms"] = [atoms.n_low, atoms.n_high]
        tensors = {
            "bins": torch.stack([bins.state() for bins in self.objective.bins]),
            "center": self.objective.center,
            "scale": self.objective.scale,
            **_prefixed("scaling.", self.scaling),
        }
        modules = {BODY: self.network.body, READOUT: self.network.readout}
        if self.sharp is not None:
            modules[SHARP] = self.sharp.readout
        for prefix, module in modules.items():
            weights = _prefixed(prefix, module)
            _check_weights(module, prefix, weights)
            tensors |= weights
        for i, blend in enumerate(self.blends or ()):
            tensors |= _prefixed(f"{BLEND}{i}.", blend)
        if self.calibration is not None:
            tensors["calibration.logits"] = self.calibration.logits
            tensors["calibration.y"] = self.calibration.y
            groups = self.calibration.groups
            if groups is not None:
                tensors["calibration.groups"] = groups.codes
                described["calibration_groups"] = {
                    "levels": list(groups.levels),
                    "column": groups.column,
                }
        return described, {
            name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()
        }

    @classmethod
    def from_state(
        cls,
        described: dict[str, Any],
        tensors: dict[str, Tensor],
        *,
        body_for: Callable[[NumberScaling, LabelCodes], TabularBody | CopiedBody],
        objective_for: Callable[[tuple[Bins, ...], Tensor, Tensor], Objective],
    ) -> Model:
        """Return the model of a state, given functions for its body and objective.

        The state must have passed the checks of `histreg.tabular.model_schema`. The
        tensors of the network are compared with the body before weights are created;
        the body may be on the meta device, where it takes no memory.
        """
        scaling_state = _without_prefix("scaling.", tensors)
        kinds = kinds_in(described)
        scaling = NumberScaling(
            n_numbers(kinds),
            scaling_state["kept"].tolist(),
            scaling_state["flagged"].tolist(),
            scaling_state["knots"].shape[1],
        )
        scaling.load_state_dict(scaling_state)
        codes = LabelCodes(described["labels"])
        bins = tuple(Bins.from_state(state) for state in tensors["bins"])
        objective = objective_for(bins, tensors["center"], tensors["scale"])
        try:
            body = body_for(scaling, codes)
            with torch.device("meta"):
                network = Stack(body, len(bins), objective.n_outputs)
        except (OverflowError, RuntimeError, TypeError) as error:
            raise InputError(
                f"'options' describe a network that cannot be built: {error}"
            ) from error
        fill_module(network.body, BODY, tensors)
        fill_module(network.readout, READOUT, tensors)
        model = cls(kinds, scaling, codes, objective, network, described["is_flat"])
        if described["is_sharp"]:
            with torch.device("meta"):
                model.sharp = Stack(body, *network.shape)
            fill_module(model.sharp.readout, SHARP, tensors)
        if "blends" in described:
            if len(described["blends"]) != len(bins):
                raise InputError(
                    f"'blends' must have a list for each of the {len(bins)} targets, "
                    f"got {len(described['blends'])}"
                )
            n_divided = described.get("n_divided", 1)  # missing in older models
            for own in bins:
                own.divided(n_divided)  # raises for bins with tails
            n_atoms = described.get("n_atoms", 0)  # missing in older models
            if n_atoms and (len(bins) > 1 or n_divided > 1):
                raise InputError(
                    "'n_atoms' must be 0 for several targets and divided bins, got "
                    f"{n_atoms}"
                )
            end_atoms = described.get("end_atoms", [0, 0])
            if any(end_atoms) and (len(bins) > 1 or n_atoms):
                raise InputError(
                    "'end_atoms' must be [0, 0] for several targets and beside "
                    f"'n_atoms', got {end_atoms}"
                )
            sizes = (n_divided, n_atoms, end_atoms)
            model.blends = [
                _loaded_blend(parts, f"{BLEND}{i}.", model, sizes, tensors)
                for i, parts in enumerate(described["blends"])
            ]
            _ = model.bins  # raises for atoms outside of the bins
        if described["is_calibrated"]:
            named = described.get("calibration_groups")
            model.calibration = Calibration(
                model.bins,
                tensors["calibration.logits"],
                tensors["calibration.y"],
                None
                if named is None
                else RowGroups(
                    named["levels"], tensors["calibration.groups"], named["column"]
                ),
            )
        return model.to(torch.device("cpu"))

    def to(self, device: torch.device) -> Model:
        """Move the networks to a device, in evaluation mode; return this model."""
        for stack in (self.network, self.sharp):
            if stack is not None:
                stack.to(device).eval()
        return self


def _slices(start: int, stop: int, size: int) -> Iterator[slice]:
    """Yield consecutive slices of at most that size."""
    for at in range(start, stop, size):
        yield slice(at, min(stop, at + size))


def _prefixed(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    return {prefix + name: value for name, value in module.state_dict().items()}


def fill_module(module: nn.Module, prefix: str, tensors: dict[str, Tensor]) -> None:
    """Load the tensors of a prefix into a module; raise if they do not match it."""
    saved = {
        name: tensor for name, tensor in tensors.items() if name.startswith(prefix)
    }
    own = _prefixed(prefix, module)
    check_names(own, list(saved))
    for name, tensor in own.items():
        dtype, shape = saved[name].dtype, saved[name].shape
        if (dtype, shape) != (tensor.dtype, tensor.shape):
            raise InputError(
                f"{name!r} must be {tensor.dtype} of shape {tuple(tensor.shape)}, got "
                f"{dtype} of shape {tuple(shape)}"
            )
    _check_weights(module, prefix, saved)
    if any(tensor.is_meta for tensor in own.values()):
        module.to_empty(device="cpu")
    module.load_state_dict(_without_prefix(prefix, saved))


def _loaded_blend(
    parts: Sequence[Mapping[str, Any]],
    prefix: str,
    model: Model,
    sizes: tuple[int, int, Sequence[int]],
    tensors: dict[str, Tensor],
) -> Blend:
    """Return a blend filled from tensors, after a check of their sizes."""
    try:
        with torch.device("meta"):
            blend = Blend.of_description(
                parts,
                n_numbers(model.kinds),
                model.scaling.n_outputs,
                model.codes.n_codes,
                *sizes,
            )
    except (OverflowError, RuntimeError) as error:
        raise InputError(
            f"'blends' describe models that cannot be built: {error}"
        ) from error
    fill_module(blend, prefix, tensors)
    blend.check()
    return blend


def _check_weights(
    module: nn.Module, prefix: str, tensors: Mapping[str, Tensor]
) -> None:
    """Raise if a parameter is not finite, or a buffer (such as a mask) has a NaN."""
    parameters = {prefix + name for name, _ in module.named_parameters()}
    for name, tensor in tensors.items():
        bad = ~tensor.isfinite() if name in parameters else tensor.isnan()
        if bool(bad.any()):
            raise InputError(
                f"{name!r} must be finite, got {int(bad.sum())} of "
                f"{tensor.numel()} numbers that are not"
            )


def _without_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
