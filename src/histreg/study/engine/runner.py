"""The runner: computes the missing runs of a study, here or on other machines."""

from __future__ import annotations

import importlib
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from types import MappingProxyType

from histreg.errors import InputError
from histreg.executors import Pool, WorkerLostError, is_stopping
from histreg.study.engine.checkpoints import CheckpointError
from histreg.study.engine.environment import environment
from histreg.study.engine.runs import Record, Run
from histreg.study.engine.store import DamageWarning, Store
from histreg.study.engine.store_files import DiskFullError

CHECKPOINT_EVERY_S = 60.0
REPORT_EVERY_S = 0.5
LOSSES_ALLOWED = 2
"""Number of times a stack may lose its worker; at the next loss it fails."""

Stack = tuple[Run, ...]
"""Runs that are computed together, by one worker."""


class StoppedError(Exception):
    """The computation was asked to stop; its state is in its checkpoint."""


@dataclass(frozen=True)
class Done:
    """The result of a worker's work on a stack."""

    finished: tuple[str, ...] = ()  # keys
    failed: tuple[str, ...] = ()
    stopped: bool = False
    damages: tuple[str, ...] = ()
    """Files that were set aside as damaged, so that their runs start over."""


@dataclass
class Summary:
    """The result of a call of `run`, in numbers of runs."""

    finished: int = 0
    failed: int = 0
    elsewhere: int = 0
    already: int = 0
    stopped: bool = False


@dataclass
class Situation:
    """The progress of a study, reported repeatedly while it runs."""

    total_s: float
    """Expected seconds of one core, of all stacks."""
    done_s: float = 0.0
    """Expected seconds of one core that are done, counting parts of stacks."""
    n_runs: int = 0
    n_finished: int = 0
    n_failed: int = 0
    running: tuple[tuple[str, int, float], ...] = ()
    """Of each stack at work: its label, its number of runs, the share done."""


def plan(runs: Iterable[Run], store: Store) -> list[Stack]:
    """Return the runs that have no record, as stacks to compute one after another.

    Runs that were stopped in training come first, together with those of the same
    epoch; then the longest, so that no core is idle at the end.
    """
    missing = [run for run in runs if not store.has(run)]
    epochs = {run: store.epoch(run) for run in missing}
    stacks = stacked(missing, epochs)
    return sorted(stacks, key=lambda s: (epochs[s[0]] == 0, -expected_s(s)))


