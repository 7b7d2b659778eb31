"""Threads: how many of them work on one product, and when one is better.

PyTorch and scikit-learn use as many threads as there are cores, which wait for each
other after every operation. Operations of a fraction of a millisecond gain little from
that, and where other programs keep a core busy, each of them waits for a turn of the
scheduler: fits that take seconds then take minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

WORTH_THREADS = 2**20  # numbers in a table that scikit-learn learns from


class _Limits(threading.local):
    depth = 0  # of contexts of this thread


_limits = _Limits()
_lock = threading.Lock()
_n_limited = 0  # threads inside of `one_thread`
_n_before = 1  # torch's number when the first of them began


@contextmanager
def one_thread() -> Iterator[None]:
    """Return a context in which torch's operations have one thread.

    It may be entered by several threads at once, which all leave torch's number as the
    first of them found it. The number is that of the calling thread, and of threads
    that use torch for the first time meanwhile.
    """
    global _n_limited, _n_before
    if not _limits.depth:
        with _lock:
            # Also asked because a thread's first use of torch takes over the number
            # that any thread set last, and would undo what is set here.
            present = torch.get_num_threads()
            if not _n_limited:
                _n_before = present
            _n_limited += 1
            torch.set_num_threads(1)
    _limits.depth += 1
    try:
        yield
    finally:
        _limits.depth -= 1
        if not _limits.depth:
            with _lock:
                _n_limited -= 1
                torch.set_num_threads(_n_before)


def boosting_threads(n_numbers: int) -> AbstractContextManager[Any]:
    """Return a context for scikit-learn's boosting on a table of that many numbers.

    Small tables have one thread of OpenMP. Enter it after scikit-learn's modules are
    imported: it affects the libraries that are loaded, in the calling thread.
    """
    if n_numbers >= WORTH_THREADS:
        return nullcontext()
    from threadpoolctl import threadpool_limits  # scikit-learn needs it

    return threadpool_limits(1, user_api="openmp")
