"""SIGTERM ends a study as Ctrl-C does."""

import os
import signal

import pytest

from histreg.cli.study.stopping import stopped_by_sigterm


def test_the_first_sigterm_is_ctrl_c_and_later_ones_are_ignored():
    before = signal.getsignal(signal.SIGTERM)
    with stopped_by_sigterm():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
