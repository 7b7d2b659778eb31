"""The recipes of docs/frameworks.md run, where their library is installed."""

import re

import pytest

from tests.pages import ROOT

PACKAGES = {
    "Lightning": "lightning",
    "Hugging Face Trainer": "transformers",
    "skorch": "skorch",
    "Stable-Baselines3": "stable_baselines3",
    "torchrl": "torchrl",
    "GluonTS": "gluonts",
    "NeuralForecast": "neuralforecast",
    "darts": "darts",
}


def recipe(heading: str) -> str:
    """Return the code under a heading of the page."""
    text = (ROOT / "docs" / "frameworks.md").read_text()
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (part,) = (part for part in section if part.startswith(heading + "\n"))
    (code,) = re.findall(r"^```py\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    return code


# Libraries warn of each other's deprecations; the recipe's asserts are what is tested.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("heading", PACKAGES)
def test_a_recipe_runs(heading, tmp_path, monkeypatch):
    pytest.importorskip(PACKAGES[heading], reason="see `make test-frameworks`")
    monkeypatch.chdir(tmp_path)
    code = compile(recipe(heading), f"docs/frameworks.md, {heading}", "exec")
    exec(code, {"__name__": "recipe"})


def test_every_recipe_has_its_code():
    assert all("histreg" in recipe(heading) for heading in PACKAGES)
