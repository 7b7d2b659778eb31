"""Claims about representations and auxiliary tasks (Tables 3 and 9, Figure 7)."""

from __future__ import annotations

from typing import Any

from histreg.study.catalogue.representation import AUXILIARY
from histreg.study.claims.claim import Claim, Origin
from histreg.study.claims.conditions import (
    HL_GAUSS,
    L2_LOSS,
    Condition,
    all_of,
    lower_each,
    not_lower_each,
    on_tables,
)
from histreg.study.claims.scope import PAPER_TABLES
from histreg.study.methods import (
    L2,
    HLGauss,
    L1SoftmaxMean,
    L2Moments,
    L2MultiTask,
    L2SoftmaxMean,
    Method,
)

CONSIDERABLE = 0.05
MARGIN = 0.02  # by which an error may fall and still count as not improved


def _with(method: Method, body: str, **changes: Any) -> Condition:
    return Condition.of(method, label=f"{method.label} {body}", **changes)


def _column(
    body: str, *, l2: dict[str, Any], hl: dict[str, Any]
) -> tuple[Condition, ...]:
    return _with(HLGauss(), body, **hl), _with(L2(), body, **l2)


_FIXED = "on the other's body, frozen"
_INITIALIZED = "from the other's body"
_RANDOM = "on a random body, frozen"
_FROZEN: dict[str, Any] = {"has_frozen_body": True}
_OF_L2, _OF_HL = {"donor": L2()}, {"donor": HLGauss()}

_HL_FIXED, _L2_FIXED = _column(_FIXED, l2=_OF_HL | _FROZEN, hl=_OF_L2 | _FROZEN)
_HL_INITIALIZED, _L2_INITIALIZED = _column(_INITIALIZED, l2=_OF_HL, hl=_OF_L2)
_HL_RANDOM, _L2_RANDOM = _column(_RANDOM, l2=_FROZEN, hl=_FROZEN)
_SOFTMAX_RANDOM = [
    _with(method, _RANDOM, has_frozen_body=True)
    for method in (L2SoftmaxMean(), L1SoftmaxMean())
]

_MULTI_TASK = [
    Condition.of(other, label=f"l2+HL-Gauss of weight {other.weight:g}")
    for other in AUXILIARY
    if isinstance(other, L2MultiTask)
]
_MOMENTS = [Condition.of(L2(), label="l2 of 1 moment")] + [
    Condition.of(other, label=f"l2 of {other.n_moments} moments")
    for other in AUXILIARY
    if isinstance(other, L2Moments)
]
_FOUR_MOMENTS = Condition.of(L2Moments(4), label="l2 of 4 moments")

CLAIMS = (
    Claim(
        "K19",
        "On the representation that HL-Gauss has learnt, kept as it is, l2 is worse "
        "than on its own, on all four data sets.",
        "The test MAE of l2 below that of l2 on HL-Gauss's frozen body.",
        ("representation",),
        lower_each([(L2_LOSS, _L2_FIXED)]),
        PAPER_TABLES,
    ),
    Claim(
        "K20",
        "To start from the representation of HL-Gauss does not considerably help l2.",
        "The test MAE of l2 from HL-Gauss's body not more than "
        f"{CONSIDERABLE:.0%} below that of l2.",
        ("representation",),
        not_lower_each([(_L2_INITIALIZED, L2_LOSS)], CONSIDERABLE),
        PAPER_TABLES,
    ),
    Claim(
        "K21",
        "On a random representation HL-Gauss is better than l2 on all four data sets.",
        "HL-Gauss below l2 in test MAE, both on the same frozen random body. (HL-Gauss "
        "has a softmax of 100 outputs there and l2 a linear function: see K21b.)",
        ("representation",),
        lower_each([(_HL_RANDOM, _L2_RANDOM)]),
        PAPER_TABLES,
    ),
    Claim(
        "K21b",
        "Over the same frozen random body and with the same softmax, HL-Gauss "
        "is better than the squared and than the absolute error of the mean.",
        "HL-Gauss below l2+Softmax+Mean and l1+Softmax+Mean in test MAE.",
        ("representation",),
        lower_each([(_HL_RANDOM, other) for other in _SOFTMAX_RANDOM]),
        PAPER_TABLES,
        Origin.OURS,
    ),
    Claim(
        "K22",
        "With every kind of representation, its own, the other's frozen, the other's "
        "to start from, random, HL-Gauss is better than l2 on all four data sets.",
        "HL-Gauss below l2 in test MAE in each of the four columns.",
        ("representation",),
        lower_each(
            [
                (HL_GAUSS, L2_LOSS),
                (_HL_FIXED, _L2_FIXED),
                (_HL_INITIALIZED, _L2_INITIALIZED),
                (_HL_RANDOM, _L2_RANDOM),
            ]
        ),
        PAPER_TABLES,
    ),
    Claim(
        "K23",
        "With HL-Gauss as an auxiliary task l2 does not reach HL-Gauss, whatever the "
        "weight; and a larger weight does not help.",
        "HL-Gauss below l2+HL-Gauss in test MAE at each weight; at each weight above 0 "
        f"that not more than {MARGIN:.0%} below its value at weight 0.",
        ("auxiliary",),
        all_of(
            lower_each([(HL_GAUSS, other) for other in _MULTI_TASK]),
            not_lower_each(
                [(other, _MULTI_TASK[0]) for other in _MULTI_TASK[1:]], MARGIN
            ),
        ),
        PAPER_TABLES,
    ),
    Claim(
        "K24",
        "With higher moments to predict l2 does not reach HL-Gauss, however many; on "
        "CT Position four help a little.",
        "HL-Gauss below l2 of each number of moments in test MAE; on CT Position l2 of "
        "four moments below l2.",
        ("auxiliary",),
        all_of(
            lower_each([(HL_GAUSS, other) for other in _MOMENTS]),
            lower_each([(_FOUR_MOMENTS, _MOMENTS[0])], where=on_tables("ct")),
        ),
        PAPER_TABLES,
    ),
)
