"""The pages of the documentation, and the code in them."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
FRONT = ["README.md", "CONTRIBUTING.md"]
DOCS = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
PAGES = [*FRONT, *DOCS]


def blocks(page: str, language: str) -> list[str]:
    """Return the code of a page; the language may be a regular expression."""
    text = (ROOT / page).read_text()
    return re.findall(rf"^```(?:{language})\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def script(name: str, folder: str = "docs") -> ModuleType:
    """Return a script as a module."""
    path = ROOT / folder / name
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
