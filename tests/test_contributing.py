"""The map in CONTRIBUTING.md: it shows the package as it is."""

import re
from pathlib import Path

import histreg
from tests.pages import ROOT, blocks
from tests.test_architecture import PARTS

SOURCE = Path(histreg.__file__).parent


def walk(title: str) -> list[Path]:
    """Return the files of a numbered list, in order."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    items = text.split(f"**{title}**", 1)[1].split("\n\n")[1].splitlines()
    return [
        SOURCE / path for item in items for path in re.findall(r"`(\S+\.py)`", item)
    ]


def entries_of_the_map() -> list[str]:
    """Return what the map in CONTRIBUTING.md names, as paths below the package."""
    drawing = blocks("CONTRIBUTING.md", "text")[0].split("\n", 1)[1]
    entries: list[str] = []
    folders: list[str] = []  # those that the current line is in
    for line in drawing.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        names = line.split("  ", depth + 1)[depth].split()
        parent = "".join(folders[: depth - 1])
        entries += [parent + name for name in names]
        folders[depth - 1 :] = names[-1:]
    return entries


def test_the_map_of_the_package_names_every_module_once():
    entries = entries_of_the_map()
    assert sorted(entries) == sorted(set(entries))
    for entry in entries:
        assert list(SOURCE.glob(entry)), f"the map names {entry}, which is not there"
    modules = {path for entry in entries for path in SOURCE.glob(entry)}
    folders_in_full = {path.parent for path in modules if path.is_file()}
    for part in PARTS:
        # A folder without files on the map stands for all its modules.
        whole = part.parent in modules - folders_in_full
        assert whole or part in modules, f"the map lacks {part.relative_to(SOURCE)}"


def test_the_walks_lead_through_files_that_exist():
    for title in ("From a table to a quantile", "From an experiment to a page"):
        files = walk(title)
        assert len(files) >= 10
        assert [path for path in files if not path.exists()] == []
