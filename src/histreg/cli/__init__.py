"""The command line: parses, calls, prints."""

from histreg.cli.fit import app, run

__all__ = ["app", "run"]
