"""Write vectors.json: arguments in float64, results computed by mpmath with 60 digits.

    python -m tests.conformance.make_vectors

A test checks that the file is what this script writes. Each case names the mistake that
it catches, most of them found in public implementations.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath
from mpmath import mpf

PATH = Path(__file__).with_name("vectors.json")
NOTE = (
    "Shapes: y (n,), borders (k + 1,), centers (k,), logits (n, k), rewards and "
    "discounts (n,), levels (m,). A y beyond the borders or the outer centers is moved "
    "onto the nearest; the density is constant within a bin; the mean is that of the "
    "centers, which lie half-way between borders."
)


def _probs(logits: list[float]) -> list[mpf]:
    top = max(logits)
    powers = [mpmath.exp(mpf(z) - mpf(top)) for z in logits]
    total = sum(powers)
    return [power / total for power in powers]


def _centers(borders: list[float]) -> list[mpf]:
    return [(mpf(a) + mpf(b)) / 2 for a, b in pairwise(borders)]


def _gaussian(y: float, borders: list[float], sigma: float) -> list[mpf]:
    place = min(max(mpf(y), mpf(borders[0])), mpf(borders[-1]))
    z = [(mpf(b) - place) / (mpf(sigma) * mpmath.sqrt(2)) for b in borders]
    mass = [mpmath.erf(b) - mpmath.erf(a) for a, b in pairwise(z)]
    return [part / sum(mass) for part in mass]


def _two_hot(y: mpf, centers: list[Any]) -> list[mpf]:
    centers = [mpf(c) for c in centers]
    y = min(max(mpf(y), centers[0]), centers[-1])
    result = [mpf(0)] * len(centers)
    i = max(j for j in range(len(centers) - 1) if centers[j] <= y)
    share = (y - centers[i]) / (centers[i + 1] - centers[i])
    result[i], result[i + 1] = 1 - share, share
    return result


def gaussian_target(y: list, borders: list, sigma: float) -> list:
    """Return the truncated normal around each y: (n, k)."""
    return [_gaussian(value, borders, sigma) for value in y]


def two_hot_target(y: list, centers: list) -> list:
    """Return the split of each y between its two nearest centers: (n, k)."""
    return [_two_hot(value, centers) for value in y]


def cross_entropy(logits: list, y: list, borders: list, sigma: float) -> list:
    """Return the histogram loss with a Gaussian target: (n,)."""
    result = []
    for row, value in zip(logits, y, strict=True):
        top = mpf(max(row))
        log_total = top + mpmath.log(sum(mpmath.exp(mpf(z) - top) for z in row))
        target = _gaussian(value, borders, sigma)
        parts = zip(target, row, strict=True)
        result.append(sum(p * (log_total - mpf(z)) for p, z in parts))
    return result


def mean(logits: list, borders: list) -> list:
    """Return the means: (n,)."""
    centers = _centers(borders)
    parts = (zip(_probs(row), centers, strict=True) for row in logits)
    return [sum(p * c for p, c in part) for part in parts]


def cdf(logits: list, borders: list, y: list) -> list:
    """Return P(Y <= y), one y for each row of logits: (n,)."""
    result = []
    for row, value in zip(logits, y, strict=True):
        total = mpf(0)
        for p, (a, b) in zip(_probs(row), pairwise(borders), strict=True):
            share = (mpf(value) - mpf(a)) / (mpf(b) - mpf(a))
            total += p * min(max(share, mpf(0)), mpf(1))
        result.append(total)
    return result


def quantiles(logits: list, borders: list, levels: list) -> list:
    """Return the quantiles at the same levels of every row: (n, m)."""
    result = []
    for row in logits:
        probs, found = _probs(row), []
        for level in levels:
            below = mpf(0)
            for p, (a, b) in zip(probs, pairwise(borders), strict=True):
                if below + p >= mpf(level):
                    share = (mpf(level) - below) / p
                    found.append(mpf(a) + share * (mpf(b) - mpf(a)))
                    break
                below += p
        result.append(found)
    return result


def backup(logits: list, centers: list, rewards: list, discounts: list) -> list:
    """Return the two-hot distributional Bellman backup: (n, k)."""
    result = []
    for row, reward, discount in zip(logits, rewards, discounts, strict=True):
        total = [mpf(0)] * len(centers)
        for p, c in zip(_probs(row), centers, strict=True):
            moved = _two_hot(mpf(reward) + mpf(discount) * mpf(c), centers)
            total = [t + p * m for t, m in zip(total, moved, strict=True)]
        result.append(total)
    return result


TEN = [float(i) for i in range(11)]
SIGNED = [i / 4 - 1 for i in range(9)]
FAR = [1e6 + i / 4 for i in range(9)]
UNEVEN = [-4.0, -1.0, -0.5, 0.0, 0.25, 2.0, 32.0]
# The centers of bins between 1, 20, 1000, 30000 on both sides.
SYMEXP = [-15500.0, -510.0, -10.5, 0.0, 10.5, 510.0, 15500.0]
RAMP = [0.3 * i - 1 for i in range(10)]
FALL = [2.0 - 0.7 * i for i in range(10)]

CASES: list[tuple[Any, str, dict[str, Any]]] = [
    (
        gaussian_target,
        "ordinary; a support off by half a bin",
        {"y": [2.3, 5.0, 7.71], "borders": TEN, "sigma": 1.0},
    ),
    (
        gaussian_target,
        "y on borders and on both ends; no normalisation over the bins",
        {"y": [0.0, 1.0, 9.0, 10.0], "borders": TEN, "sigma": 2.0},
    ),
    (
        gaussian_target,
        "negative borders; a wrong sign of the support",
        {"y": [-0.9, -0.1, 0.6], "borders": SIGNED, "sigma": 0.2},
    ),
    (
        gaussian_target,
        "a sigma far below a bin; differences of erf that vanish",
        {"y": [0.4, 5.0, 9.9999], "borders": TEN, "sigma": 1e-3},
    ),
    (
        gaussian_target,
        "a sigma far above the range",
        {"y": [0.0, 3.3], "borders": TEN, "sigma": 1e4},
    ),
    (
        gaussian_target,
        "y outside; zero vectors, NaN or masses that sum to less than one",
        {"y": [-3.0, 12.0, 1e4], "borders": TEN, "sigma": 0.5},
    ),
    (
        gaussian_target,
        "bins far from zero; float32 borders",
        {"y": [1e6 + 0.3, 1e6 + 1.9], "borders": FAR, "sigma": 0.3},
    ),
    (
        gaussian_target,
        "bins of unequal width; equal widths assumed",
        {"y": [-0.7, 0.1, 20.0], "borders": UNEVEN, "sigma": 1.5},
    ),
    (
        two_hot_target,
        "ordinary",
        {"y": [0.25, 3.999, 8.5], "centers": TEN},
    ),
    (
        two_hot_target,
        "y on centers; mass that vanishes or counts twice",
        {"y": [0.0, 1.0, 7.0, 10.0], "centers": TEN},
    ),
    (
        two_hot_target,
        "y just above a center; an epsilon in the denominator",
        {"y": [3.0000001, 3.0001], "centers": TEN},
    ),
    (
        two_hot_target,
        "y outside",
        {"y": [-1.0, 10.5, 1e9], "centers": TEN},
    ),
    (
        two_hot_target,
        "centers that spread like symexp; weights taken in symlog",
        {"y": [-1000.0, -3.0, 0.5, 100.0], "centers": SYMEXP},
    ),
    (
        cross_entropy,
        "ordinary",
        {"logits": [RAMP, FALL], "y": [2.2, 8.0], "borders": TEN, "sigma": 1.5},
    ),
    (
        cross_entropy,
        "large logits; log of a softmax that underflows",
        {
            "logits": [[1000.0 * z for z in RAMP], [-500.0 * z for z in RAMP]],
            "y": [0.5, 9.0],
            "borders": TEN,
            "sigma": 1.5,
        },
    ),
    (
        mean,
        "equal masses; a mean over bins instead of a sum",
        {"logits": [[0.0] * 10], "borders": TEN},
    ),
    (
        mean,
        "ordinary; borders in place of centers",
        {"logits": [RAMP, FALL], "borders": TEN},
    ),
    (
        mean,
        "bins far from zero; a float32 softmax whose sum is not one",
        {"logits": [RAMP[:8], FALL[:8]], "borders": FAR},
    ),
    (
        mean,
        "bins of unequal width",
        {"logits": [RAMP[:6], FALL[:6]], "borders": UNEVEN},
    ),
    (
        mean,
        "half at 0, half at 100; symexp of the mean of symlog is 9.05",
        {"logits": [[0.0, -800.0, 0.0]], "borders": [-1.0, 1.0, 99.0, 101.0]},
    ),
    (
        cdf,
        "ordinary, on a border, outside",
        {
            "logits": [RAMP, FALL, RAMP, FALL],
            "borders": TEN,
            "y": [2.7, 4.0, -5.0, 99.0],
        },
    ),
    (
        quantiles,
        "ordinary; mass in the first bin",
        {
            "logits": [RAMP, FALL],
            "borders": TEN,
            "levels": [0.001, 0.1, 0.5, 0.9, 0.999],
        },
    ),
    (
        quantiles,
        "bins of unequal width, one bin nearly empty",
        {
            "logits": [[0.0, -60.0, 1.0, 0.0, 0.0, 2.0]],
            "borders": UNEVEN,
            "levels": [0.05, 0.3, 0.95],
        },
    ),
    (
        backup,
        "ordinary",
        {
            "logits": [[*RAMP, 0.4], [*FALL, 0.1]],
            "centers": TEN,
            "rewards": [0.7, 1.3],
            "discounts": [0.9, 0.5],
        },
    ),
    (
        backup,
        "moved onto centers; mass that vanishes where floor equals ceil",
        {
            "logits": [[*RAMP, 0.4]] * 2,
            "centers": TEN,
            "rewards": [0.0, 1.0],
            "discounts": [1.0, 1.0],
        },
    ),
    (
        backup,
        "the end of an episode: the target of the reward alone",
        {
            "logits": [[*RAMP, 0.4]] * 2,
            "centers": TEN,
            "rewards": [3.0, 4.25],
            "discounts": [0.0, 0.0],
        },
    ),
    (
        backup,
        "beyond both ends",
        {
            "logits": [[*RAMP, 0.4]] * 2,
            "centers": TEN,
            "rewards": [-20.0, 8.0],
            "discounts": [0.9, 0.99],
        },
    ),
]


def _numbers(values: Any) -> Any:
    return [_numbers(v) for v in values] if isinstance(values, list) else float(values)


def contents() -> dict[str, Any]:
    """Return what the file holds."""
    cases = []
    with mpmath.workdps(60):
        for function, catches, arguments in CASES:
            case = {"function": function.__name__, "catches": catches}
            expected = _numbers(function(**arguments))
            cases.append(case | {"arguments": arguments, "expected": expected})
    return {"version": 1, "note": NOTE, "cases": cases}


if __name__ == "__main__":
    PATH.write_text(json.dumps(contents(), indent=1) + "\n")
