"""Claims about the theory (Sections 2 to 4 and the appendices)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from histreg.study.claims.claim import Claim, Origin
from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import Finding, measured, not_run
from histreg.study.claims.scope import Scope
from histreg.study.engine.runs import Outcome
from histreg.study.measurements import Measurement

EXACT = 1e-12
"""Tolerance of identities: sums of some hundred terms of order one, in float64."""
BOUND = 1 + 1e-9
"""For a ratio to a bound that may be attained; the rest is rounding."""
NEGLIGIBLE = 1e-7
"""In bins: the paper's word for a bias."""

TOLERANCES = {
    "T1 largest |sum p - 1|": EXACT,
    "T1 largest p below zero": EXACT,
    "T1 narrow HL-Gauss from HL-OneBin": EXACT,
    "T1 wide HL-Gauss from 1 / k": EXACT,
    "T1 mirrored HL-Gauss from reversed": EXACT,
    "T2 loss - entropy from KL": EXACT,
    "T2 largest KL below zero": EXACT,
    "T2 loss of h = p from the entropy": EXACT,
    "T2 gradient from h - p": EXACT,
    "T2 finite differences from h - p": 1e-8,  # steps of 1e-5
    "T2 largest curvature below zero": EXACT,
    "T2 Hessian from diag(h) - h h'": EXACT,
    "T2 smallest loss from its formula": 1e-4,  # an approximation, for sigma >= 1
    "T2 smallest loss of HL-OneBin": EXACT,
    "T2 smallest loss of HL-Projected from its formula": EXACT,
    "T3 largest gradient over the bound": BOUND,
    "T3 largest bound over 2 (l + |phi|)": BOUND,
    "T3 gradient of the head from its formula": EXACT,
    "T3 largest l2 gradient over its bound": BOUND,
    "T4 minimiser from the mean target": 1e-6,
    "T5 largest bias of smoothing alone": EXACT,
    "T6 series from the direct sum, in bins": 1e-14,
    "T6 largest |bias(d) + bias(-d)|": EXACT,
    "T6 bias at the center and the borders": EXACT,
    "T6 leading term, relative to the largest bias": 1e-3,  # for sigma >= 0.5
    "T7 largest bias over w / 2": BOUND,
    "T7 bias of HL-Gauss at a border, in bins": EXACT,
    "T7 nearly tight case from w / 2, in bins": 0.002,
    "T7 HL-OneBin at a border from w / 2, in bins": EXACT,
    "T8 largest bias of HL-Projected": EXACT,
    "T9 mean of HL-Uniform from its formula": EXACT,
    "T10 discretisation bias from 0.88 bins on, in bins": NEGLIGIBLE,
    "T10 discretisation bias from 1.3 bins on, in bins": 1e-15,
    "T10 bias of a narrow target from -delta, in bins": 1e-6,
    "T10 truncation bias from 6 sigmas on, in bins": NEGLIGIBLE,
    "T10 truncation bias from 8.5 sigmas on, in bins": 1e-15,
    "T11 largest bias of recommended, in bins": 0.010,
    "T11 largest bias of atari, in bins": 3e-4,
    "T11 largest bias of tabular, in bins": 1e-9,
    "T11 largest bias of negligible, in bins": 2e-8,
    "T12 largest squared difference over the bound, shift-invariant": BOUND,
    "T12 largest squared difference over the bound, the paper's": BOUND,
    "T12 squared difference of the example over the bound": BOUND,
    "T13 HL-Gauss from the normalised kernel": EXACT,
    "T13 KL(q || h) from the loss": EXACT,
    "T13 KL(h || q) from the entropy-regularised reward": EXACT,
}
"""Upper limits of the metrics of the experiment "theorems"."""

STATEMENTS = {
    "T1": "targets are distributions, and HL-Gauss has its limits and its symmetry",
    "T2": "the loss minus the entropy is a divergence, convex, of gradient h - p",
    "T3": "no gradient exceeds (l + |phi|) sum |p - h|, nor that 2 (l + |phi|)",
    "T4": "the minimiser is the mean of the targets",
    "T5": "Gaussian smoothing by itself has no bias",
    "T6": "the closed forms of the discretisation bias are the direct sum",
    "T7": "the discretisation bias stays below half a bin, which HL-OneBin attains",
    "T8": "HL-Projected has no bias",
    "T9": "HL-Uniform is pulled to the middle by its weight",
    "T10": "both biases vanish where the simulation says",
    "T11": "the presets have the biases they are said to have",
    "T12": "no squared difference of means exceeds the bound",
    "T13": "HL-Gauss is KL(q || h) of the maximum-entropy target",
}


