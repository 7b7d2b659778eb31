"""The methods of the study by name; add a new method as a file and a line here."""

from __future__ import annotations

from histreg.study.methods.auxiliary import L2Moments, L2MultiTask
from histreg.study.methods.histograms import (
    HLGauss,
    HLGaussAnnealed,
    HLOneBin,
    HLProjected,
    HLUniform,
)
from histreg.study.methods.linear import LinearRegression
from histreg.study.methods.method import Method, NetworkMethod
from histreg.study.methods.mixture import MDN
from histreg.study.methods.numbers import L1, L2, L2Clipping, L2Noise
from histreg.study.methods.softmax import (
    Brier,
    L1SoftmaxMean,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
)

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        LinearRegression,
        L2,
        L2Noise,
        L2Clipping,
        L2MultiTask,
        L2Moments,
        L1,
        MDN,
        L2SoftmaxPerBin,
        L2SoftmaxMean,
        L1SoftmaxMean,
        Brier,
        HLOneBin,
        HLUniform,
        HLProjected,
        HLGauss,
        HLGaussAnnealed,
    )
}

__all__ = [
    "L1",
    "L2",
    "MDN",
    "METHODS",
    "Brier",
    "HLGauss",
    "HLGaussAnnealed",
    "HLOneBin",
    "HLProjected",
    "HLUniform",
    "L1SoftmaxMean",
    "L2Clipping",
    "L2Moments",
    "L2MultiTask",
    "L2Noise",
    "L2SoftmaxMean",
    "L2SoftmaxPerBin",
    "LinearRegression",
    "Method",
    "NetworkMethod",
]
