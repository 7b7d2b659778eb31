"""Progress: the epochs of a fit, shown on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from histreg.tabular.training import Epoch

WIDE = 110  # letters, from which on a terminal has room for all that is known


def _standard_error(*, quiet: bool) -> Console:
    """Return a console that prints nothing if it is to be quiet, or is no terminal.

    Rich 13 ends even a bar that is disabled with a new line.
    """
    console = Console(stderr=True)
    console.quiet = quiet or not console.is_terminal
    return console


@contextmanager
def epoch_progress(title: str, *, quiet: bool) -> Iterator[Callable[[Epoch], None]]:
    """Yield a callback that shows epochs, loss, validation error and time left.

    Nothing is shown if standard error is not a terminal.
    """
    console = _standard_error(quiet=quiet)
    is_wide = console.width >= WIDE
    time_left = [TextColumn("at most"), TimeRemainingColumn()] if is_wide else []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=40 if is_wide else 12),
        TextColumn("epoch {task.completed}/{task.total}"),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        *time_left,
        console=console,
        disable=console.quiet,
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=None, state="")

        def show(epoch: Epoch) -> None:
            state = f"loss {epoch.loss:.4g}"
            if epoch.validation_error is not None:
                error = f"validation MAE {epoch.validation_error:.4g}"
                state = f"{state}, {error}" if is_wide else error
            bar.update(task, completed=epoch.number, total=epoch.n_epochs, state=state)

        yield show


@contextmanager
def step_progress(n_steps: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Yield a callback that shows the step that begins, and how many there are.

    Nothing is shown if standard error is not a terminal.
    """
    console = _standard_error(quiet=quiet)
    with Progress(
        BarColumn(bar_width=20),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        disable=console.quiet,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=n_steps)
        n_begun = 0

        def show(step: str) -> None:
            nonlocal n_begun
            bar.update(task, completed=n_begun, description=step)
            n_begun += 1

        yield show


@contextmanager
def search_progress(
    budget_s: float, *, quiet: bool
) -> Iterator[Callable[[int, float, float], None]]:
    """Yield a callback that shows trials of a search, and the time that is left.

    Nothing is shown if standard error is not a terminal.
    """
    console = _standard_error(quiet=quiet)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn(f"of {budget_s / 60:.3g} min"),
        console=console,
        disable=console.quiet,
        transient=True,
    ) as bar:
        task = bar.add_task("Trying the defaults", total=budget_s)
        start = time.monotonic()

        def show(number: int, crps: float, lowest: float) -> None:
            words = f"{number} tried, CRPS {crps:.4g}, lowest {lowest:.4g}"
            elapsed_s = min(budget_s, time.monotonic() - start)
            bar.update(task, completed=elapsed_s, description=words)

        yield show
