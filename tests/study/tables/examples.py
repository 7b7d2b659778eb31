"""Tables made by hand, with everything that the development tables have."""

import numpy as np
import pandas as pd


def made_table(n=200, seed=0):
    """Return a frame with numbers, gaps, labels and a time, and y made from them."""
    rng = np.random.default_rng(seed)
    number = rng.normal(size=n)
    label = rng.choice(["red", "green", "blue"], n).astype(object)
    y = 10 * number + np.where(label == "red", 20.0, 0.0) + rng.normal(size=n)
    X = pd.DataFrame(
        {
            "a number [m]": number,
            "gaps": np.where(rng.uniform(size=n) < 0.3, np.nan, number**2),
            "colour": label,
            "town": np.where(
                rng.uniform(size=n) < 0.2, None, rng.choice(["a", "b"], n)
            ),
            "day": pd.Timestamp("2001-01-22") + pd.to_timedelta(np.arange(n), "D"),
        }
    )
    return X, y
