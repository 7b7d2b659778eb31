"""The command without its extra."""

import subprocess
import sys

import pytest

from histreg import __main__ as command


def test_python_dash_m_is_the_command():
    result = subprocess.run(
        [sys.executable, "-m", "histreg", "--help"], capture_output=True, text=True
    )
    assert result.returncode == 0
    for name in ("fit", "predict", "inspect", "report"):
        assert name in result.stdout


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "histreg.cli", raising=False)
    with pytest.raises(SystemExit) as stop:
        command.main()
    assert "pip install 'histreg[cli]'" in str(stop.value)
