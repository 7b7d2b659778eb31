"""Instructions: those of the processor that worker processes compute with."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "ATEN_CPU_CAPABILITY"
"""Of the environment, which PyTorch reads when a process starts."""

WITH_AVX512 = ("skylakex", "cooperlake", "sapphirerapids")
"""OpenBLAS's names of processors for which it uses AVX-512, in lower case."""


@contextmanager
def workers_without_avx512() -> Iterator[None]:
    """Return a context in which worker processes start that do not use AVX-512.

    PyTorch's sums with AVX-512 depend on the shape of a stack, by rounding, so that a
    network's numbers would depend on its company. Without it steps take as long: the
    matrix products, which take most of the time, are not PyTorch's own.
    """
    import torch  # not for plans or the status, as elsewhere in this module

    is_chosen = VARIABLE in os.environ
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or is_chosen:
        yield
        return
    os.environ[VARIABLE] = "avx2"
    try:
        yield
    finally:
        del os.environ[VARIABLE]


@functools.cache
def openblas_core() -> str | None:
    """Return the processor that NumPy's OpenBLAS computes for, None without it."""
    import numpy as np
    from threadpoolctl import threadpool_info  # scikit-learn needs it

    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for library in threadpool_info():
        if Path(library["filepath"]).parent == folder:
            return library.get("architecture")
    return None


def numpy_is_faster() -> bool:
    """Return whether NumPy multiplies with AVX-512 here and PyTorch does not.

    PyTorch's products are MKL's, which uses AVX-512 on Intel's processors only.
    """
    import torch

    return (
        _is_of_amd()
        and torch.backends.mkl.is_available()
        and (openblas_core() or "").lower() in WITH_AVX512
    )


@functools.cache
def _is_of_amd() -> bool:
    try:
        return "AuthenticAMD" in Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        return False
