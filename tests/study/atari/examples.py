"""What the tests of atari compute."""

from dataclasses import replace

from histreg.study.atari.runs import ValueRun
from histreg.study.methods import HLGauss

HL = HLGauss(2.0, padding_in_bins=8.0)


N_BYTES = 300


def run_of(method, **changes):
    return replace(ValueRun("toy", method, 1, n_frames=N_BYTES), **changes)
