"""Every command of the study runs in an empty folder."""

import pytest


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HISTREG_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path
