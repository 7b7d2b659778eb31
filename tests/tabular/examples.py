"""A small model, and tables for it."""

import numpy as np
import pandas as pd

# Networks alone: the models that they are blended with take five times as long to fit.
SMALL = {
    "hidden_layer_sizes": (16,),
    "max_iter": 8,
    "blend_with": (),
    "random_state": 0,
}
BLENDED = {**SMALL, "blend_with": "auto"}  # as by default
TINY = {**SMALL, "n_estimators": 1}  # where the fit is not the point


def data(n=200, seed=0):
    """Return y = 10 sin(2 x_0) + x_1 with normal noise of standard deviation 0.5."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, 10 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)


def frame(n=200):
    """Return a table with every kind of column, and its y."""
    X, y = data(n)
    rng = np.random.default_rng(1)
    kind = rng.choice(["plain", "fancy", "rare"], size=n, p=[0.6, 0.35, 0.05])
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["kind"] = pd.Categorical(kind)
    table["text"] = rng.choice(["x", "y"], size=n)
    table.loc[::7, "b"] = np.nan
    table.loc[::11, "text"] = None
    return table, y + 5.0 * (kind == "fancy")


def counts(n, seed):
    """Return rows whose target is a count."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)


def spending(n, seed):
    """Return rows whose target is zero in half of the cases, and skewed otherwise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    has_any = rng.uniform(size=n) < 1 / (1 + np.exp(-2 * X[:, 0]))
    y = np.exp(1 + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n))
    return X, np.where(has_any, y, 0.0)


def nearly_exact(n, seed):
    """Return rows whose target jumps at many places, which networks learn slowly."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.floor(12 * X[:, 0]) % 3 + 1e-2 * X[:, 1]


def smooth(n, seed):
    """Return a smooth function of three numbers, with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n)
    return X, y
