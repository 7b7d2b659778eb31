"""Refusals: how a command says no, in one sentence and with an exit code."""

from __future__ import annotations

import errno
import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, ParamSpec

import typer

from histreg.errors import InputError

P = ParamSpec("P")
FAILED, REFUSED, INTERRUPTED = 1, 2, 130  # exit codes; the last is Ctrl-C's in a shell
STREAM_ERRORS = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}
HOW_TO_REPORT = (
    "this is a bug in histreg; please report it with the lines above, the command and "
    "the output of `histreg --version`"
)


def refusing(command: Callable[P, None]) -> Callable[P, None]:
    """Let a command refuse bad input in one sentence, without a traceback.

    Any other error is a bug of ours: its traceback is printed, with a line on how to
    report it.
    """

    @functools.wraps(command)
    def refusing_command(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _tell
                command(*args, **kwargs)
                if sys.stdout is not None:  # it is, where a shell closed it
                    sys.stdout.flush()
        except KeyboardInterrupt:
            leave("stopped, nothing was written", INTERRUPTED)
        except InputError as error:
            leave(str(error), REFUSED)
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise  # Typer ends quietly on a broken pipe: histreg predict ... | head
        except Exception as error:
            if is_of_stdout(error):
                _drop_stdout()
                leave(f"standard output cannot be written: {error}", REFUSED)
            traceback.print_exc()
            leave(HOW_TO_REPORT, FAILED)

    return refusing_command


def is_of_stdout(error: Exception) -> bool:
    """Whether standard output could not be written, to a full disk for example.

    Files of ours are written by `histreg._files`, which has its own error; what is left
    and names no file is of a stream.
    """
    return (
        isinstance(error, OSError)
        and error.filename is None
        and error.errno in STREAM_ERRORS
    )


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Tell which extra brings a package that an import in this block lacks."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("histreg"):
            raise
        raise InputError(
            f"this command needs {error.name}: pip install 'histreg[{extra}]'"
        ) from error


def leave(sentence: str, code: int) -> NoReturn:
    """Say why in one line, and end with an exit code."""
    # Names of columns and files may have line ends of their own.
    print(f"histreg: {' '.join(sentence.splitlines())}", file=sys.stderr)
    raise typer.Exit(code)


def _drop_stdout() -> None:
    """Send what is left to write to nowhere, or Python complains when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _tell(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as the sentence that it is."""
    print(f"histreg: {message}", file=sys.stderr)
