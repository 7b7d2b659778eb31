"""What a fitted model is compared with."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.running import invoke


@pytest.mark.parametrize("kind", ["missing", "dates"])
def test_a_table_without_numbers_or_labels_is_compared_with_the_mean(
    kind, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    dates = pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d")
    x = {"missing": [np.nan] * 60, "dates": dates}[kind]
    y = np.arange(60.0)
    pd.DataFrame({"x": x, "y": y}).to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "-t", "y", "-o", "m", "--epochs", "1", "--time", "y2"]
    pd.DataFrame({"x": x, "y": y, "y2": y}).to_csv("t.csv", index=False)
    result = invoke(*fit)
    assert result.exit_code == 0, result.output
    scores = json.loads(Path("m/model.json").read_text())["notes"]["scores"]
    # Learnt from 0 to 41, tested on 48 to 59.
    assert scores["linear regression"]["mae"] == pytest.approx(53.5 - 20.5)
