"""What the tests of sines compute."""

from histreg.study.methods import L2, HLGauss
from histreg.study.sines.runs import SineRun

HL = HLGauss(sigma_in_bins=2.0, padding_in_bins=0.0)


RUNS = {
    "l2": SineRun(L2(), 3.0, 0.5, (0.0, 1.0), 1e-2, 0, iterations=12, hidden=(8, 8)),
    "HL-Gauss": SineRun(
        HL, 3.0, 0.5, (-1.5, 2.5), 1e-2, 0, iterations=12, hidden=(8, 8)
    ),
}
