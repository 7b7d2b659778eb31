"""Run: one thing to compute, as data; Outcome and Record: its results."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from histreg.errors import InputError

if TYPE_CHECKING:  # checkpoints are files, which know what a run is
    from histreg.study.engine.checkpoints import Checkpoint

FORMAT = 1  # of records; newer formats are rejected


class DamagedError(ValueError):
    """A file is damaged; the message says how."""


class RunContext(Protocol):
    """The environment in which runs are computed."""

    data_dir: str | None
    """The folder in which data sets are looked for first."""

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """One checkpoint per run, to continue from after an interruption."""

    def report(self, share: float) -> None:
        """Report the completed share; raises if the computation should stop."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Parameters
    ----------
    metrics : mapping
        Numbers by name; empty if the run diverged.
    curves : mapping
        Lists of numbers by name.
    diverged_at : int, optional
        The epoch or iteration in which it became NaN or infinite.
    data_sha256 : str, optional
        Checksum of the data that it was computed from.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Any] = field(default_factory=dict)
    diverged_at: int | None = None
    data_sha256: str | None = None


class Described:
    """A field of a run that is more than a number or a word, such as a method.

    Subclasses are frozen dataclasses with a name, which say themselves how they are
    written as JSON.
    """

    name: ClassVar[str]

    def to_json(self, *, defaults: bool = True) -> dict[str, Any]:
        """Return name and fields as JSON values, optionally without defaults."""
        parameters = {
            parameter.name: getattr(self, parameter.name)
            for parameter in fields(self)  # type: ignore[arg-type]
            if defaults or getattr(self, parameter.name) != parameter.default
        }
        return {"name": self.name, **parameters}


class Run(ABC):
    """One thing to compute. Subclasses are frozen dataclasses.

    Runs with the same `stack_key` may be computed together. The `key` names a run on
    disk. Fields at their default are not part of it: a new field whose default is the
    previous behaviour leaves all keys unchanged.
    """

    kind: ClassVar[str]
    numbers: ClassVar[tuple[str, ...]] = ()
    """The numeric fields of the protocol that `with_numbers` can change."""

    @property
    @abstractmethod
    def folder(self) -> tuple[str, ...]:
        """The folders that contain its record."""

    @property
    @abstractmethod
    def label(self) -> str:
        """A readable label."""

    @property
    @abstractmethod
    def stack_key(self) -> tuple[object, ...]:
        """Runs with equal keys can be computed together."""

    @property
    def largest_stack(self) -> int:
        """The largest number of such runs to compute together."""
        return 1

    @property
    @abstractmethod
    def expected_s(self) -> float:
        """A rough estimate of its time, in seconds of one core."""

    @property
    def time_key(self) -> tuple[object, ...]:
        """What its time depends on, beginning with what makes runs comparable at all.

        See `histreg.study.engine.times`.
        """
        return (self.kind, *self.folder)

    @classmethod
    @abstractmethod
    def compute(cls, runs: Sequence[Any], context: RunContext) -> list[Outcome]:
        """Compute runs of one stack.

        Descriptions of runs do not import PyTorch; the code that computes them is
        imported here.
        """

    def facet(self, name: str) -> object:
        """Return the data set, method name or seed; None if it has none."""
        value = getattr(self, name, None)
        if value == "":  # a run that needs no data set
            return None
        return value.name if isinstance(value, Described) else value

    @property
    def method_names(self) -> tuple[object, ...]:
        """Names that select its method: the plain one, and with settings if it differs.

        (None,) if it has none.
        """
        label = getattr(getattr(self, "method", None), "label", None)
        name = self.facet("method")
        return (name,) if label in (None, name) else (name, label)

    def moved_to(self, dataset: str) -> Run:  # noqa: ARG002
        """Return the same run on another data set; itself if it uses none."""
        return self

    def with_numbers(self, **numbers: float) -> Run:  # noqa: ARG002
        """Return the same run with other numbers of its protocol, such as epochs.

        Numbers that it does not have are ignored. What is changed is part of the key:
        records of such runs are never mistaken for those of the protocol.
        """
        return self

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return {"kind": self.kind, **_described(self)}

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits that identify the run."""
        identity = {"kind": self.kind, **_described(self, defaults=False)}
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _described(thing: object, *, defaults: bool = True) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON values."""
    described = {}
    for item in fields(thing):  # type: ignore[arg-type]
        value = getattr(thing, item.name)
        if not defaults and item.default is not MISSING and value == item.default:
            continue
        if isinstance(value, Described):
            value = value.to_json(defaults=defaults)
        elif isinstance(value, tuple):
            value = list(value)
        described[item.name] = value
    return described


