"""The pages a newcomer reads: their code runs."""

import re
from pathlib import Path

import pytest
import torch

from histreg import Bins, theory

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md"]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


CASES = [
    pytest.param(block, id=f"{page} {i + 1}")
    for page in PAGES
    for i, block in enumerate(blocks(page, "python"))
]


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
    for command in ("demo", "test", "bench"):
        assert f"make {command}" in (ROOT / "README.md").read_text()
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_links_to_files_lead_somewhere():
    for page in PAGES:
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text())
        for link in links:
            assert (ROOT / page).parent.joinpath(link).exists(), f"{page}: {link}"
