"""The commands of the study."""

from histreg.cli.study.run import app

__all__ = ["app"]
