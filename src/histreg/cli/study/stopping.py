"""Stopping: SIGTERM ends a study as Ctrl-C does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, which clusters and ``kill`` send, act as the first Ctrl-C.

    Later ones are ignored: batch schedulers, and ``timeout``, send it more than once,
    and a second Ctrl-C would end the workers without their checkpoints.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
