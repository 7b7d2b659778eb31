"""How often, and for how many rows, a fitted model runs its network."""

from collections.abc import Iterator
from contextlib import contextmanager

from histreg import HistogramRegressor


@contextmanager
def rows_seen_by(regressor: HistogramRegressor) -> Iterator[list[int]]:
    """Yield a list to which every run of the network adds its number of rows."""
    seen: list[int] = []
    body = regressor.model_.network.body  # the same of both readouts
    hook = body.register_forward_hook(
        lambda _module, inputs, _outputs: seen.append(len(inputs[0]))
    )
    try:
        yield seen
    finally:
        hook.remove()
