"""The command line, called in this process or in one that may be killed."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from histreg.cli import app
from tests.fuzz.campaign import BrokenPromiseError

LONGEST_SENTENCE = 1200
# Processes are forked from one that has imported what commands do, and done nothing.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "tests.fuzz.commands",
        "histreg.cli.fitting",
        "histreg.cli.study.progress",
        "histreg.cli.study.selection",
    ]
)


class Answer(NamedTuple):
    """What a command said."""

    code: int
    out: str
    told: str


def histreg(*arguments: object) -> Answer:
    """Run a command; raise unless it succeeds or refuses in one sentence."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    answer = Answer(result.exit_code, result.stdout, result.stderr)
    shown = f"{' '.join(map(str, arguments))}\nexit code {answer.code}\n{answer.told}"
    if "Traceback" in answer.told or answer.code not in (0, 2):
        raise BrokenPromiseError(f"neither done nor refused: {shown}")
    if answer.code == 2:
        last = answer.told.strip().splitlines()[-1]
        is_ours = last.startswith("histreg: ") or "╰" in last  # a box of typer's
        if not is_ours or len(last) > LONGEST_SENTENCE:
            raise BrokenPromiseError(f"not refused in one sentence: {shown}")
    return answer


def started(*arguments: object, cwd: Path) -> multiprocessing.process.BaseProcess:
    """Start a command in a process of its own."""
    process = CONTEXT.Process(target=_command, args=(list(map(str, arguments)), cwd))
    process.start()
    return process


def _command(arguments: Sequence[str], cwd: Path) -> None:
    log = (cwd / "command.log").open("a")
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    sys.stdout, sys.stderr = log, log
    os.chdir(cwd)
    import torch

    torch.set_num_threads(1)
    app(arguments)
