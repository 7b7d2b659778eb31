"""The map in CONTRIBUTING.md: it shows the package as it is."""

import re
from pathlib import Path

import histreg
from tests.pages import ROOT, blocks

SOURCE = Path(histreg.__file__).parent
MAP = blocks("CONTRIBUTING.md", "text")[0]
NAMES = re.compile(r"(?:[\w.]+(?:\.py|/) ?)+")


def drawn() -> set[Path]:
    """Return the files and folders in the drawing, by its indentation."""
    folders, paths = {0: SOURCE}, set()
    for line in MAP.splitlines()[1:]:
        depth = (len(line) - len(line.lstrip())) // 2
        names = NAMES.match(line.strip())
        assert names is not None, line
        for name in names[0].split():
            path = folders[depth - 1] / name
            folders[depth] = path
            paths.add(path)
    return paths


def walk(title: str) -> list[Path]:
    """Return the files of a numbered list, in order."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    items = text.split(f"**{title}**", 1)[1].split("\n\n")[1].splitlines()
    return [
        SOURCE / path for item in items for path in re.findall(r"`(\S+\.py)`", item)
    ]


def test_what_is_drawn_exists():
    assert [path for path in drawn() if not path.exists()] == []


def test_every_room_and_every_module_of_the_ground_floor_is_drawn():
    rooms = {path.parent for path in SOURCE.rglob("__init__.py")} - {SOURCE}
    ground_floor = {p for p in SOURCE.glob("*.py") if p.name != "__init__.py"}
    assert (rooms | ground_floor) - drawn() == set()


def test_the_walks_lead_through_files_that_exist():
    for title in ("From a table to a quantile", "From an experiment to a page"):
        files = walk(title)
        assert len(files) >= 10
        assert [path for path in files if not path.exists()] == []
