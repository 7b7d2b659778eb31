"""Progress: how far a study is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from histreg.cli.study.quantities import counted, duration
from histreg.study.engine import runner

SECONDS_BETWEEN_LINES = 60


@contextmanager
def study_progress(console: Console) -> Iterator[Callable[[runner.Situation], None]]:
    """Yield a callback that shows bars on a terminal, and else one line a minute."""
    started = time.monotonic()
    if not console.is_terminal:
        yield _print_lines(console, started)
        return
    total = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TextColumn("{task.fields[left]}"),
        console=console,
    )
    stacks = Progress(
        TextColumn("  {task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:3.0f} %"),
        console=console,
    )
    total_task = total.add_task("starting", total=1.0, left="")
    with Live(Group(total, stacks), console=console, refresh_per_second=4):

        def show(now: runner.Situation) -> None:
            share = _share(now)
            description = f"{now.n_finished} of {counted(now.n_runs, 'run')}"
            description += f", {now.n_failed} failed" if now.n_failed else ""
            total.update(
                total_task,
                completed=share,
                description=description,
                left=_time_left(share, time.monotonic() - started),
            )
            for task in list(stacks.task_ids):
                stacks.remove_task(task)
            for label, _, done in now.running:
                stacks.add_task(escape(label), total=100.0, completed=round(100 * done))

        yield show


def _print_lines(
    console: Console, started: float
) -> Callable[[runner.Situation], None]:
    last = started

    def show(now: runner.Situation) -> None:
        nonlocal last
        if time.monotonic() - last < SECONDS_BETWEEN_LINES:
            return
        last = time.monotonic()
        share = _share(now)
        console.print(
            f"{now.n_finished} of {counted(now.n_runs, 'run')}, {share:.0%}"
            f"  {_time_left(share, last - started)}"
        )

    return show


def _share(now: runner.Situation) -> float:
    """Return the share of the expected time that is done."""
    return now.done_s / now.total_s if now.total_s else 1.0


def _time_left(share: float, elapsed_s: float) -> str:
    if share < 0.01:
        return ""
    return f"{duration(elapsed_s * (1 - share) / share)} left"
