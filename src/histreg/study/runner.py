"""The runner: computes what is missing of a study, here or on other machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, pairwise

import torch

from histreg.study.environment import environment
from histreg.study.executors import Pool, WorkerLostError, is_stopping
from histreg.study.runs import Record, Run
from histreg.study.store import DiskFullError, Store

CHECKPOINT_EVERY_S = 60.0
REPORT_EVERY_S = 0.5
LOSSES_ALLOWED = 3
"""How often a worker may die without any stack having been finished in between."""

Stack = tuple[Run, ...]


class StoppedError(Exception):
    """The work was asked to stop; what it had is in its checkpoint."""


@dataclass(frozen=True)
class Done:
    """What a worker did with a stack."""

    finished: tuple[str, ...] = ()  # keys
    failed: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Held by another process, or finished by one in the meantime."""
    stopped: bool = False


@dataclass
class Summary:
    """What a call of `run` did, in runs."""

    finished: int = 0
    failed: int = 0
    elsewhere: int = 0
    already: int = 0
    stopped: bool = False


@dataclass
class Situation:
    """What the progress of a study shows: told again and again while it runs."""

    total_s: float
    """Expected seconds of one core, of all stacks."""
    done_s: float = 0.0
    """Expected seconds of one core that are done, with parts of stacks."""
    n_runs: int = 0
    n_finished: int = 0
    n_failed: int = 0
    running: list[tuple[str, int, float]] = field(default_factory=list)
    """Of each stack at work: what it is, how many runs it has, the share done."""