@dataclass(frozen=True)
class Record:
    """A run with its outcome and its environment, as kept on disk.

    Parameters
    ----------
    run : Run
    outcome : Outcome
    environment : mapping
        Commit, versions, machine.
    elapsed_s : float
        Of one core; the time of a stack is divided equally among its runs.
    finished : str
        When, in ISO 8601.
    """

    run: Run
    outcome: Outcome
    environment: Mapping[str, Any]
    elapsed_s: float
    finished: str

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        status = "done" if self.outcome.diverged_at is None else "diverged"
        return {
            "format": FORMAT,
            "key": self.run.key,
            "status": status,
            "run": self.run.to_json(),
            "metrics": dict(self.outcome.metrics),
            "curves": dict(self.outcome.curves),
            "diverged_at": self.outcome.diverged_at,
            "data_sha256": self.outcome.data_sha256,
            "environment": dict(self.environment),
            "elapsed_s": self.elapsed_s,
            "finished": self.finished,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], run: Run) -> Record:
        """Return the record of a known run from JSON values.

        Raises
        ------
        DamagedError
            If it is not a record, or that of another run.
        """
        check_record(data)
        if data.get("format", 0) > FORMAT:
            raise InputError(
                f"the record of {run.label} must be of format {FORMAT} or older, got "
                f"{data['format']}: it was written by a newer histreg"
            )
        if data["key"] != run.key:
            raise DamagedError(f"its key is {data['key']} instead of {run.key}")
        outcome = Outcome(
            data["metrics"],
            data["curves"],
            data["diverged_at"],
            data.get("data_sha256"),  # the first records had none
        )
        return cls(
            run, outcome, data["environment"], data["elapsed_s"], data["finished"]
        )


def check_record(data: Any) -> None:
    """Raise `DamagedError` unless this is a record of some run.

    For newer formats, whose parts are not known, only the key is checked.
    """
    check_parts(data, {"format": (int, NONE), "key": str})
    if (data.get("format") or 0) > FORMAT:
        return
    check_parts(
        data,
        {
            "run": dict,
            "metrics": dict,
            "curves": dict,
            "diverged_at": (int, NONE),
            "data_sha256": (str, NONE),  # the first records had none
            "environment": dict,
            "elapsed_s": (float, int),
            "finished": str,
        },
    )
    check_parts(data["metrics"], dict.fromkeys(data["metrics"], (float, int)))


NONE = type(None)  # of a part that may be absent


def check_parts(
    data: Any, expected: Mapping[str, type[Any] | tuple[type[Any], ...]]
) -> None:
    """Raise `DamagedError` unless a JSON object has these parts, of these types."""
    if not isinstance(data, dict):
        raise DamagedError(f"it is no JSON object but {_shown(data)}")
    for name, types in expected.items():
        value = data.get(name)
        if name not in data and not isinstance(None, types):
            raise DamagedError(f"it has no {name!r}")
        # In JSON true is not a number, although bool is an int in Python.
        if isinstance(value, bool) or not isinstance(value, types):
            raise DamagedError(f"its {name!r} cannot be {_shown(value)}")


def _shown(value: object) -> str:
    """Return a short text of a value."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
