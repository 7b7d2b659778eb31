"""Claims about synthetic sines (Figure 3)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from histreg.study.catalogue import experiment
from histreg.study.catalogue.synthetic import (
    FAR,
    FREQUENCIES,
    NEAR,
    OFFSETS,
    SINE_HL,
    UNSCALED,
)
from histreg.study.claims.claim import Claim
from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import BySeed, Finding, in_range, lower, not_higher
from histreg.study.claims.scope import SINES
from histreg.study.engine.runs import Record, Run
from histreg.study.methods import L2, Method
from histreg.study.sines.curves import BestRate, best_rates
from histreg.study.sines.runs import SineRun

SAME = 0.2
FITS, DOES_NOT_FIT = 0.01, 0.05  # of the target's variance, 0.5: 2 % and 10 %

Loss = tuple[Method, tuple[float, float]]
L2_LOSS: Loss = (L2(), UNSCALED)
HL_NEAR: Loss = (SINE_HL, NEAR)
HL_FAR: Loss = (SINE_HL, FAR)
HIGHER = tuple(alpha for alpha, _ in FREQUENCIES)
FARTHER = tuple(beta for _, beta in OFFSETS)
ALPHA = 10.0  # of the offset part

AREAS = (
    "The area is the mean squared error over all iterations, at the learning rate of "
    "the smallest mean area, each loss and target by itself; where a run of the grid "
    "is missing nothing is decided, since that rate could be the best."
)


class Sines:
    """The best rates of the losses and targets whose runs all have a record."""

    def __init__(self, evidence: Evidence) -> None:
        records_by_run = {record.run: record for record in evidence.records}
        groups: dict[tuple[object, ...], list[Record | None]] = {}
        # Only runs of the catalogue count, not smaller networks.
        for run in experiment("sines").runs:
            groups.setdefault(_task(run), []).append(records_by_run.get(run))
        complete = [group for group in groups.values() if None not in group]
        records = [
            record for group in complete for record in group if record is not None
        ]
        self._best = {
            (curve.method, curve.alpha, curve.beta, curve.value_range): curve
            for curve in best_rates(records)
        }

    def best(self, loss: Loss, alpha: float, beta: float) -> BestRate | None:
        """Return a loss on a target at its best rate; None if a run is missing."""
        method, support = loss
        return self._best.get((method.name, alpha, beta, support))

    def areas(self, loss: Loss, alpha: float, beta: float = 0.0) -> BySeed:
        """Return the areas under its error by seed; nothing if a run is missing."""
        best = self.best(loss, alpha, beta)
        return {} if best is None else best.areas

    def finals(self, loss: Loss, alpha: float, beta: float = 0.0) -> BySeed:
        """Return its last errors by seed; nothing if a run is missing."""
        best = self.best(loss, alpha, beta)
        return {} if best is None else best.finals


def _task(run: Run) -> tuple[object, ...]:
    """Return a key shared by runs that differ only in learning rate and seed."""
    assert isinstance(run, SineRun)
    return run.method, run.alpha, run.beta, run.value_range


def _on_sines(findings: list[Finding]) -> list[Finding]:
    return [replace(finding, on=SINES.names) for finding in findings]


def _frequency(evidence: Evidence) -> list[Finding]:
    sines = Sines(evidence)
    return _on_sines(
        [
            lower(
                f"{loss[0].name}: alpha {a:g} below alpha {b:g}",
                sines.areas(loss, a),
                sines.areas(loss, b),
            )
            for loss in (L2_LOSS, HL_NEAR)
            for a, b in pairwise(HIGHER)
        ]
    )


def _faster(evidence: Evidence) -> list[Finding]:
    sines = Sines(evidence)
    return _on_sines(
        [
            lower(
                f"alpha {alpha:g}: HL-Gauss below l2",
                sines.areas(HL_NEAR, alpha),
                sines.areas(L2_LOSS, alpha),
            )
            for alpha in HIGHER[1:]
        ]
    )


def _offset(evidence: Evidence) -> list[Finding]:
    sines = Sines(evidence)
    grows = [
        lower(
            f"l2: beta {a:g} below beta {b:g}",
            sines.areas(L2_LOSS, ALPHA, a),
            sines.areas(L2_LOSS, ALPHA, b),
        )
        for a, b in pairwise(FARTHER)
    ]
    stays = [
        not_higher(
            f"HL-Gauss: beta {beta:g} not more than {SAME:.0%} above beta 0",
            sines.areas(HL_FAR, ALPHA, beta),
            sines.areas(HL_FAR, ALPHA, FARTHER[0]),
            SAME,
        )
        for beta in FARTHER[1:]
    ]
    return _on_sines(grows + stays)


def _fit(evidence: Evidence) -> list[Finding]:
    sines = Sines(evidence)
    return _on_sines(
        [
            in_range(
                f"HL-Gauss ends below {FITS:g}", sines.finals(HL_NEAR, ALPHA), high=FITS
            ),
            in_range(
                f"l2 ends above {DOES_NOT_FIT:g}",
                sines.finals(L2_LOSS, ALPHA),
                low=DOES_NOT_FIT,
            ),
        ]
    )


CLAIMS = (
    Claim(
        "K1",
        "Both losses learn slower as the frequency alpha goes from 1 to 10 to 20.",
        "For l2 and HL-Gauss the area at alpha 1 is below that at 10, and that below "
        f"the one at 20 (beta 0, bins on [-1.5, 1.5]). {AREAS}",
        ("sines",),
        _frequency,
        SINES,
    ),
    Claim(
        "K2",
        "On high frequencies, alpha 10 and 20, HL-Gauss learns faster than l2.",
        f"The area of HL-Gauss (bins on [-1.5, 1.5]) is below that of l2. {AREAS}",
        ("sines",),
        _faster,
        SINES,
    ),
    Claim(
        "K3",
        "l2 learns slower as the offset beta goes from 0 to 1 to 10; HL-Gauss does "
        "not.",
        "At alpha 10, l2's area at beta 0 is below that at 1, and that below the one "
        "at 10; HL-Gauss's (bins on [-1.5, 11.5]) at 1 and 10 is not more than "
        f"{SAME:.0%} above that at 0. {AREAS}",
        ("sines",),
        _offset,
        SINES,
    ),
    Claim(
        "K4",
        "After 1,000 iterations HL-Gauss fits sin(10 x), and l2 does not yet.",
        f"The 95 % interval of the last mean squared error is below {FITS:g} for "
        f"HL-Gauss (bins on [-1.5, 1.5]) and above {DOES_NOT_FIT:g} for l2, where the "
        "target's variance is 0.5; each at the rate of its smallest area.",
        ("sines",),
        _fit,
        SINES,
    ),
)
