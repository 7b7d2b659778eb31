"""Claims about the overall results (Tables 1 and 7)."""

from __future__ import annotations

from dataclasses import replace

from histreg.study.analysis.paper import UNMATCHED, rows_of
from histreg.study.claims.claim import Claim, Origin
from histreg.study.claims.conditions import (
    Condition,
    all_of,
    lower_each,
    lower_on_some,
    not_higher_each,
    on_tables,
)
from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import BySeed, Finding, lower, not_run, title
from histreg.study.claims.scope import PAPER_TABLES, tables
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    METHODS,
    HLGauss,
    HLOneBin,
    L2Clipping,
    L2Noise,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
    LinearRegression,
)


def _condition(row: str) -> Condition:
    """Return our method of a row of the paper."""
    method = METHODS[row]
    return Condition.chosen(method) if method.is_tuned else Condition.of(method())


BY_ROW = {row: _condition(row) for row in rows_of("overall") if row not in UNMATCHED}
"""The paper's rows that have a method of ours, see `matched_row`."""
OLS = BY_ROW[LinearRegression.name]
NETWORKS = [condition for condition in BY_ROW.values() if condition is not OLS]
HL_GAUSS, HL_ONE_BIN = BY_ROW[HLGauss.name], BY_ROW[HLOneBin.name]
L2_LOSS, L1_LOSS = BY_ROW[L2.name], BY_ROW[L1.name]
NOISE, CLIPPING = BY_ROW[L2Noise.name], BY_ROW[L2Clipping.name]
MIXTURE, SOFTMAX = BY_ROW[MDN.name], BY_ROW[L2SoftmaxMean.name]
PER_BIN = Condition.of(L2SoftmaxPerBin())
NOT_SONG = on_tables("ct", "bike", "pole")
SONG = on_tables("song")

FAR_WORSE = 2.0
NEAR = 0.2

TUNED = (
    "Settings of l2+Noise, l2+Clipping and MDN are chosen on validation rows; where "
    "one of these runs is missing nothing is decided, since that setting could be the "
    "best."
)
NO_ROW = (
    'The row "l2+Softmax" is left out, which none of our methods stands beside (K8).'
)
CANNOT_BE_TOLD = (
    "which loss the row l2+Softmax has cannot be told: its formula cannot have its "
    "numbers, and the squared error of the mean, which can, has the row "
    "l2+Softmax+Mean"
)
ON_VALIDATION = "settings chosen on validation rows"
CHOSEN = tables(departures=(ON_VALIDATION,))


def _others(*known: Condition) -> list[Condition]:
    return [other for other in NETWORKS if other not in known]


def _softmax_gap(evidence: Evidence, name: str) -> BySeed:
    """Return where l2+Softmax+Mean lies between HL-Gauss, 0, and l2, 1."""
    one, zero = L2_LOSS.by_seed(evidence, name), HL_GAUSS.by_seed(evidence, name)
    softmax = SOFTMAX.by_seed(evidence, name)
    return {
        seed: (softmax[seed] - zero[seed]) / (one[seed] - zero[seed])
        for seed in softmax.keys() & one.keys() & zero.keys()
        if one[seed] != zero[seed]
    }


def _closest(evidence: Evidence) -> list[Finding]:
    return [
        replace(
            lower(
                f"{SOFTMAX.label} closer to HL-Gauss on {title(ct)} than on "
                f"{title(name)}",
                _softmax_gap(evidence, ct),
                _softmax_gap(evidence, name),
            ),
            on=(ct, name),
        )
        for ct in evidence.datasets_named("ct")
        for name in evidence.tabular
        if name != ct
    ]


def _which_softmax(evidence: Evidence) -> list[Finding]:  # noqa: ARG001
    return [not_run("the paper's row l2+Softmax", CANNOT_BE_TOLD)]


