"""Put a built site beside those of other versions, as the branch gh-pages has them.

    python docs/versions.py build/docs pages 0.1.0

The site goes into pages/0.1.0, in place of an earlier one. pages/versions.json lists
all versions, which every page shows in its sidebar, and pages/index.html leads to the
newest release, or to the version ``dev`` before there is one.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

DEV = "dev"
"""The version of the main branch, which is listed first."""
NAME = re.compile(rf"{DEV}|\d+(\.\d+)*((a|b|rc)\d+)?")
REDIRECT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>histreg</title>
<meta http-equiv="refresh" content="0; url={name}/">
</head>
<body><p><a href="{name}/">histreg {name}</a></p></body>
</html>
"""


def order(name: str) -> tuple[object, ...]:
    """Return a key that sorts versions: releases by number, then ``dev``."""
    if name == DEV:
        return (1,)
    numbers, kind, n = re.fullmatch(r"([\d.]+?)(?:(a|b|rc)(\d+))?", name).groups()
    # A release comes after its candidates.
    return (0, [*map(int, numbers.split("."))], kind or "z", int(n or 0))


def is_final(name: str) -> bool:
    """Return whether a version is a release, no candidate and not ``dev``."""
    return re.fullmatch(r"[\d.]+", name) is not None


def publish(site: Path, pages: Path, name: str) -> list[str]:
    """Add a site to those of other versions; return all, the newest first."""
    if not NAME.fullmatch(name):
        raise SystemExit(f"the version must be like 0.1.0 or {DEV}, got {name}")
    if not (site / "index.html").is_file():
        raise SystemExit(f"the site must have an index.html, got {site}; run make docs")
    shutil.rmtree(pages / name, ignore_errors=True)
    shutil.copytree(site, pages / name)
    folders = (path.parent.name for path in pages.glob("*/index.html"))
    names = sorted(filter(NAME.fullmatch, folders), key=order, reverse=True)
    listed = [{"name": each, "address": f"{each}/"} for each in names]
    (pages / "versions.json").write_text(json.dumps(listed, indent=1) + "\n")
    first = next(filter(is_final, names), names[0])
    (pages / "index.html").write_text(REDIRECT.format(name=first))
    (pages / ".nojekyll").touch()  # folders that begin with _ are served too
    return names


if __name__ == "__main__":
    site, pages, name = sys.argv[1:]
    print(*publish(Path(site), Path(pages), name))
