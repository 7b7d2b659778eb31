"""The pages a newcomer reads: their code runs."""

import importlib.util
import re
from pathlib import Path

import pytest
import torch
import typer

from histreg import Bins, theory
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import DATASETS
from histreg.study.methods import METHODS
from histreg.study_cli import app as study_app

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(
        f"docs/{name}.md"
        for name in (
            "regressor",
            "study",
            "paper",
            "analysis",
            "forecasts",
            "claims",
        )
    ),
]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


CASES = [
    pytest.param(block, id=f"{page} {i + 1}")
    for page in PAGES
    for i, block in enumerate(blocks(page, "python"))
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


def test_the_pages_have_blocks_to_run():
    assert len(CASES) >= 7


def test_the_table_in_the_readme_is_what_explain_prints():
    bins = Bins.around(0.0, 100.0)
    y = torch.linspace(0, 100, 1000)
    printed = str(theory.explain(bins, sigma=2 * bins.width, y=y))
    shown = blocks("README.md", "text")[0].strip()
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
    text = (ROOT / "docs" / "study.md").read_text()
    for name, command in typer.main.get_command(study_app).commands.items():
        assert f"| `{name}" in text
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in text, option


@pytest.mark.parametrize(
    ("name", "n_blocks"),
    [("paper", 11), ("analysis", 9), ("forecasts", 2), ("claims", 2)],
)
def test_what_pages_say_of_the_study_is_what_the_records_say(name, n_blocks):
    page = (ROOT / "docs" / f"{name}.md").read_text()
    assert page.count("<!-- end -->") >= n_blocks
    specification = importlib.util.spec_from_file_location(
        "refresh", ROOT / "docs" / "refresh.py"
    )
    refresh = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(refresh)
    assert refresh.refreshed(page) == page


def test_links_to_files_lead_somewhere():
    for page in PAGES:
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text())
        for link in links:
            assert (ROOT / page).parent.joinpath(link).exists(), f"{page}: {link}"
