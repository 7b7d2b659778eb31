"""Check a built site: its links, what it loads, and how heavy its pages are.

    python docs/links.py build/docs

Every address inside the site must be a file, and every anchor a name on its page.
Nothing may be loaded from another site. A page with all that it loads, pictures that
are further down included, may have 500 kB, uncompressed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

MAX_KB = 500


class Page(HTMLParser):
    """The names on a page, the addresses that it refers to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what the attributes of an element name and refer to."""
        given = {key: value or "" for key, value in attrs}
        self.names |= {given[key] for key in ("id", "name") if key in given}
        self.links += [given[key] for key in ("href", "src") if key in given]
        if tag == "link" and {"stylesheet", "icon"} & {*given.get("rel", "").split()}:
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


def broken_links(site: Path) -> list[str]:
    """Return the links of all pages that lead nowhere, as ``page: link``."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme:
                continue  # another site, or data
            address, anchor = urldefrag(link)
            to = (path.parent / unquote(address.split("?")[0])).resolve()
            to = path if not address else to
            is_there = to.is_file() and (
                not anchor or to not in pages or unquote(anchor) in pages[to].names
            )
            if not is_there:
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return broken


def remote_files(site: Path) -> list[str]:
    """Return what pages load from other sites, as ``page: address``."""
    return [
        f"{path.relative_to(site)}: {address}"
        for path in sorted(site.rglob("*.html"))
        for address in Page(path).loaded
        if urlsplit(address).netloc
    ]


def weight(path: Path) -> int:
    """Return the bytes of a page with all it loads from the site."""
    files = {path.resolve()}
    for address in Page(path).loaded:
        if not urlsplit(address).scheme:
            files.add((path.parent / unquote(address.split("?")[0])).resolve())
    return sum(file.stat().st_size for file in files if file.is_file())


def heavy_pages(site: Path) -> list[str]:
    """Return the pages that are too heavy, as ``page: weight``."""
    weights = {path: weight(path) / 1e3 for path in sorted(site.rglob("*.html"))}
    return [
        f"{path.relative_to(site)}: {kb:.0f} kB"
        for path, kb in weights.items()
        if kb > MAX_KB
    ]


if __name__ == "__main__":
    site = Path(sys.argv[1])
    pages = sorted(site.rglob("*.html"))
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    page = max(pages, key=weight)
    print(
        f"{len(pages)} pages, {size / 1e6:.1f} MB; the heaviest with all that it loads:"
    )
    print(f"{page.relative_to(site)}, {weight(page) / 1e3:.0f} kB")
    problems = {
        "broken links:": broken_links(site),
        "loaded from other sites:": remote_files(site),
        f"above {MAX_KB} kB:": heavy_pages(site),
    }
    lines = [
        line for title, found in problems.items() if found for line in (title, *found)
    ]
    sys.exit("\n".join(lines) if lines else 0)
