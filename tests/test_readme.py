"""The pages a newcomer reads first: their code runs, commands and links are right."""

import re
import shlex
from pathlib import Path

import pytest
import torch
import typer

from histreg.cli import app
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import DATASETS
from histreg.study.methods import METHODS
from tests.pages import FRONT, PAGES, ROOT, blocks

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


def test_the_first_lines_print_what_the_readme_shows(capsys):
    code, shown = blocks("README.md", "python")[0], blocks("README.md", "text")[0]
    exec(compile(code, "block", "exec"), {})
    printed, expected = (
        [float(number) for number in re.findall(r"[\d.]+", text)]
        for text in (capsys.readouterr().out, shown)
    )
    # Within a third of the standard deviation of y, 77: rounding differs between
    # machines, and a fit amplifies it.
    assert len(expected) == 12
    assert printed == pytest.approx(expected, rel=0, abs=25)


def test_the_pages_have_blocks_to_run():
    assert len(CASES) >= 4 and len(COMMANDS) >= 20


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


def test_the_readme_shows_the_commands_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for command in ("demo", "report", "test", "bench"):
        assert f"make {command}" in (ROOT / "README.md").read_text()
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


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
