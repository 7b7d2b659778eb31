"""Progress of a study, on a terminal and in a file."""

import io

from rich.console import Console

from histreg.cli.study import progress
from histreg.study.engine.runner import Situation

HALF = Situation(
    total_s=10.0,
    done_s=5.0,
    n_runs=4,
    n_finished=1,
    n_failed=1,
    running=(("a", 2, 0.5),),
)


def test_a_terminal_shows_the_whole_and_each_stack():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with progress.study_progress(console) as show:
        show(HALF)
    shown = console.file.getvalue()
    assert "1 of 4 runs, 1 failed" in shown and " 50 %" in shown


def test_a_file_gets_a_line_now_and_then(monkeypatch):
    console = Console(file=io.StringIO(), width=100)
    with progress.study_progress(console) as show:
        show(HALF)
        assert console.file.getvalue() == ""
        monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
        show(HALF)
    assert "1 of 4 runs, 50%" in console.file.getvalue()


def test_time_is_left_in_proportion_to_what_is_done():
    assert progress._time_left(0.001, 1.0) == ""
    assert progress._time_left(0.25, 10.0) == "30 s left"