def plan(runs: Iterable[Run], store: Store) -> list[Stack]:
    """Return the runs that have no record, as stacks to compute one after another.

    A stack that was stopped in training comes first and keeps its company, so that its
    checkpoint serves. The longest of the others come first, so that no core idles at
    the end.
    """
    missing = {run.key: run for run in runs if not store.has(run)}
    stacks: list[Stack] = []
    for keys in store.checkpointed():
        if all(key in missing for key in keys):
            stacks.append(tuple(missing.pop(key) for key in keys))
    rest: list[Stack] = []
    ordered = sorted(missing.values(), key=lambda run: (repr(run.stack), run.label))
    for _, same in groupby(ordered, key=lambda run: repr(run.stack)):
        together = list(same)
        n_stacks = -(-len(together) // together[0].largest_stack)
        # Of about equal size: 13 runs are 6 and 7, not 12 and 1. Neighbours stay
        # together: methods of like names have like losses, which are computed as one.
        cuts = [len(together) * i // n_stacks for i in range(n_stacks + 1)]
        rest += [tuple(together[a:b]) for a, b in pairwise(cuts)]
    return stacks + sorted(rest, key=expected_s, reverse=True)


def expected_s(stack: Stack) -> float:
    """Return the seconds of one core that a stack takes, roughly."""
    return sum(run.expected_s for run in stack)


def measured_pace(records: Iterable[Record]) -> float:
    """Return the time that runs took over that which was expected; 1 if none is known.

    Runs of less than a second tell little, and are left out.
    """
    told = [
        (record.elapsed_s, record.run.expected_s)
        for record in records
        if record.outcome.diverged_at is None and record.run.expected_s >= 1
    ]
    expected = sum(e for _, e in told)
    return sum(took for took, _ in told) / expected if expected else 1.0


class _Workplace:
    """What a stack may use of the world while it is computed."""

    def __init__(self, store: Store, stack: Sequence[Run], data_dir: str | None):
        self.store, self.stack, self.data_dir = store, stack, data_dir
        self.checkpoint = store.checkpoint(stack, every_s=CHECKPOINT_EVERY_S)
        self.checkpoint.runs = [run.key for run in stack]
        self.checkpoint.must_save = is_stopping
        self.started = self.reported = time.monotonic()

    def report(self, share: float) -> None:
        now = time.monotonic()
        if now - self.reported >= REPORT_EVERY_S:
            self.reported = now
            self.store.report(self.stack, share, now - self.started)
        if is_stopping():
            raise StoppedError


def work(root: str, stack: Stack, data_dir: str | None) -> Done:
    """Compute a stack and keep its records: what a worker does.

    Runs that another process holds are left to it. An error is written down for each
    run, and does not concern other stacks; a full disk does.
    """
    torch.set_num_threads(1)
    store = Store(root)
    with store.claim(stack) as mine:
        elsewhere = tuple(run.key for run in stack if run not in mine)
        keys = tuple(run.key for run in mine)
        if not mine:
            return Done(elsewhere=elsewhere)
        workplace = _Workplace(store, mine, data_dir)
        store.report(mine, 0.0, 0.0)
        # Weights of units that are switched off fade to numbers too small to be fast.
        torch.set_flush_denormal(True)
        try:
            started = time.monotonic()
            outcomes = type(mine[0]).compute(mine, workplace)
            elapsed_s = (time.monotonic() - started) / len(mine)
            finished = datetime.now(UTC).isoformat(timespec="seconds")
            where = environment() | {"stack_size": len(mine)}
            for run, outcome in zip(mine, outcomes, strict=True):
                store.save(Record(run, outcome, where, elapsed_s, finished))
        except StoppedError:
            return Done(elsewhere=elsewhere, stopped=True)
        except DiskFullError:
            raise
        except Exception as error:
            for run in mine:
                store.fail(run, error)
            return Done(failed=keys, elsewhere=elsewhere)
        finally:
            torch.set_flush_denormal(False)
        store.forget(mine)
        return Done(finished=keys, elsewhere=elsewhere)


def run(
    runs: Iterable[Run],
    store: Store,
    pool: Pool,
    *,
    data_dir: str | None = None,
    on_change: Callable[[Situation], None] | None = None,
) -> Summary:
    """Compute all runs that have no record yet.

    Parameters
    ----------
    runs : iterable of Run
    store : Store
    pool : Pool
        Of workers, see `histreg.study.executors`.
    data_dir : str, optional
        Where data sets are looked for first.
    on_change : callable, optional
        Told now and then how things stand.

    Returns
    -------
    Summary
        Stopped if Ctrl-C was pressed: stacks at work have written checkpoints.
    """
    wanted = list({run.key: run for run in runs}.values())
    stacks = plan(wanted, store)
    left = sum(map(len, stacks))
    situation = Situation(total_s=sum(map(expected_s, stacks)), n_runs=left)
    summary = Summary(already=len(wanted) - left)
    waiting = list(stacks)
    losses = 0
    done_s = 0.0
    futures: dict[Future[Done], Stack] = {}
    try:
        while waiting or futures:
            while waiting and len(futures) < 2 * pool.n_workers:
                # Not all at once, so that a lost pool has little to be given again.
                stack = waiting.pop(0)
                futures[pool.submit(work, str(store.root), stack, data_dir)] = stack
            ready, _ = wait(
                futures, timeout=REPORT_EVERY_S, return_when=FIRST_COMPLETED
            )
            for future in ready:
                stack = futures.pop(future)
                try:
                    done = future.result()
                except WorkerLostError as error:
                    losses += 1
                    if losses > LOSSES_ALLOWED:
                        done = _lost(stack, store, error)
                    else:
                        waiting.insert(0, stack)
                        continue
                losses = 0 if done.finished else losses
                done_s += expected_s(stack)
                summary.finished += len(done.finished)
                summary.failed += len(done.failed)
                summary.elsewhere += len(done.elsewhere)
                summary.stopped |= done.stopped
            _tell(situation, summary, done_s, futures, store, on_change)
    except KeyboardInterrupt:
        summary.stopped = True
        pool.stop()
        wait(futures)
    return summary


def _lost(stack: Stack, store: Store, error: BaseException) -> Done:
    for each in stack:
        store.fail(each, error)
    return Done(failed=tuple(each.key for each in stack))


def _tell(
    situation: Situation,
    summary: Summary,
    done_s: float,
    futures: dict[Future[Done], Stack],
    store: Store,
    on_change: Callable[[Situation], None] | None,
) -> None:
    if on_change is None:
        return
    situation.n_finished = summary.finished + summary.elsewhere
    situation.n_failed = summary.failed
    situation.done_s = done_s
    situation.running = []
    for stack in futures.values():
        told = store.progress(stack)
        if told:
            share = float(told["share"])
            situation.done_s += share * expected_s(stack)
            situation.running.append((stack_label(stack), len(stack), share))
    on_change(situation)


def stack_label(stack: Stack) -> str:
    """Return what a person calls a stack."""
    first = stack[0]
    if len(stack) == 1:
        return first.label
    return f"{first.folder[0]}, {len(stack)} runs from {first.label}"
