"""Progress of a fit, on a terminal and elsewhere."""

import sys

import pytest

from histreg.cli.progress import epoch_progress
from histreg.tabular.training import Epoch


def epoch(number, validation_error=None):
    return Epoch(number, 10, 1.25, None, validation_error, True, 0.1)


def test_nothing_is_shown_where_nobody_looks(capsys):
    with epoch_progress("Fitting", quiet=False) as show:
        show(epoch(3))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("quiet", [True, False])
def test_a_terminal_shows_epochs_loss_and_error(quiet, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with epoch_progress("Fitting", quiet=quiet) as show:
        show(epoch(3, validation_error=0.5))
    shown = capsys.readouterr().err
    for words in ("Fitting", "epoch 3/10", "loss 1.25, validation MAE 0.5"):
        assert (words in shown) is not quiet
