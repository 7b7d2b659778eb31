"""Verification: stored records computed again and compared to the bit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from histreg.study.engine.runs import Record, Run

VERSIONS = (
    *("histreg", "commit", "torch", "numpy", "python", "system", "machine"),
    *("cpu_capability", "openblas_core"),
)


@dataclass(frozen=True)
class Verification:
    """A stored record beside one that was computed again.

    Parameters
    ----------
    record, again : Record
        Of the same run.
    """

    record: Record
    again: Record

    @property
    def is_equal(self) -> bool:
        """Whether metrics, curves and divergence are equal to the bit."""
        stored, again = self.record.outcome, self.again.outcome
        return (stored.metrics, stored.curves, stored.diverged_at) == (
            again.metrics,
            again.curves,
            again.diverged_at,
        )

    @property
    def differences(self) -> dict[str, float]:
        """The metrics that differ: the new number minus the stored, over the stored.

        Infinite for a metric that only one of the two has.
        """
        stored, again = self.record.outcome.metrics, self.again.outcome.metrics
        return {
            name: _relative_difference(stored.get(name), again.get(name))
            for name in {**stored, **again}
            if stored.get(name) != again.get(name)
        }

    @property
    def versions(self) -> dict[str, tuple[Any, Any]]:
        """What differs between the environments: the stored value and the new."""
        stored, again = self.record.environment, self.again.environment
        return {
            name: (stored.get(name), again.get(name))
            for name in VERSIONS
            if stored.get(name) != again.get(name)
        }


def stacks_of(
    records: Iterable[Record], known: Mapping[str, Run]
) -> list[tuple[Run, ...]]:
    """Return the stacks in which records were computed, no run in two of them.

    A record that does not name its stack, or names runs that are not known, gets a
    stack of its own, and so does one whose stack shares a run with an earlier one.

    Parameters
    ----------
    records : iterable of Record
    known : mapping
        Runs by their key.
    """
    stacks: list[tuple[Run, ...]] = []
    taken: set[str] = set()
    for record in records:
        if record.run.key in taken:
            continue
        keys = record.environment.get("stack", ())
        is_whole = bool(keys) and all(key in known and key not in taken for key in keys)
        stack = tuple(known[key] for key in keys) if is_whole else (record.run,)
        stacks.append(stack)
        taken |= {run.key for run in stack}
    return stacks


def _relative_difference(stored: float | None, again: float | None) -> float:
    if stored is None or again is None:
        return float("inf")
    return (again - stored) / abs(stored) if stored else float("inf")
