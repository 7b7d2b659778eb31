"""Claims about forecasts of series (Tables 4 and 6)."""

from __future__ import annotations

from itertools import product

from histreg.study.catalogue import FORECAST_HL
from histreg.study.claims.claim import Claim, Origin
from histreg.study.claims.conditions import (
    Condition,
    Find,
    Pair,
    all_of,
    lower_each,
)
from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import (
    BySeed,
    Finding,
    in_range,
    not_run,
    on_dataset,
)
from histreg.study.claims.scope import PAPER_SERIES
from histreg.study.methods import L2, HLGauss
from histreg.study.series.runs import ARCHITECTURES

MSE, MAE = "test MSE", "test MAE"
WORSE_WITH_HL = ("ETTh1",)  # with GRU
LINEAR = "Linear"
OTHERS = tuple(body for body in ARCHITECTURES if body != LINEAR)
INPUT_MEAN = "mean of inputs"

LOSSES: dict[str, L2 | HLGauss] = {"l2": L2(), "HL-Gauss": FORECAST_HL}


def _forecaster(body: str, loss: str, metric: str, label: str = "") -> Condition:
    def by_seed(evidence: Evidence, name: str) -> BySeed:
        return evidence.forecasts(name, body, LOSSES[loss], metric)

    return Condition(label or f"{body}, {loss}", by_seed, metric)


def _all_series(evidence: Evidence) -> tuple[str, ...]:
    return evidence.series


def _below(lower: str, higher: str, body: str, *metrics: str) -> list[Pair]:
    """Return pairs of a loss that should be lower, and of one that should be higher."""
    return [
        (
            _forecaster(body, lower, metric),
            _forecaster(body, higher, metric, label=higher),
        )
        for metric in metrics
    ]


def _l2_below(body: str) -> list[Pair]:
    return _below("l2", "HL-Gauss", body, MSE, MAE)


def _hl_below(body: str, *metrics: str) -> list[Pair]:
    return _below("HL-Gauss", "l2", body, *metrics)


def _linear_is_best() -> Find:
    rivals = [(LINEAR, "HL-Gauss"), *product(OTHERS, LOSSES)]
    best = _forecaster(LINEAR, "l2", MSE)
    pairs = [(best, _forecaster(body, loss, MSE)) for body, loss in rivals]
    return lower_each(pairs, where=_all_series)


def _loses_to_mean(evidence: Evidence) -> list[Finding]:
    findings = []
    for name in evidence.series:
        naive = evidence.measurement("naive", name)
        for body in OTHERS:
            for loss in LOSSES:
                part = f"{body}, {loss} above the mean of its inputs ({MSE})"
                if naive is None:
                    findings.append(on_dataset(name, not_run(part)))
                    continue
                level = naive.outcome.metrics[f"{INPUT_MEAN}, {MSE}"]
                values = _forecaster(body, loss, MSE).by_seed(evidence, name)
                findings.append(on_dataset(name, in_range(part, values, low=level)))
    return findings


CLAIMS = (
    Claim(
        "K31",
        "With a linear model l2 is far better than HL-Gauss on all four series.",
        "l2 below HL-Gauss in test MSE and MAE.",
        ("forecasts",),
        lower_each(_l2_below(LINEAR), where=_all_series),
        PAPER_SERIES,
    ),
    Claim(
        "K32",
        "With LSTM, HL-Gauss has the lower test MSE on all four series.",
        "HL-Gauss below l2 in test MSE. (In MAE the paper has it lower on two.)",
        ("forecasts",),
        lower_each(_hl_below("LSTM", MSE), where=_all_series),
        PAPER_SERIES,
    ),
    Claim(
        "K33",
        "With GRU, HL-Gauss has the lower error on three series, and the higher on "
        "ETTh1.",
        "HL-Gauss below l2 in test MSE and MAE; on ETTh1 l2 below HL-Gauss.",
        ("forecasts",),
        all_of(
            lower_each(
                _hl_below("GRU", MSE, MAE),
                where=lambda evidence: [
                    name for name in evidence.series if name not in WORSE_WITH_HL
                ],
            ),
            lower_each(
                _l2_below("GRU"),
                where=lambda evidence: [
                    name for name in evidence.series if name in WORSE_WITH_HL
                ],
            ),
        ),
        PAPER_SERIES,
    ),
    Claim(
        "K34",
        "With a transformer l2 has the lower error on all four series.",
        "l2 below HL-Gauss in test MSE and MAE.",
        ("forecasts",),
        lower_each(_l2_below("Transformer"), where=_all_series),
        PAPER_SERIES,
    ),
    Claim(
        "K35",
        "The linear model with l2 is the best of all; no recurrent network and "
        "no transformer, with either loss, is better than the mean of its inputs.",
        "Linear with l2 below every other in test MSE; the 95 % interval of the test "
        "MSE of those that are not linear above that of the mean of the 96 inputs.",
        ("forecasts",),
        all_of(_linear_is_best(), _loses_to_mean),
        PAPER_SERIES,
        Origin.OURS,
    ),
)
