"""Check the links of a built site; print those that lead nowhere, and how large it is.

    python docs/links.py build/docs

Every address inside the site must be a file, and every anchor a name on its page.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class Page(HTMLParser):
    """The names on a page, and the addresses that it refers to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(  # HTMLParser calls it
        self,
        tag: str,  # noqa: ARG002
        attrs: list[tuple[str, str | None]],
    ) -> None:
        """Collect what the attributes of an element name and refer to."""
        given = dict(attrs)
        self.names |= {given[key] or "" for key in ("id", "name") if key in given}
        self.links += [given[key] or "" for key in ("href", "src") if key in given]


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


def weight(path: Path) -> int:
    """Return the bytes of a page with all it loads from the site."""
    loaded = {path.resolve()}
    for link in Page(path).links:
        file = (path.parent / unquote(link.split("?")[0])).resolve()
        is_page = file.suffix in (
            "",
            ".html",
            ".ipynb",
            ".py",
            ".zip",
            ".jsonl",
            ".csv",
        )
        if not urlsplit(link).scheme and file.is_file() and not is_page:
            loaded.add(file)
    return sum(file.stat().st_size for file in loaded)


if __name__ == "__main__":
    site = Path(sys.argv[1])
    pages = sorted(site.rglob("*.html"))
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    page = max(pages, key=weight)
    print(
        f"{len(pages)} pages, {size / 1e6:.1f} MB; the heaviest with all that it loads:"
    )
    print(f"{page.relative_to(site)}, {weight(page) / 1e3:.0f} kB")
    broken = broken_links(site)
    sys.exit("\n".join(["broken links:", *broken]) if broken else 0)
