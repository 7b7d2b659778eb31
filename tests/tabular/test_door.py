"""The door of histreg.tabular: its names, and what its import costs."""

import subprocess
import sys

import pytest

from histreg import HistogramRegressor, tabular
from histreg.tabular.predictions import Predictions
from histreg.tabular.training import Epoch


def test_the_names_are_those_of_their_modules():
    assert tabular.HistogramRegressor is HistogramRegressor
    assert tabular.Predictions is Predictions and tabular.Epoch is Epoch
    assert set(tabular.__all__) <= set(dir(tabular))
    assert all(getattr(tabular, name).__name__ == name for name in tabular.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        tabular.nope  # noqa: B018


def test_the_import_brings_no_heavy_libraries():
    code = (
        "import sys, histreg.tabular; "
        "print([m for m in ('torch', 'sklearn', 'numpy') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