PRESET = Scope("preset", "presets", ("recommended",))


def _outcome(evidence: Evidence, what: str) -> Outcome | None:
    run = Measurement(what)
    return next(
        (record.outcome for record in evidence.records if record.run == run), None
    )


def _theorems(evidence: Evidence) -> list[Finding]:
    outcome = _outcome(evidence, "theorems")
    values = {} if outcome is None else outcome.metrics
    return [replace(_theorem(name, values), on=(name,)) for name in STATEMENTS]


def _theorem(name: str, values: Mapping[str, float]) -> Finding:
    part = f"{name}: {STATEMENTS[name]}"
    tolerances = {k: v for k, v in TOLERANCES.items() if k.startswith(f"{name} ")}
    if not tolerances.keys() <= values.keys():
        return not_run(part)
    violated = [
        k for k in tolerances if not values[k] <= tolerances[k]
    ]  # NaN is a violation
    shown = violated or [max(tolerances, key=lambda k: values[k] / tolerances[k])]
    numbers = "; ".join(
        f"{k.removeprefix(f'{name} ')} {values[k]:.2g}, at most {tolerances[k]:.2g}"
        for k in shown
    )
    return measured(part, holds=not violated, numbers=numbers)


def _negligible(evidence: Evidence) -> list[Finding]:
    findings = []
    outcome = _outcome(evidence, "bias")
    for bias, along, unit, start in (
        ("discretisation", "sigma_in_bins", "bins", 0.88),
        ("truncation", "padding_in_sigmas", "sigmas", 6.0),
    ):
        part = f"{bias} bias from {start:g} {unit} on"
        if outcome is None:
            findings.append(replace(not_run(part), on=(bias,)))
            continue
        places, biases = outcome.curves[along], outcome.curves[f"{bias} bias"]
        pairs = zip(places, biases, strict=True)
        beyond = [(height, x) for x, height in pairs if x >= start]
        height, x = max(beyond)
        numbers = f"largest {height:.2g} bins, at {x:.3g}"
        finding = measured(part, holds=height < NEGLIGIBLE, numbers=numbers)
        findings.append(replace(finding, on=(bias,)))
    return findings


def _edge(evidence: Evidence) -> list[Finding]:
    part = "largest bias of recommended over the range"
    outcome = _outcome(evidence, "theorems")
    name = "T11 largest bias of recommended, in bins"
    if outcome is None or name not in outcome.metrics:
        return [replace(not_run(part), on=PRESET.names)]
    largest = outcome.metrics[name]
    finding = measured(
        part, holds=0.008 <= largest <= 0.010, numbers=f"{largest:.4f} bins"
    )
    return [replace(finding, on=PRESET.names)]


CLAIMS = (
    Claim(
        "K38",
        "The paper's propositions and formulas, T1 to T13, hold.",
        "Their worst cases in float64 do not exceed the tolerances of the "
        "specification.",
        ("theorems",),
        _theorems,
        Scope("statement", "statements", tuple(STATEMENTS)),
    ),
    Claim(
        "K39",
        "The bias is negligible, below 1e-7 bins, for sigma of 0.88 bins or more and "
        "padding of 6 sigmas or more (the paper says 0.8, which is so in units of the "
        "range).",
        "All mean absolute biases of the simulation from there on are below 1e-7 bins.",
        ("bias",),
        _negligible,
        Scope("simulation", "simulations", ("discretisation", "truncation")),
        Origin.REWORDED,
    ),
    Claim(
        "K40",
        "The recommended bins have a bias of about 0.009 of a bin at the ends of the "
        "range, above what the paper calls negligible.",
        "The largest bias over the range is between 0.008 and 0.010 of a bin.",
        ("theorems",),
        _edge,
        PRESET,
        Origin.OURS,
    ),
)
