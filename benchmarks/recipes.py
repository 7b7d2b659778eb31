"""One number for each recipe of docs/frameworks.md whose library is installed.

    python benchmarks/recipes.py --out results/recipes.jsonl

`make test-frameworks` makes the two environments that have all of the libraries.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from histreg.study.engine.environment import environment

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.frameworks.test_recipes import PACKAGES, recipe  # noqa: E402

NUMBERS = {
    "Lightning": "(other(x).mean - y).abs().mean()",
    "skorch": "r2_score(y, net.predict(X))",
    "torchrl": "(value(data)['state_value'] - 10).abs().mean()",
    "GluonTS": "np.abs(forecast.mean - y).mean()",
    "NeuralForecast": "error",
    "darts": "error",
}
"""An expression in the names of each recipe, of what its last lines test."""


def main() -> None:
    """Run the recipes that are missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.absolute()
    facts = environment()
    lines = out.read_text().splitlines() if out.exists() else []
    done = {json.loads(line)["recipe"] for line in lines}
    for name, expression in NUMBERS.items():
        package = PACKAGES[name]
        if name in done or importlib.util.find_spec(package) is None:
            continue
        names = {"__name__": "recipe"}
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            exec(compile(recipe(name), name, "exec"), names)
            number = float(eval(expression, names))
            os.chdir(ROOT)
        record = {"recipe": name, "what": expression, "number": round(number, 4)}
        record["environment"] = facts | {package: version(package)}
        with out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(name, record["number"], flush=True)


if __name__ == "__main__":
    main()
