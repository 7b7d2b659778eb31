"""Times: how long runs take, estimated from the records of those nearest to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from histreg.study.engine.runs import Record, Run

SHORTEST_S = 1.0  # of expected times; shorter runs are mostly overhead


class Times:
    """Estimates of the time of stacks, from stored times.

    The time of a run is its own rough estimate, `Run.expected_s`, which knows how time
    grows with rows, epochs and weights; multiplied by the median ratio of the stored to
    the estimated time of the nearest records. The nearest are those that agree with it
    in the most entries of `Run.time_key` from the first on, and then in the size of the
    stack. Without any record of its kind the rough estimate is left as it is.

    Parameters
    ----------
    records : iterable of Record
        Runs that diverged ended early, and are left out, as are runs that are expected
        to take less than a second.

    Attributes
    ----------
    n_records : int
        How many of the records have a time to estimate from.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.n_records = 0
        ratios: dict[tuple[Any, ...], list[float]] = {}
        for record in records:
            run, took_s = record.run, record.elapsed_s
            if record.outcome.diverged_at is not None or took_s <= 0:
                continue
            if run.expected_s < SHORTEST_S:
                continue
            self.n_records += 1
            # The time of a stack is divided equally among its records.
            stack_size = record.environment.get("stack_size", 1)
            for key in _prefixes(run, stack_size):
                ratios.setdefault(key, []).append(took_s / run.expected_s)
        self._paces = {key: median(of) for key, of in ratios.items()}

    def of_stack(self, stack: Sequence[Run]) -> float:
        """Return the expected time of runs computed together, in seconds of a core."""
        return sum(self._of_run(run, len(stack)) for run in stack)

    def of_stacks(self, stacks: Iterable[Sequence[Run]]) -> float:
        """Return the expected time of several stacks, in seconds of a core."""
        return sum(map(self.of_stack, stacks))

    def _of_run(self, run: Run, stack_size: int) -> float:
        for key in _prefixes(run, stack_size):
            if key in self._paces:
                return self._paces[key] * run.expected_s
        return run.expected_s


def _prefixes(run: Run, stack_size: int) -> Iterable[tuple[Any, ...]]:
    """Return what runs may have in common with one, the nearest first."""
    key = (*run.time_key, stack_size)
    return (key[:n] for n in range(len(key), 0, -1))
