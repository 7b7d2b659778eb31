"""The command line: parses, calls, prints."""

from histreg.cli.app import app, run

__all__ = ["app", "run"]
