"""The notebooks: they were run as they are, run again, and open in Colab."""

import json
import re

import pytest

from tests.pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def cells_of(path, kind: str) -> list[dict]:
    return [
        cell
        for cell in json.loads(path.read_text())["cells"]
        if cell["cell_type"] == kind
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_block_was_executed_from_top_to_bottom(path):
    code = cells_of(path, "code")
    counts = [cell["execution_count"] for cell in code]
    assert counts == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs
    assert not [
        o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_installs_first_and_opens_in_colab_from_the_repository(path):
    conf = (ROOT / "docs" / "conf.py").read_text()
    pyproject = (ROOT / "pyproject.toml").read_text()
    first = "".join(cells_of(path, "code")[0]["source"])
    (address,) = re.findall(r"git\+(https://github\.com/[\w-]+/[\w-]+)", first)
    assert f'"{address}"' in pyproject + conf
    top = "".join(cells_of(path, "markdown")[0]["source"])
    repository = address.removeprefix("https://github.com/")
    opened = f"colab.research.google.com/github/{repository}/blob/main/"
    assert f"{opened}{path.relative_to(ROOT)}" in top


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel, another process
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # small networks
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=3600, resources=resources).execute()
