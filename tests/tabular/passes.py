"""How often models run their networks and read their tables, and for how many rows."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch.nn.modules.module import register_module_forward_hook

from histreg.tabular.networks import TabularBody


@contextmanager
def rows_seen() -> Iterator[list[int]]:
    """Yield a list to which every run of any network adds its number of rows."""
    seen: list[int] = []

    def count(module, inputs, _outputs) -> None:
        if isinstance(module, TabularBody):
            seen.append(len(inputs[0]))

    hook = register_module_forward_hook(count)
    try:
        yield seen
    finally:
        hook.remove()
