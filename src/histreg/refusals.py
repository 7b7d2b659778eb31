"""Refusals: how a command says no, in one sentence and with an exit code."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec

import typer

P = ParamSpec("P")
REFUSED, INTERRUPTED = 2, 130  # exit codes; the second is a shell's for Ctrl-C


def refusing(command: Callable[P, None]) -> Callable[P, None]:
    """Let a command refuse in one sentence, without a traceback."""

    @functools.wraps(command)
    def refusing_command(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _tell
                command(*args, **kwargs)
        except KeyboardInterrupt:
            leave("stopped, nothing was written", INTERRUPTED)
        except BrokenPipeError:  # histreg predict ... | head
            sys.stderr.close()
        except (ValueError, AttributeError, OSError) as error:
            leave(str(error), REFUSED)

    return refusing_command


def leave(sentence: str, code: int) -> NoReturn:
    """Say why, and end with an exit code."""
    print(f"histreg: {sentence}", file=sys.stderr)
    raise typer.Exit(code)


def _tell(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as the sentence that it is."""
    print(f"histreg: {message}", file=sys.stderr)
