"""One of each method, small."""

from histreg.study.methods import (
    L1,
    L2,
    MDN,
    Brier,
    HLGauss,
    HLGaussAnnealed,
    HLOneBin,
    HLProjected,
    HLUniform,
    L1SoftmaxMean,
    L2Clipping,
    L2Moments,
    L2MultiTask,
    L2Noise,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
)

SMALL = {"n_bins": 20, "padding_in_bins": 2.0}
METHODS = [
    L2(),
    L2Noise(0.1),
    L2Clipping(0.5),
    L1(),
    MDN(3),
    L2SoftmaxPerBin(**SMALL),
    L2SoftmaxMean(**SMALL),
    L1SoftmaxMean(**SMALL),
    Brier(**SMALL),
    HLOneBin(**SMALL),
    HLOneBin(0.5, **SMALL),
    HLUniform(0.1, **SMALL),
    HLProjected(**SMALL),
    HLGauss(**SMALL),
    HLGaussAnnealed(**SMALL),
    L2MultiTask(0.3, **SMALL),
    L2Moments(3),
]
