"""Narration: what the records say to the questions of the story, in sentences.

Each sentence is made of ratios of errors, geometric means over the seeds that both
sides have. One seed decides nothing: data sets with fewer than two are left out, and
there is no sentence where the records do not suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from histreg.report.printed_table import PrintedTable
from histreg.study.analysis.ratios import log_ratio
from histreg.study.catalogue import FORECAST_HL, RECOMMENDED
from histreg.study.claims import Evidence
from histreg.study.claims.synthetic import (
    ALPHA,
    FARTHER,
    HIGHER,
    HL_FAR,
    HL_NEAR,
    L2_LOSS,
    Sines,
)
from histreg.study.datasets import source
from histreg.study.methods import L2, HLGauss, HLOneBin, L2SoftmaxMean

LINEAR = "Linear"
FROZEN: dict[str, Any] = {"has_frozen_body": True}
ErrorsOf = Callable[[str], Mapping[int, float]]
"""From the name of a data set to errors by seed."""
ByName = Mapping[str, float]
"""Ratios by the names of data sets."""


def joined(parts: Sequence[str]) -> str:
    """Return parts as a list in words.

    Examples
    --------
    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def when(evidence: Evidence) -> list[str]:
    """Return where the loss helps without tuning, and where it does not."""
    sentences = []
    as_it_comes = _ratios(
        evidence.tabular,
        partial(evidence.values, method=RECOMMENDED),
        partial(evidence.values, method=L2()),
    )
    if as_it_comes:
        sentences.append(
            "With the recommended bins, the same for all tables, its test MAE is "
            f"{_on(as_it_comes)}."
        )
    linear = _ratios(
        evidence.series,
        lambda name: evidence.forecasts(name, LINEAR, FORECAST_HL, "test MAE"),
        lambda name: evidence.forecasts(name, LINEAR, L2(), "test MAE"),
    )
    if linear:
        sentences.append(
            f"With linear forecasters of series it is {_range(linear)} times as large "
            "as that of l2."
        )
    return sentences


def optimisation(evidence: Evidence) -> list[str]:
    """Return how fast the loss is fitted, and whether a better fit is what helps."""
    return [*_on_sines(evidence), *_fit_beside_test(evidence)]


def _on_sines(evidence: Evidence) -> list[str]:
    sines = Sines(evidence)
    near = {
        f"{alpha:g}": math.exp(
            log_ratio(sines.areas(HL_NEAR, alpha), sines.areas(L2_LOSS, alpha))
        )
        for alpha in HIGHER
    }
    offset = FARTHER[-1]
    far = math.exp(
        log_ratio(
            sines.areas(HL_FAR, ALPHA, offset), sines.areas(L2_LOSS, ALPHA, offset)
        )
    )
    if any(map(math.isnan, (*near.values(), far))):
        return []
    return [
        "On sines, with the best learning rate for each loss, the area under its error "
        f"curve is {_range(near)} of that of l2 over the frequencies, and {far:.2f} "
        f"where the target has an offset of {offset:g}."
    ]


def _fit_beside_test(evidence: Evidence) -> list[str]:
    train, test = (
        _ratios(
            evidence.tabular,
            partial(evidence.values, method=HLGauss(), metric=metric),
            partial(evidence.values, method=L2(), metric=metric),
        )
        for metric in ("train MAE", "test MAE")
    )
    looser = [n for n in test if test[n] < 1 <= train.get(n, 0.0)]
    closer = [n for n in test if test[n] < 1 and train.get(n, math.inf) < 1]
    sentences = []
    if closer:
        of = {name: train[name] for name in closer}
        sentences.append(
            "On some data its lower test error comes with a closer fit: its training "
            f"MAE is {_on(of)}."
        )
    if looser:
        of = {name: train[name] for name in looser}
        on_test = {name: test[name] for name in looser}
        sentences.append(
            "But optimisation does not explain everything: its training MAE is "
            f"{_on(of)}, where its test MAE is {_values(on_test)}. There it fits the "
            "training rows no better than l2, and still predicts test rows better."
        )
    return sentences