def stacked(
    runs: Iterable[Run], epochs: Mapping[Run, int] = MappingProxyType({})
) -> list[Stack]:
    """Return runs as stacks of those that are computed together.

    Parameters
    ----------
    runs : iterable of Run
    epochs : mapping of Run to int
        The epochs that are done, of runs that were stopped in training.
    """

    def group(run: Run) -> tuple[str, int]:
        return repr(run.stack_key), epochs.get(run, 0)

    stacks: list[Stack] = []
    ordered = sorted(runs, key=lambda run: (group(run), run.label))
    for _, same in groupby(ordered, key=group):
        together = list(same)
        n_stacks = -(-len(together) // together[0].largest_stack)
        # About equal sizes: 13 runs become 6 and 7, not 12 and 1. Neighbours stay
        # together: methods with similar names share losses, which are computed at once.
        cuts = [len(together) * i // n_stacks for i in range(n_stacks + 1)]
        stacks += [tuple(together[a:b]) for a, b in pairwise(cuts)]
    return stacks


def expected_s(stack: Stack) -> float:
    """Return a rough estimate of the time of a stack, in seconds of one core."""
    return sum(run.expected_s for run in stack)


class _StackContext:
    """The `RunContext` of a stack: its checkpoints, and reports to the store."""

    def __init__(self, store: Store, stack: Sequence[Run], data_dir: str | None):
        self.store, self.stack, self.data_dir = store, stack, data_dir
        self.checkpoints = [
            store.checkpoint(
                run,
                every_s=CHECKPOINT_EVERY_S,
                must_save=self._must_save,
                share=len(stack),
            )
            for run in stack
        ]
        self.is_stopping = self.was_asked = False
        self.reported = -math.inf
        self.report(0.0)

    def report(self, share: float) -> None:
        now = time.monotonic()
        if now - self.reported >= REPORT_EVERY_S:
            self.reported = now
            self.store.report(self.stack, share)
        # Not if a checkpoint was offered but not yet due: it has to be saved first.
        if self.is_stopping or (not self.was_asked and is_stopping()):
            raise StoppedError
        self.was_asked = False

    def _must_save(self) -> bool:
        self.was_asked = True
        self.is_stopping = self.is_stopping or is_stopping()
        return self.is_stopping


def work(
    root: str, stack: Stack, data_dir: str | None, modules: Sequence[str] = ()
) -> Done:
    """Compute a stack and save its records; this runs in a worker.

    Runs that another process has claimed are left to it. An error is recorded for each
    run and does not affect other stacks; a full disk does.
    """
    # Needed by workers only, not for plans or the status.
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1, user_api="blas")  # NumPy's products
    store = Store(root)
    with store.claim(stack) as mine:
        if not mine:
            return Done()
        keys = tuple(run.key for run in mine)
        # Weights of dead units decay to denormal numbers, which are slow.
        torch.set_flush_denormal(True)
        try:
            for module in modules:  # with the user's own data sets
                importlib.import_module(module)
            context = _StackContext(store, mine, data_dir)
            checkpoints = context.checkpoints
            resumed_after = max(checkpoint.epoch for checkpoint in checkpoints)
            outcomes = type(mine[0]).compute(mine, context)
            finished = datetime.now(UTC).isoformat(timespec="seconds")
            # Float32 sums of some networks depend on the stack: to reproduce their
            # records exactly takes the same stack, from the first epoch on.
            where = environment() | {"stack_size": len(mine), "stack": list(keys)}
            if resumed_after:
                where["resumed_after_epoch"] = resumed_after
            for run, outcome, checkpoint in zip(
                mine, outcomes, checkpoints, strict=True
            ):
                spent_s = checkpoint.spent_s
                store.save(Record(run, outcome, where, spent_s, finished))
        except StoppedError:
            return Done(stopped=True)
        except CheckpointError:
            damages = (checkpoint.damage for checkpoint in context.checkpoints)
            return Done(damages=tuple(filter(None, damages)))
        except DiskFullError:
            raise
        except Exception as error:
            for run in mine:
                store.fail(run, error)
            return Done(failed=keys)
        finally:
            torch.set_flush_denormal(False)
            store.forget(mine)
        return Done(finished=keys)


def run(
    runs: Iterable[Run],
    store: Store,
    pool: Pool,
    *,
    data_dir: str | None = None,
    modules: Sequence[str] = (),
    on_change: Callable[[Situation], None] | None = None,
    stacks: Sequence[Stack] | None = None,
) -> Summary:
    """Compute all runs that have no record yet.

    Parameters
    ----------
    runs : iterable of Run
    store : Store
    pool : Pool
        The workers, see `histreg.executors`.
    data_dir : str, optional
        Folder in which data sets are looked for first.
    modules : sequence of str
        Modules that workers import as well, for the user's own data sets.
    on_change : callable, optional
        Called now and then with the progress.
    stacks : sequence of stacks, optional
        How runs are grouped, instead of by `plan`; each run is in one of them.

    Returns
    -------
    Summary
        Stopped if Ctrl-C was pressed: networks in training are in checkpoints.
    """
    wanted = list({run.key: run for run in runs}.values())
    if data_dir is not None:
        data_dir = str(Path(data_dir).absolute())
    shift = _Shift(store, pool, (data_dir, tuple(modules)), on_change)
    todo = [run for run in wanted if not store.has(run)]
    shift.summary.already = len(wanted) - len(todo)
    shift.situation.n_runs = len(todo)
    while todo and not shift.summary.stopped:
        missing = set(todo)
        shift.work_on(
            plan(todo, store)
            if stacks is None
            else [stack for stack in stacks if missing & set(stack)]
        )
        # Runs that another process released without a record are ours after all, and
        # runs whose checkpoint did not fit start over, in another stack.
        todo = [
            run
            for run in todo
            if run.key not in shift.failed
            and not store.has(run)
            and not store.is_claimed(run)
        ]
        if any(run.key in shift.finished for run in todo):
            raise InputError(
                f"workers must write to the same store as this command, {store.root}, "
                "but the records they finished are not in it"
            )
    left = [run for run in wanted if not store.has(run) and run.key not in shift.failed]
    shift.summary.elsewhere = 0 if shift.summary.stopped else len(left)
    return shift.summary


class _Shift:
    """The stacks that are running, waiting, or have lost a worker."""

    def __init__(
        self,
        store: Store,
        pool: Pool,
        options: tuple[object, ...],
        on_change: Callable[[Situation], None] | None,
    ) -> None:
        self.store, self.pool, self.options = store, pool, options
        self.on_change = on_change
        self.summary = Summary()
        self.situation = Situation(total_s=0.0)
        self.failed: set[str] = set()
        self.finished: set[str] = set()
        self.at_work: dict[Future[Done], Stack] = {}
        self.waiting: list[Stack] = []
        self.suspects: list[Stack] = []
        """Stacks that were running when a worker died; each is retried alone."""
        self.losses: Counter[Stack] = Counter()

    def work_on(self, stacks: Iterable[Stack]) -> None:
        self.waiting = list(stacks)
        self.situation.total_s += sum(map(expected_s, self.waiting))
        try:
            while self.waiting or self.suspects or self.at_work:
                if self.summary.stopped:  # by a worker that was asked to
                    raise KeyboardInterrupt
                self._submit()
                ready, _ = wait(
                    self.at_work, timeout=REPORT_EVERY_S, return_when=FIRST_COMPLETED
                )
                self.pool.check()
                for future in ready:
                    self._settle(future)
                self._report()
        except KeyboardInterrupt:
            self.summary.stopped = True
            self.pool.stop()
            try:
                while wait(self.at_work, timeout=REPORT_EVERY_S).not_done:
                    self.pool.check()
            except KeyboardInterrupt:  # pressed twice: end at once
                self.pool.kill()
                return
            for future in list(self.at_work):
                self._settle(future)

    def _submit(self) -> None:
        # Not all at once: if the pool is lost, less has to be submitted again.
        while self.waiting and len(self.at_work) < 2 * self.pool.n_workers:
            self._start(self.waiting.pop(0))
        if self.suspects and not self.at_work:
            self._start(self.suspects.pop(0))

    def _start(self, stack: Stack) -> None:
        future = self.pool.submit(work, str(self.store.root), stack, *self.options)
        self.at_work[future] = stack

    def _settle(self, future: Future[Done]) -> None:
        stack = self.at_work.pop(future)
        try:
            done = future.result()
        except WorkerLostError as error:
            if self.summary.stopped:
                return
            self.losses[stack] += 1
            if self.losses[stack] <= LOSSES_ALLOWED:
                self.suspects.append(stack)
                return
            for run in stack:
                self.store.fail(run, error)
            done = Done(failed=tuple(run.key for run in stack))
        self.situation.done_s += expected_s(stack)
        self.failed |= set(done.failed)
        self.finished |= set(done.finished)
        self.summary.finished += len(done.finished)
        self.summary.failed += len(done.failed)
        self.summary.stopped |= done.stopped
        for damage in done.damages:
            warnings.warn(
                f"{damage}, so it was renamed and the run starts over",
                DamageWarning,
                stacklevel=2,
            )

    def _report(self) -> None:
        if self.on_change is None:
            return
        partly_s = 0.0
        running = []
        for stack in self.at_work.values():
            share = self.store.progress(stack)
            if share is not None:
                partly_s += share * expected_s(stack)
                running.append((stack_label(stack), len(stack), share))
        now = replace(
            self.situation,
            done_s=self.situation.done_s + partly_s,
            n_finished=self.summary.finished,
            n_failed=self.summary.failed,
            running=tuple(running),
        )
        self.on_change(now)


def stack_label(stack: Stack) -> str:
    """Return a readable label of a stack."""
    first = stack[0]
    if len(stack) == 1:
        return first.label
    return f"{first.label} and {len(stack) - 1} more"
