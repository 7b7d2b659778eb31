"""User modules: modules named by ``--import``, which extend the study."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

from histreg.errors import InputError


def import_user_modules(modules: list[str] | None) -> None:
    """Import modules by name, also from the current folder."""
    if modules:
        sys.path.insert(0, str(Path.cwd()))
    for name in modules or []:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):
                raise _import_failure(name, error) from error
            raise InputError(
                f"--import must name a module, got {name}: {error}"
            ) from error
        except (Exception, SystemExit) as error:
            raise _import_failure(name, error) from error


def files_of_user_modules(modules: list[str] | None) -> list[Path]:
    """Return the files of imported modules."""
    files = (sys.modules[name].__file__ for name in modules or [])
    return [Path(file) for file in files if file]


def _import_failure(name: str, error: BaseException) -> InputError:
    """Return an error that says what failed, and in which line of the module."""
    frames = traceback.extract_tb(error.__traceback__)
    machinery = ("<frozen importlib", importlib.__file__)
    own = [frame for frame in frames[1:] if not frame.filename.startswith(machinery)]
    where = ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f", line {error.lineno} of {error.filename}"
    elif own:
        where = f", line {own[0].lineno} of {own[0].filename}"
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    message = " ".join(message.split())  # in one line
    kind = type(error).__name__
    reason = f"{kind}: {message}" if message else kind
    return InputError(f"--import {name} failed with {reason}{where}")
