import hashlib
import shlex
import subprocess
import sys

import pytest
import typer

from histreg.cli import app
from histreg.cli.demo import steps
from histreg.study.datasets import source
from tests.cli.running import assert_refused

STEPS = steps(fit_epochs=1, study_epochs=1)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.command[:30])
def test_every_step_is_a_command_that_there_is(step):
    words = shlex.split(step.command) + ["--overwrite"] * step.writes
    command, context = typer.main.get_command(app), None
    while hasattr(command, "commands"):
        context = command.make_context("histreg", words[:1], parent=context)
        command, words = command.commands[words[0]], words[1:]
    command.make_context(command.name, words, parent=context)


def test_the_steps_leave_out_what_gives_the_answer_away():
    (fit,) = (step.command for step in STEPS if step.command.startswith("fit "))
    assert "--drop instant,casual,registered" in fit


def test_an_earlier_demo_is_not_replaced_unasked(tmp_path):
    (tmp_path / "bike.csv").write_text("mine")
    assert_refused(tmp_path, ["demo", "--out", tmp_path], "holds a demo already")
    assert (tmp_path / "bike.csv").read_text() == "mine"


@pytest.mark.slow
def test_the_demo_writes_a_page_and_a_figure_and_says_how_to_open_them(tmp_path):
    out = tmp_path / "demo"
    quick = ["--fit-epochs", "1", "--study-epochs", "1", "--out", str(out)]
    result = subprocess.run(
        [sys.executable, "-m", "histreg", "demo", *quick],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    table = (out / "bike.csv").read_bytes()
    assert hashlib.sha256(table).hexdigest() == source("bike").sha256
    assert (out / "report.html").stat().st_size > 10_000
    assert (out / "paper.png").read_bytes().startswith(b"\x89PNG")
    for words in ("problem: a linear combination", "etter than", "HL-OneBin"):
        assert words in result.stdout
    assert f"webbrowser {(out / 'report.html').resolve().as_uri()}" in result.stdout
