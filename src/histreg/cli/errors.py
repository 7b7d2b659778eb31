"""Errors: how a command ends when something is wrong, and with which exit code."""

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
BUG, USER_ERROR, INTERRUPTED = 1, 2, 130  # exit codes; the last is Ctrl-C's in a shell
STREAM_ERRORS = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}
HOW_TO_REPORT = (
    "this is a bug in histreg; please report it with the lines above, the command and "
    "the output of `histreg --version`"
)


def exit_on_user_error(command: Callable[P, None]) -> Callable[P, None]:
    """Let a command print bad input as one sentence, without a traceback.

    Any other error is a bug in histreg: its traceback is printed, with a line on how
    to report it.
    """

    @functools.wraps(command)
    def guarded_command(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _print_warning
                command(*args, **kwargs)
                if sys.stdout is not None:  # None if the shell closed it
                    sys.stdout.flush()
        except KeyboardInterrupt:
            exit_with("stopped, nothing was written", INTERRUPTED)
        except InputError as error:
            exit_with(str(error), USER_ERROR)
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise  # Typer ends quietly on a broken pipe: histreg predict ... | head
        except Exception as error:
            if is_stdout_error(error):
                _discard_stdout()
                exit_with(f"standard output cannot be written: {error}", USER_ERROR)
            traceback.print_exc()
            exit_with(HOW_TO_REPORT, BUG)

    return guarded_command


def is_stdout_error(error: Exception) -> bool:
    """Whether standard output could not be written, to a full disk for example.

    Files are written by `histreg._files`, which raises its own error; an error of
    these kinds that names no file comes from a stream.
    """
    return (
        isinstance(error, OSError)
        and error.filename is None
        and error.errno in STREAM_ERRORS
    )


@contextmanager
def requires_extra(extra: str) -> Iterator[None]:
    """Name the extra to install if an import in this block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("histreg"):
            raise
        raise InputError(
            f"this command needs {error.name}: pip install 'histreg[{extra}]'"
        ) from error


def exit_with(sentence: str, code: int) -> NoReturn:
    """Print the reason in one line, and end with an exit code."""
    # Names of columns and files may contain line breaks.
    print(f"histreg: {' '.join(sentence.splitlines())}", file=sys.stderr)
    raise typer.Exit(code)


def _discard_stdout() -> None:
    """Discard the rest of the output buffer, or Python reports an error on exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as a sentence, without its place in the code."""
    print(f"histreg: {message}", file=sys.stderr)
