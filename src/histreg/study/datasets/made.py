"""Made tables: targets of known shape, most of them with a heavy tail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from histreg.study.datasets.source import Floats, Table, TableSource, sha256_of

if TYPE_CHECKING:
    import numpy as np

N_ROWS = 10_000


def features(seed: int) -> tuple[Floats, Floats, np.random.Generator]:
    """Return eight features, a smooth function of five of them, of sd 1, and chance."""
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N_ROWS, 8))
    f = np.sin(np.pi * X[:, 0] * X[:, 1]) + X[:, 2] ** 2 + X[:, 3] + X[:, 4] / 2
    return X, (f - f.mean()) / f.std(), rng


def lognormal(_: bytes) -> Table:
    """Return logarithms of sd 1.5 around a function, with noise of sd 0.5."""
    import numpy as np

    X, f, rng = features(0)
    return _table(X, np.exp(1.5 * f + 0.5 * rng.normal(size=N_ROWS)))


def pareto(_: bytes) -> Table:
    """Return Pareto targets of shape 2.5, scaled by a function."""
    import numpy as np

    X, f, rng = features(1)
    return _table(X, np.exp(f / 2) * (1 + rng.pareto(2.5, N_ROWS)))


def zeros(_: bytes) -> Table:
    """Return lognormal y, half of them set to 0, mostly where a function is low."""
    import numpy as np

    X, f, rng = features(2)
    some = rng.uniform(size=N_ROWS) < 1 / (1 + np.exp(-2 * f))
    return _table(X, np.where(some, np.exp(f + 0.5 * rng.normal(size=N_ROWS)), 0.0))


def far_mode(_: bytes) -> Table:
    """Return a function with noise of sd 0.3, and 1 in 20 values a thousand away."""
    import numpy as np

    X, f, rng = features(3)
    far = rng.uniform(size=N_ROWS) < 0.1 / (1 + np.exp(-3 * X[:, 5]))
    return _table(X, f + 0.3 * rng.normal(size=N_ROWS) + far * (1000 + 20 * X[:, 6]))


def friedman(_: bytes) -> Table:
    """Return Friedman's first function with normal noise of sd 1."""
    from sklearn.datasets import make_friedman1  # slow to import

    return _table(*make_friedman1(4000, noise=1.0, random_state=0))


def _table(X: Floats, y: Floats) -> Table:
    columns = tuple(f"x{i}" for i in range(X.shape[1]))
    return Table(X=X, y=y, columns=columns, sha256=sha256_of(X.tobytes(), y.tobytes()))


def _made(
    name: str,
    title: str,
    parse: Callable[[bytes], Table],
    quirks: str,
    *,
    n_rows: int = N_ROWS,
    n_features: int = 8,
) -> TableSource:
    return TableSource(
        name=name,
        title=title,
        homepage="",
        licence="none needed",
        url=None,
        files=(),
        member="",
        sha256=None,  # exponentials may differ in the last digit between machines
        n_rows=n_rows,
        n_features=n_features,
        quirks=f"Made up. {quirks}",
        parse=parse,
    )


MADE = (
    _made(
        "lognormal",
        "Lognormal",
        lognormal,
        "Logarithms of sd 1.5 around a smooth function of five of eight features, "
        "with normal noise of sd 0.5.",
    ),
    _made(
        "pareto",
        "Pareto",
        pareto,
        "Pareto of shape 2.5, whose third moment is infinite, scaled by a function.",
    ),
    _made(
        "zeros",
        "Many Zeros",
        zeros,
        "Half of y are 0, more where a function is low; the others are lognormal.",
    ),
    _made(
        "far-mode",
        "Far Mode",
        far_mode,
        "Around a function with noise of sd 0.3, but one in twenty a thousand away.",
    ),
    _made(
        "friedman",
        "Friedman",
        friedman,
        "Friedman's first function with normal noise of sd 1: no tail at all.",
        n_rows=4000,
        n_features=10,
    ),
)
