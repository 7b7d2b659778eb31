"""Inconsistencies of the paper and its code: what was done, and why it matters."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files

import torch

from histreg import theory
from histreg.bins import PRESETS, Bins
from histreg.report.column_tables import rmse_over_all_rows
from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import published, published_log_ratios
from histreg.study.analysis.ratios import geometric_mean
from histreg.study.analysis.statistics import best_settings, settings_of
from histreg.study.catalogue import RECOMMENDED
from histreg.study.catalogue.optimisation import TRAINED
from histreg.study.claims import Evidence
from histreg.study.methods import (
    L2,
    HLGauss,
    HLOneBin,
    L2Noise,
    L2SoftmaxPerBin,
    LinearRegression,
    Method,
)
from histreg.study.tabular.curves import early_area

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Inconsistency:
    """A place where the sources disagree.

    Parameters
    ----------
    name : str
        As the specification numbers it.
    about, paper, here, difference : str
        What it is about, what the sources say, what was done, and why it matters.
    measured : str
        The difference in numbers: a format string for those of `MEASURED`.
    experiments : tuple of str
        The experiments that show it.
    """

    name: str
    about: str
    paper: str
    here: str
    difference: str
    measured: str = ""
    experiments: tuple[str, ...] = ()


def inconsistencies(evidence: Evidence) -> list[Inconsistency]:
    """Return all inconsistencies, with numbers where the runs have records."""
    text = files("histreg.report.site").joinpath("inconsistencies.toml").read_text()
    entries = []
    for name, fields in tomllib.loads(text).items():
        entry = {**fields, "experiments": tuple(fields.get("experiments", ()))}
        if "measured" in entry:
            numbers = MEASURED[name](evidence)
            is_known = all(map(math.isfinite, numbers.values()))
            entry["measured"] = entry["measured"].format(**numbers) if is_known else ""
        entries.append(Inconsistency(name, **entry))
    return entries


def _mae(
    evidence: Evidence, name: str, method: Method, metric: str = "test MAE", **how: bool
) -> float:
    """Return the mean over seeds; NaN if it was not run."""
    setting = evidence.setting(name, method, **how)
    estimates = {} if setting is None else setting.estimates
    return estimates[metric].mean if metric in estimates else math.nan


def _paper(name: str, method: str, metric: str = "test MAE") -> float:
    estimate = published(name, method, metric)
    return math.nan if estimate is None else estimate.mean


def _largest_bias(sigma_in_bins: float) -> float:
    """Return the largest discretisation bias, in bins."""
    places = torch.linspace(-0.5, 0.5, 2001, dtype=torch.float64)
    biases = theory.discretization_bias(places, sigma=sigma_in_bins, width=1.0)
    return biases.abs().max().item()


def _bias_of(n_bins: int, sigma_in_bins: float, padding_in_sigmas: float) -> float:
    """Return the largest bias of a choice of bins over the range, in bins."""
    bins = Bins.around(
        0.0,
        1.0,
        n_bins=n_bins,
        sigma_in_bins=sigma_in_bins,
        padding_in_sigmas=padding_in_sigmas,
    )
    y = torch.linspace(0, 1, 2001, dtype=torch.float64)
    explanation = theory.explain(bins, sigma_in_bins * bins.width, y)
    return explanation.max_label_bias / bins.width


def _of_preset(name: str) -> float:
    return _bias_of(*PRESETS[name])


def _per_bin(_: Evidence) -> Numbers:
    return {"on": 1 - 99 * 0.1}


def _softmax(evidence: Evidence) -> Numbers:
    return {
        "pole": _mae(evidence, "pole", L2SoftmaxPerBin()),
        "bike": _mae(evidence, "bike", L2SoftmaxPerBin()),
        "paper_pole": _paper("pole", "l2+Softmax"),
        "paper_bike": _paper("bike", "l2+Softmax"),
    }


def _padding(_: Evidence) -> Numbers:
    quarter = 100 / 4  # of the range
    return {
        "ten": quarter / (100 - 2 * 10),
        "tenth": quarter * 1.2 / 100,
        "none": quarter / 100,
        "paper": _paper("ct", "HL-OneBin", "train MAE"),
    }


def _presets(evidence: Evidence) -> Numbers:
    biases = {name: _of_preset(name) for name in ("tabular", "recommended")}
    return {**biases, **_change(evidence, "pole"), **_change(evidence, "bike")}


def _change(evidence: Evidence, name: str) -> Numbers:
    """Return what the recommended bins change on a data set, in per cent."""
    usual, recommended = (
        evidence.values(name, method) for method in (HLGauss(), RECOMMENDED)
    )
    pairs = Comparison.of(recommended, usual)
    unit = _mae(evidence, name, HLGauss()) / 100
    low, high = pairs.interval
    numbers = {"": pairs.mean, "_low": low, "_high": high}
    return {f"{name}{end}": number / unit for end, number in numbers.items()}


def _unit_of_sigma(_: Evidence) -> Numbers:
    return {"factor": 100 / (100 - 2 * 10)}


def _set_ups(evidence: Evidence) -> Numbers:
    def bias(what: str, kind: str, over: str, start: float) -> float:
        """Return the bias at the first place of its grid from a start on."""
        record = evidence.measurement(what, "")
        if record is None:
            return math.nan
        curves = record.outcome.curves
        pairs = zip(curves[over], curves[kind], strict=True)
        return next((height for x, height in pairs if x >= start), math.nan)

    padding = ("truncation bias", "padding_in_sigmas", 3.0)
    sigma = ("sigma_in_bins", 0.8)
    return {
        "code": bias("bias", *padding),
        "text": bias("bias-by-text", *padding),
        "bins": bias("bias-by-text", "discretisation bias", *sigma),
        "range": bias("bias-by-text", "discretisation bias of range", *sigma),
    }


def _negligible(_: Evidence) -> Numbers:
    return {"at_08": _largest_bias(0.8), "at_088": _largest_bias(0.88)}


def _smallest(_: Evidence) -> Numbers:
    return {"at_135": _largest_bias(1.35), "at_155": _largest_bias(1.55)}


def _by_padding(_: Evidence) -> Numbers:
    paddings = {"three": 3.0, "four": 4.0, "six": 6.0}
    return {name: _bias_of(100, 2.0, padding) for name, padding in paddings.items()}


def _border(_: Evidence) -> Numbers:
    biases = theory.discretization_bias([0.5, 0.499], sigma=1e-4, width=1.0).abs()
    return {"on": biases[0].item(), "near": biases[1].item()}


def _bound(_: Evidence) -> Numbers:
    of_paper, ours = (
        theory.prediction_bound(
            1.0, low=1922.0, high=2011.0, shift_invariant=shift_invariant
        ).item()
        for shift_invariant in (False, True)
    )
    return {"factor": of_paper / ours}


def _sides(_: Evidence) -> Numbers:
    games = _games_of_paper()
    return {"n": games.n, "one": games.p_t("less"), "two": games.p_t("two-sided")}


def _line(_: Evidence) -> Numbers:
    return {"ratio": geometric_mean(_games_of_paper())}


def _games_of_paper() -> Comparison:
    return Comparison(tuple(published_log_ratios().values()))


def _least_squares(evidence: Evidence) -> Numbers:
    def ours(name: str, metric: str) -> float:
        return _mae(evidence, name, LinearRegression(), metric)

    def paper(name: str, metric: str) -> float:
        return _paper(name, LinearRegression.name, metric)

    def over_all(of: Callable[[str, str], float], name: str) -> float:
        return rmse_over_all_rows(of(name, "train RMSE"), of(name, "test RMSE"))

    return {
        "ours": ours("bike", "train MAE"),
        "paper": paper("bike", "train MAE"),
        "mae": ours("ct", "train MAE"),
        "mae_385": ours("ct-385", "train MAE"),
        "paper_mae": paper("ct", "train MAE"),
        "ct": over_all(ours, "ct"),
        "ct_385": over_all(ours, "ct-385"),
        "paper_ct": over_all(paper, "ct"),
    }


def _borders_of_pole(evidence: Evidence) -> Numbers:
    return {
        "on": _mae(evidence, "pole", HLOneBin()),
        "off": _mae(evidence, "pole", HLOneBin(shift_in_bins=0.5)),
    }


def _start(evidence: Evidence) -> Numbers:
    return {
        "zero": _mae(evidence, "bike", L2()),
        "random": _mae(evidence, "bike", L2(), has_authors_head=True),
        "paper": _paper("bike", "l2"),
        **{
            f"{name}_{start}": _first_epochs(evidence, method, has_authors_head=random)
            for name, method in (("l2", L2()), ("hl", HLGauss()))
            for start, random in (("zero", False), ("random", True))
        },
    }


def _first_epochs(evidence: Evidence, method: Method, **how: bool) -> float:
    """Return the mean train MAE of the first epochs on Pole; NaN if it was not run."""
    areas = evidence.summaries("pole", method, early_area, **TRAINED, **how)
    return Estimate.of(areas.values()).mean


def _projected(_: Evidence) -> Numbers:
    return {
        "projected": _paper("song", "HL-Projected"),
        "one_bin": _paper("song", "HL-OneBin"),
    }


def _choice(evidence: Evidence) -> Numbers:
    noisy = [
        setting
        for setting in settings_of(evidence.records)
        if (setting.dataset, setting.method.name, setting.changes)
        == ("pole", L2Noise.name, "")
    ]
    best = best_settings(noisy, "test MAE")
    chosen = evidence.chosen("pole", L2Noise.name).values()
    return {
        "on_test": best[0].estimates["test MAE"].mean if best else math.nan,
        "on_validation": sum(chosen) / len(chosen) if chosen else math.nan,
        "without": _mae(evidence, "pole", L2()),
    }


MEASURED: dict[str, Callable[[Evidence], Numbers]] = {
    "I2": _per_bin,
    "I3": _softmax,
    "I4": _padding,
    "I5": _presets,
    "I7": _unit_of_sigma,
    "I8": _set_ups,
    "I9": _negligible,
    "I10": _smallest,
    "I11": _by_padding,
    "I12": _border,
    "I14": _bound,
    "I20": _sides,
    "I21": _line,
    "I25": _least_squares,
    "I29": _borders_of_pole,
    "I31": _start,
    "I34": _projected,
    "I36": _choice,
}
"""Numbers by inconsistency; NaN where a run has no record."""
