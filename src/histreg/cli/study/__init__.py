"""The commands of the study."""

from histreg.cli.study.app import app

__all__ = ["app"]
