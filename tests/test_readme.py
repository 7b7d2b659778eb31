"""The pages a newcomer reads: their code runs."""

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest
import torch
import typer

from histreg import Bins, theory
from histreg.cli import app
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import DATASETS
from histreg.study.methods import METHODS
from histreg.study_cli import app as study_app

ROOT = Path(__file__).parents[1]
FRONT = ["README.md", "CONTRIBUTING.md"]
DOCS = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
PAGES = [*FRONT, *DOCS]
MIGRATING = "docs/migrating_from_hl_gauss_pytorch.md"


def blocks(page: str, language: str) -> list[str]:
    """Return the code of a page; the language may be a regular expression."""
    text = (ROOT / page).read_text()
    return re.findall(rf"^```(?:{language})\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def script(name: str) -> ModuleType:
    """Return a script of docs as a module."""
    path = ROOT / "docs" / name
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


CASES = [
    pytest.param(block, id=f"{page} {i + 1}")
    for page in FRONT
    for i, block in enumerate(blocks(page, "python"))
]
COMMANDS = [
    pytest.param(line, id=f"{page}: {line[:60]}")
    for page in PAGES
    for block in blocks(page, "sh")
    for line in block.splitlines()
    if line.startswith("histreg ")
]


@pytest.fixture(autouse=True)
def _registries_as_they_were():
    """Take out what a page adds: its method is none of ours."""
    registries: list[dict] = [METHODS, DATASETS, EXPERIMENTS]
    before = [dict(registry) for registry in registries]
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


@pytest.mark.parametrize("block", CASES)
def test_a_block_runs_by_itself(block, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    torch.manual_seed(0)
    exec(compile(block, "block", "exec"), {})
    capsys.readouterr()


def run_in_one_session(parts: list[str], monkeypatch, folder: Path) -> None:
    monkeypatch.chdir(folder)
    torch.manual_seed(0)
    known: dict = {}
    for i, block in enumerate(parts):
        exec(compile(block, f"block {i + 1}", "exec"), known)


@pytest.mark.parametrize("page", [page for page in DOCS if blocks(page, "python")])
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page, capsys, tmp_path, monkeypatch
):
    run_in_one_session(blocks(page, "python"), monkeypatch, tmp_path)
    capsys.readouterr()


def test_what_is_said_of_hl_gauss_pytorch_is_so(tmp_path, monkeypatch):
    pytest.importorskip("hl_gauss_pytorch")  # make bench installs it
    run_in_one_session(blocks(MIGRATING, "py|python"), monkeypatch, tmp_path)


def test_the_pages_have_blocks_to_run():
    assert len(CASES) >= 4 and len(COMMANDS) >= 20
    assert sum(len(blocks(page, "python")) for page in DOCS) >= 25


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_a_page_is_one(line):
    """Arguments and options are those that there are; nothing is run."""
    _, *words = shlex.split(line, comments=True)
    command, context = typer.main.get_command(app), None
    while words and hasattr(command, "commands"):
        context = command.make_context("histreg", words[:1], parent=context)
        assert words[0] in command.commands, f"{words[0]} is no command"
        command, words = command.commands[words[0]], words[1:]
    command.make_context(command.name, words, parent=context)


def test_the_table_in_the_guide_is_what_explain_prints():
    bins = Bins.around(0.0, 100.0)
    y = torch.linspace(0, 100, 1000)
    printed = str(theory.explain(bins, sigma=2 * bins.width, y=y))
    shown = blocks("docs/choosing_bins_and_sigma.md", "text")[0].strip()
    # Numbers that are rounding noise differ between machines; words do not.
    assert [line[:34] for line in shown.splitlines()] == [
        line[:34] for line in printed.splitlines()
    ]
    assert shown.splitlines()[3:] == printed.splitlines()[3:]


def test_the_readme_shows_the_commands_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for command in ("demo", "report", "test", "bench"):
        assert f"make {command}" in (ROOT / "README.md").read_text()
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_study_s_guide_shows_every_command_and_option():
    text = (ROOT / "docs" / "guide_study.md").read_text()
    for name, command in typer.main.get_command(study_app).commands.items():
        assert f"| `{name}" in text
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in text, option


@pytest.mark.parametrize(
    ("name", "n_blocks"),
    [
        ("paper", 11),
        ("analysis", 9),
        ("forecasts", 2),
        ("claims", 2),
        ("choosing_bins_and_sigma", 4),
        ("comparison", 4),
        ("regressor", 5),
    ],
)
def test_pages_have_tables_of_records(name, n_blocks):
    page = (ROOT / "docs" / f"{name}.md").read_text()
    assert page.count("<!-- end -->") >= n_blocks


@pytest.mark.parametrize(
    "page", [page for page in DOCS if "<!-- end -->" in (ROOT / page).read_text()]
)
def test_what_pages_say_of_the_records_is_what_the_records_say(page):
    text = (ROOT / page).read_text()
    assert script("refresh.py").refreshed(text) == text


def test_the_reference_is_what_the_docstrings_say():
    assert script("api.py").page() == (ROOT / "docs" / "api.md").read_text()


def test_the_index_has_every_page():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in DOCS:
        assert f"]({Path(page).name})" in index or page == "docs/README.md", page


def anchors(page: Path) -> set[str]:
    """Return what GitHub makes of the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.M | re.S)
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        target = (ROOT / page).parent / link if link else ROOT / page
        assert target.exists(), f"{page}: {link}"
        assert not anchor or anchor in anchors(target), f"{page}: {link}#{anchor}"