def representation(evidence: Evidence) -> list[str]:
    """Return what each loss makes of layers that it has not learnt.

    The paper compares a linear output with a softmax of 100, so that the squared error
    of the mean of the same softmax stands beside both.
    """
    sentences = []
    learnt: dict[str, Any] = {"donor": HLGauss(), **FROZEN}
    l2, same_head = (
        _ratios(
            evidence.tabular,
            partial(evidence.values, method=method, **learnt),
            partial(evidence.values, method=L2()),
        )
        for method in (L2(), L2SoftmaxMean())
    )
    if l2:
        text = (
            "On frozen layers that HL-Gauss has learnt, the test MAE of l2 is "
            f"{_on(l2, 'times that with its own layers')}"
        )
        if same_head.keys() == l2.keys():
            text += (
                "; with a softmax in place of the linear head, it is "
                f"{_values(same_head)}"
            )
        sentences.append(f"{text}.")
    hl, same_head = (
        _ratios(
            evidence.tabular,
            partial(evidence.values, method=method, **FROZEN),
            partial(evidence.values, method=L2(), **FROZEN),
        )
        for method in (HLGauss(), L2SoftmaxMean())
    )
    if hl:
        text = f"On frozen random layers, the test MAE of HL-Gauss is {_on(hl)}"
        if same_head.keys() == hl.keys():
            text += f", and that of l2 with a softmax {_values(same_head)}"
            if all(same_head[name] < hl[name] for name in hl):
                text += ": there the head helps, not the loss"
        sentences.append(f"{text}.")
    return sentences


def simpler(evidence: Evidence) -> PrintedTable | None:
    """Return the test MAE of simpler changes over that of l2; None without any."""
    of_methods: dict[str, ErrorsOf] = {
        "HL-Gauss": partial(evidence.values, method=HLGauss()),
        "mixture of Gaussians (MDN)": partial(evidence.chosen, method="MDN"),
        "no smoothing (HL-OneBin)": partial(evidence.values, method=HLOneBin()),
        "softmax, squared error of its mean": partial(
            evidence.values, method=L2SoftmaxMean()
        ),
        "l2, noise on targets": partial(evidence.chosen, method="l2+Noise"),
        "l2, clipped gradients": partial(evidence.chosen, method="l2+Clipping"),
    }
    l2 = partial(evidence.values, method=L2())
    by_method = {
        label: _ratios(evidence.tabular, of, l2) for label, of in of_methods.items()
    }
    names = [
        name
        for name in evidence.tabular
        if sum(name in ratios for ratios in by_method.values()) > 1
    ]
    if not names:
        return None
    rows = [
        (label, *(f"{ratios[name]:.2f}" if name in ratios else "" for name in names))
        for label, ratios in by_method.items()
    ]
    titles = [source(name).title for name in names]
    notes = [
        "Test MAE over that of l2; below 1 is better. Mixtures, noise and clipping "
        "with the setting chosen on validation rows."
    ]
    title = "Simpler changes beside HL-Gauss"
    return PrintedTable(title, ("method", *titles), rows, notes)


def _ratios(names: Sequence[str], of: ErrorsOf, against: ErrorsOf) -> dict[str, float]:
    """Return ratios of errors by data set, of those with two common seeds or more."""
    ratios = {}
    for name in names:
        a, b = of(name), against(name)
        if len(a.keys() & b.keys()) > 1:
            ratios[name] = math.exp(log_ratio(a, b))
    return ratios


def _on(ratios: ByName, of: str = "of that of l2") -> str:
    """Return ratios in words: those of the first data set say of what."""
    parts = [f"{r:.2f} on {source(name).title}" for name, r in ratios.items()]
    return joined([parts[0].replace(" on ", f" {of} on ", 1), *parts[1:]])


def _values(ratios: ByName) -> str:
    return joined([f"{ratio:.2f}" for ratio in ratios.values()])


def _range(ratios: ByName) -> str:
    low, high = min(ratios.values()), max(ratios.values())
    return f"{low:.2f} to {high:.2f}" if len(ratios) > 1 else f"{low:.2f}"
