"""Progress of a fit, on a terminal and elsewhere."""

import sys

import pytest

from histreg.cli.progress import epoch_progress, search_progress, step_progress
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


@pytest.mark.parametrize("width", [80, 140])
def test_a_bar_and_all_words_fit_into_the_terminal(width, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    with epoch_progress("Fitting (histogram)", quiet=False) as show:
        show(epoch(3, validation_error=12345.678))
    shown = capsys.readouterr().err
    assert "epoch 3/10" in shown and "validation MAE 1.235e+04" in shown
    assert "━" * 3 in shown and "…" not in shown


def test_steps_and_trials_are_shown(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with step_progress(4, quiet=False) as show:
        show("boosting, fold 1 of 2")
        show("boosting, fold 2 of 2")
    with search_progress(600, quiet=False) as show_trial:
        show_trial(3, 1.5, 1.25)
    shown = capsys.readouterr().err
    assert "1/4" in shown and "boosting, fold 2 of 2" in shown
    assert "3 tried, CRPS 1.5, lowest 1.25" in shown and "of 10 min" in shown
