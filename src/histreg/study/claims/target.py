"""Claims about the target distribution (Figures 4 to 6, Tables 2 and 8)."""

from __future__ import annotations

import math
from itertools import pairwise

from histreg.study.catalogue.target import UNIFORM, with_bins
from histreg.study.claims.claim import Claim
from histreg.study.claims.conditions import (
    HL_ONE_BIN,
    Condition,
    all_of,
    lower_each,
    not_higher_each,
    not_lower_each,
    on_tables,
    within_each,
)
from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import (
    Finding,
    in_range,
    measured,
    not_run,
    on_dataset,
)
from histreg.study.claims.scope import PAPER_TABLES, tables
from histreg.study.methods import HLGauss, HLOneBin, HLProjected

MARGIN = 0.02  # by which an error may fall and still count as not improved
RISE = 0.05
FLAT = 0.1
NEGLIGIBLE = 0.01  # of the bias at the ends
FEW, USUAL, MANY = 10, 100, (200, 400)
FLAT_BINS = (50, *MANY)
NARROW, WIDE = 2.0**-4, 2.0**4  # sigma, in bins
FLAT_SIGMAS = (0.5, 2.0, 4.0)
QUARTER_BIN = 0.3125  # of CT Position: what rounding to bins costs in the mean
HALF_BIN = 0.625  # of Pole, whose labels lie on borders


def _label_bias(evidence: Evidence) -> list[Finding]:
    return [
        bias for name in evidence.tabular for bias in _label_bias_on(evidence, name)
    ]


def _label_bias_on(evidence: Evidence, name: str) -> list[Finding]:
    record = evidence.measurement("label-bias", name)
    parts = [f"high for {end} sigma" for end in ("small", "large")]
    if record is None:
        return [on_dataset(name, not_run(part)) for part in parts]
    curves = record.outcome.curves
    biases = dict(zip(curves["sigma_in_bins"], curves["label bias"], strict=True))
    sigmas = sorted(sigma for sigma in biases if sigma > 0)  # 0 is HL-OneBin
    least = min(sigmas[1:-1], key=lambda sigma: biases[sigma])
    return [
        on_dataset(
            name,
            measured(
                part,
                holds=biases[least] < NEGLIGIBLE * biases[end],
                numbers=f"{biases[end]:.3g} at {end:g} bins, {biases[least]:.3g} at "
                f"{least:g}",
            ),
        )
        for part, end in zip(parts, (sigmas[0], sigmas[-1]), strict=True)
    ]


def _one_bin_floor(evidence: Evidence) -> list[Finding]:
    near = ((1 - FLAT) * QUARTER_BIN, (1 + FLAT) * QUARTER_BIN)
    said = {
        "ct": (f"HL-OneBin within {FLAT:.0%} of {QUARTER_BIN:g} (train MAE)", near),
        "pole": (f"HL-OneBin above {HALF_BIN:g} (train MAE)", (HALF_BIN, math.inf)),
    }
    return [
        on_dataset(
            name,
            in_range(part, evidence.values(name, HLOneBin(), "train MAE"), *limits),
        )
        for name, (part, limits) in said.items()
        if name in evidence.datasets
    ]


def _one_bin(n_bins: int, metric: str = "test MAE") -> Condition:
    method, _ = with_bins(n_bins)
    return Condition.of(method, metric, label=f"HL-OneBin of {n_bins} bins")


def _gauss(n_bins: int, metric: str = "test MAE") -> Condition:
    _, method = with_bins(n_bins)
    return Condition.of(method, metric, label=f"HL-Gauss of {n_bins} bins")


def _sigma(sigma: float, metric: str = "test MAE") -> Condition:
    return Condition.of(HLGauss(sigma), metric, label=f"sigma {sigma:g}")


_PROJECTED = Condition.of(HLProjected())
_EPSILONS = [Condition.of(HLOneBin(), label="epsilon 0")] + [
    Condition.of(method, label=f"epsilon {method.epsilon:g}") for method in UNIFORM
]

