"""Progress: the epochs of a fit, shown on a terminal."""

from __future__ import annotations

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


@contextmanager
def epoch_progress(title: str, *, quiet: bool) -> Iterator[Callable[[Epoch], None]]:
    """Yield a callback that shows epochs, loss, validation error and time left.

    Nothing is shown if standard error is not a terminal.
    """
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("epoch {task.completed}/{task.total}"),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        TextColumn("at most"),
        TimeRemainingColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=None, state="")

        def show(epoch: Epoch) -> None:
            state = f"loss {epoch.loss:.4g}"
            if epoch.validation_error is not None:
                state += f", validation MAE {epoch.validation_error:.4g}"
            bar.update(task, completed=epoch.number, total=epoch.n_epochs, state=state)

        yield show
