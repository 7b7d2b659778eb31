"""Modules whose examples need a package that the tests do not have."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("skpro") else ["src/histreg/skpro.py"]
