"""Claims about forecasts of series (Tables 4 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from histreg.study.catalogue import FORECAST_HL
from histreg.study.claims.conditions import Find, together
from histreg.study.claims.evidence import (
    BySeed,
    Claim,
    Evidence,
    Finding,
    in_range,
    lower,
    not_run,
    on,
)
from histreg.study.methods import L2
from histreg.study.series.runs import ARCHITECTURES

MSE, MAE = "test MSE", "test MAE"
WORSE_WITH_HL = ("ETTh1",)  # with GRU
LINEAR = "Linear"
OTHERS = tuple(body for body in ARCHITECTURES if body != LINEAR)
INPUT_MEAN = "mean of inputs"

Forecasts = Callable[[Evidence, str], BySeed]


def _l2(body: str, metric: str) -> Forecasts:
    return lambda evidence, name: evidence.forecasts(name, body, L2(), metric)


def _hl(body: str, metric: str) -> Forecasts:
    return lambda evidence, name: evidence.forecasts(name, body, FORECAST_HL, metric)


def _lower_each(
    what: Iterable[tuple[str, Forecasts, Forecasts]],
    is_meant: Callable[[str], bool] = lambda _: True,
) -> Find:
    """Return whether on each series that is meant the first is below the second."""
    each = tuple(what)

    def find(evidence: Evidence) -> list[Finding]:
        return [
            on(name, lower(part, a(evidence, name), b(evidence, name)))
            for name in evidence.series
            if is_meant(name)
            for part, a, b in each
        ]

    return find


def _l2_below(body: str) -> list[tuple[str, Forecasts, Forecasts]]:
    return [
        (f"{body}, l2 below HL-Gauss ({metric})", _l2(body, metric), _hl(body, metric))
        for metric in (MSE, MAE)
    ]


def _hl_below(
    body: str, metrics: Iterable[str] = (MSE, MAE)
) -> list[tuple[str, Forecasts, Forecasts]]:
    return [
        (f"{body}, HL-Gauss below l2 ({metric})", _hl(body, metric), _l2(body, metric))
        for metric in metrics
    ]


def _linear_is_best(evidence: Evidence) -> list[Finding]:
    rivals = [(LINEAR, _hl)] + [(body, loss) for body in OTHERS for loss in (_l2, _hl)]
    return _lower_each(
        (
            f"{LINEAR}, l2 below {body}, {'l2' if loss is _l2 else 'HL-Gauss'} ({MSE})",
            _l2(LINEAR, MSE),
            loss(body, MSE),
        )
        for body, loss in rivals
    )(evidence)


def _loses_to_mean(evidence: Evidence) -> list[Finding]:
    found = []
    for name in evidence.series:
        naive = evidence.measurement("naive", name)
        for body in OTHERS:
            for loss, told in ((_l2, "l2"), (_hl, "HL-Gauss")):
                part = f"{body}, {told} above the mean of its inputs ({MSE})"
                if naive is None:
                    found.append(on(name, not_run(part)))
                    continue
                level = naive.outcome.metrics[f"{INPUT_MEAN}, {MSE}"]
                values = loss(body, MSE)(evidence, name)
                found.append(on(name, in_range(part, values, low=level)))
    return found


CLAIMS = (
    Claim(
        "K31",
        "With a linear model l2 is far better than HL-Gauss on all four series.",
        "l2 below HL-Gauss in test MSE and MAE.",
        ("forecasts",),
        _lower_each(_l2_below(LINEAR)),
    ),
    Claim(
        "K32",
        "With LSTM, HL-Gauss has the lower test MSE on all four series.",
        "HL-Gauss below l2 in test MSE. (In MAE the paper has it lower on two.)",
        ("forecasts",),
        _lower_each(_hl_below("LSTM", (MSE,))),
    ),
    Claim(
        "K33",
        "With GRU, HL-Gauss has the lower error on three series, and the higher on "
        "ETTh1.",
        "HL-Gauss below l2 in test MSE and MAE; on ETTh1 l2 below HL-Gauss.",
        ("forecasts",),
        together(
            _lower_each(_hl_below("GRU"), lambda name: name not in WORSE_WITH_HL),
            _lower_each(_l2_below("GRU"), lambda name: name in WORSE_WITH_HL),
        ),
    ),
    Claim(
        "K34",
        "With a transformer l2 has the lower error on all four series.",
        "l2 below HL-Gauss in test MSE and MAE.",
        ("forecasts",),
        _lower_each(_l2_below("Transformer")),
    ),
    Claim(
        "K35",
        "(Ours.) The linear model with l2 is the best of all; no recurrent network and "
        "no transformer, with either loss, is better than the mean of its inputs.",
        "Linear with l2 below every other in test MSE; the 95 % interval of the test "
        "MSE of those that are not linear above that of the mean of the 96 inputs.",
        ("forecasts",),
        together(_linear_is_best, _loses_to_mean),
    ),
)
