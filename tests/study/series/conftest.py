"""A made series, for every test."""

import pytest

from histreg.study import datasets
from tests.study.series.examples import MADE


@pytest.fixture(autouse=True)
def made(monkeypatch):
    monkeypatch.setitem(datasets.SERIES, "made", MADE)