CLAIMS = (
    Claim(
        "K5",
        "HL-Gauss has the lowest test MAE of all networks on CT Position, Bike Sharing "
        "and Pole; on Song Year it is second to l1.",
        "HL-Gauss below each other network; on Song Year l1 below HL-Gauss, and "
        f"HL-Gauss below each of the rest. {TUNED} {NO_ROW}",
        ("overall-validation",),
        all_of(
            lower_each(
                [(HL_GAUSS, other) for other in _others(HL_GAUSS)], where=NOT_SONG
            ),
            lower_each([(L1_LOSS, HL_GAUSS)], where=SONG),
            lower_each(
                [(HL_GAUSS, other) for other in _others(HL_GAUSS, L1_LOSS)], where=SONG
            ),
        ),
        tables(departures=(ON_VALIDATION, "without l2+Softmax")),
    ),
    Claim(
        "K6",
        "MDN has a higher test MAE than HL-Gauss on all four data sets.",
        f"HL-Gauss below MDN. {TUNED}",
        ("overall-validation",),
        lower_each([(HL_GAUSS, MIXTURE)]),
        CHOSEN,
    ),
    Claim(
        "K7",
        "Noisy targets and clipped gradients make l2 slightly better for some "
        "settings, but do not achieve the gains of HL-Gauss.",
        "In test MAE l2+Noise below l2 on at least one data set, and so l2+Clipping; "
        "HL-Gauss below both on each. The paper does not say which settings: they are "
        f"taken to be data sets. {TUNED}",
        ("overall-validation",),
        all_of(
            lower_on_some([(NOISE, L2_LOSS), (CLIPPING, L2_LOSS)]),
            lower_each([(HL_GAUSS, NOISE), (HL_GAUSS, CLIPPING)]),
        ),
        CHOSEN,
    ),
    Claim(
        "K7b",
        "Noisy targets and clipped gradients make l2 better on all four data sets, as "
        "the paper's tables have it: stricter than K7.",
        f"In test MAE l2+Noise and l2+Clipping below l2 on each. {TUNED}",
        ("overall-validation",),
        lower_each([(NOISE, L2_LOSS), (CLIPPING, L2_LOSS)]),
        CHOSEN,
        Origin.OURS,
    ),
    Claim(
        "K8",
        "l2+Softmax lies between l2 and HL-Gauss on all four data sets, closest to "
        "HL-Gauss on CT Position.",
        f"Nothing is decided: {CANNOT_BE_TOLD}. See K8b.",
        ("overall",),
        _which_softmax,
        PAPER_TABLES,
    ),
    Claim(
        "K8b",
        "K8 of the squared error of the mean, l2+Softmax+Mean, which the paper's "
        "conclusion describes: it lies between l2 and HL-Gauss, closest to HL-Gauss "
        "on CT Position.",
        "In test MAE l2+Softmax+Mean below l2, and HL-Gauss below l2+Softmax+Mean; its "
        "distance from HL-Gauss, as a share of l2's and by seed, lower on CT Position "
        "than on each other (where the numbers of seeds alone make the pairs).",
        ("overall",),
        all_of(
            lower_each([(SOFTMAX, L2_LOSS), (HL_GAUSS, SOFTMAX)]),
            _closest,
        ),
        PAPER_TABLES,
        Origin.OURS,
    ),
    Claim(
        "K9",
        "l2+Softmax+Mean is worse than l2+Softmax, and better than l2, on all four "
        "data sets.",
        f"Nothing is decided: {CANNOT_BE_TOLD}.",
        ("overall",),
        _which_softmax,
        PAPER_TABLES,
    ),
    Claim(
        "K9b",
        "K9 of the paper's formulas as they read: the squared error of the mean is "
        "worse than that per bin, and better than l2.",
        "In test MAE the squared error per bin, the formula of l2+Softmax, below that "
        "of the mean, the formula of l2+Softmax+Mean, and that below l2.",
        ("overall",),
        lower_each([(PER_BIN, SOFTMAX), (SOFTMAX, L2_LOSS)]),
        PAPER_TABLES,
        Origin.OURS,
    ),
    Claim(
        "K10",
        "HL-OneBin is worse than l2 on CT Position and Pole, and better on Song Year "
        "and Bike Sharing.",
        "In test MAE l2 below HL-OneBin on the first two, HL-OneBin below l2 on the "
        "others.",
        ("overall",),
        all_of(
            lower_each([(L2_LOSS, HL_ONE_BIN)], where=on_tables("ct", "pole")),
            lower_each([(HL_ONE_BIN, L2_LOSS)], where=on_tables("song", "bike")),
        ),
        PAPER_TABLES,
    ),
    Claim(
        "K11",
        "l2 is the worst network on Bike Sharing.",
        f"Each other network below l2 in test MAE. {TUNED} {NO_ROW}",
        ("overall-validation",),
        lower_each(
            [(other, L2_LOSS) for other in _others(L2_LOSS)], where=on_tables("bike")
        ),
        tables("bike", departures=(ON_VALIDATION, "without l2+Softmax")),
    ),
    Claim(
        "K12",
        "Linear regression is far worse than networks on CT Position, Bike Sharing and "
        "Pole, and within 20 % of the best on Song Year.",
        f"{FAR_WORSE:g} times l2's test MAE below that of linear regression; on Song "
        f"Year linear regression not more than {NEAR:.0%} above any network, thus not "
        f"above the best. {TUNED} {NO_ROW}",
        ("overall-validation",),
        all_of(
            lower_each([(L2_LOSS.times(FAR_WORSE), OLS)], where=NOT_SONG),
            not_higher_each([(OLS, other) for other in NETWORKS], NEAR, where=SONG),
        ),
        tables(departures=(ON_VALIDATION, "without l2+Softmax")),
    ),
)