CLAIMS = (
    Claim(
        "K13",
        "Uniform smoothing of the target never lowers the test MAE.",
        "From HL-OneBin (epsilon 0) through all epsilon of HL-Uniform, no step upwards "
        f"lowers the test MAE by more than {MARGIN:.0%}, and no epsilon has one that "
        "far below HL-OneBin's.",
        ("uniform",),
        all_of(
            not_lower_each([(b, a) for a, b in pairwise(_EPSILONS)], MARGIN),
            not_lower_each(
                [(epsilon, _EPSILONS[0]) for epsilon in _EPSILONS[2:]], MARGIN
            ),
        ),
        PAPER_TABLES,
    ),
    Claim(
        "K14",
        "The label bias of HL-Gauss is high for very small and for very large sigma, "
        "and negligible in between.",
        "At the smallest and at the largest sigma measured (2^-6 and 2^4 bins; sigma "
        "0, HL-OneBin, apart) it is more than "
        f"{1 / NEGLIGIBLE:g} times the smallest in between. There is no chance in it.",
        ("label-bias",),
        _label_bias,
        PAPER_TABLES,
    ),
    Claim(
        "K15",
        "HL-Gauss is better than HL-Projected on all four data sets, and HL-Projected "
        "better than HL-OneBin on all but Song Year.",
        "HL-Gauss below HL-Projected in test MAE and test RMSE; HL-Projected below "
        "HL-OneBin in test MAE, but on Song Year, where the paper's own numbers say "
        "the opposite.",
        ("projected",),
        all_of(
            lower_each(
                [
                    (
                        Condition.of(HLGauss(), metric),
                        Condition.of(HLProjected(), metric),
                    )
                    for metric in ("test MAE", "test RMSE")
                ]
            ),
            lower_each(
                [(_PROJECTED, HL_ONE_BIN)], where=on_tables("ct", "bike", "pole")
            ),
        ),
        PAPER_TABLES,
    ),
    Claim(
        "K16",
        "HL-OneBin's train MAE is what rounding to bins costs: near a quarter of a bin "
        "on CT Position, above half a bin on Pole, whose labels lie on borders.",
        f"The 95 % interval of the mean lies within {FLAT:.0%} of {QUARTER_BIN:g} on "
        f"CT Position, and above {HALF_BIN:g} on Pole.",
        ("overall",),
        _one_bin_floor,
        tables("ct", "pole"),
    ),
    Claim(
        "K17",
        "Few bins have a high train and test error; with HL-Gauss many bins do no "
        "harm, and above 30 their number does not matter. An exception: the test RMSE "
        "of HL-OneBin on CT Position rises with many bins.",
        f"With padding and sigma in units of the target kept: {USUAL} bins below {FEW} "
        "in train and test MAE for both losses; HL-Gauss's test MAE at "
        f"{' and '.join(map(str, MANY))} not more than {RISE:.0%} above that at "
        f"{USUAL}, and at {', '.join(map(str, FLAT_BINS))} within {FLAT:.0%} of it; on "
        f"CT Position HL-OneBin's test RMSE at {USUAL} below that at {MANY[-1]}.",
        ("bins",),
        all_of(
            lower_each(
                [
                    (loss(USUAL, metric), loss(FEW, metric))
                    for loss in (_gauss, _one_bin)
                    for metric in ("train MAE", "test MAE")
                ]
            ),
            not_higher_each([(_gauss(k), _gauss(USUAL)) for k in MANY], RISE),
            within_each([(_gauss(k), _gauss(USUAL)) for k in FLAT_BINS], FLAT),
            lower_each(
                [(_one_bin(USUAL, "test RMSE"), _one_bin(MANY[-1], "test RMSE"))],
                where=on_tables("ct"),
            ),
        ),
        PAPER_TABLES,
    ),
    Claim(
        "K18",
        "Over sigma the train and test errors of HL-Gauss have the shape of a V, with "
        "a flat bottom from 0.5 to 4 bins.",
        f"Train and test MAE at sigma 1 bin below those at {NARROW:g} and {WIDE:g}; "
        f"test MAE at {', '.join(f'{sigma:g}' for sigma in FLAT_SIGMAS)} within "
        f"{FLAT:.0%} of that at 1.",
        ("sigma",),
        all_of(
            lower_each(
                [
                    (_sigma(1.0, metric), _sigma(end, metric))
                    for metric in ("train MAE", "test MAE")
                    for end in (NARROW, WIDE)
                ]
            ),
            within_each([(_sigma(sigma), _sigma(1.0)) for sigma in FLAT_SIGMAS], FLAT),
        ),
        PAPER_TABLES,
    ),
)
