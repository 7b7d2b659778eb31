"""What the tests of series compute."""

from dataclasses import replace

import numpy as np

from histreg.study.datasets import SERIES, Table
from histreg.study.methods import HLGauss
from histreg.study.series.runs import ForecastRun

HL = HLGauss(2.0, n_bins=20, padding_in_bins=3.0)


SMALL = {"n_inputs": 8, "n_steps": 4, "batch_size": 16, "epochs": 3}


def parse(content):  # noqa: ARG001
    moments = np.arange(420.0)
    noise = np.random.default_rng(0).normal(0, 0.1, (420, 7))
    x = np.sin(moments[:, None] / np.arange(2, 9)) + noise
    return Table(x, x[:, -1].copy(), tuple("abcdefg"), "made")


MADE = replace(
    SERIES["ETTh1"],
    name="made",
    files=(),  # so that there is no file to look for
    sha256=None,
    n_rows=420,
    rows_a_month=20,
    parse=parse,
)


def run_of(method, architecture="Linear", **changes):
    return ForecastRun("made", architecture, method, 1, **{**SMALL, **changes})
