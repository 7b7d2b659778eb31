"""The command, with and without the libraries of its extra."""

import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from histreg import __main__ as command
from histreg.cli import app


def test_python_dash_m_is_the_command():
    result = subprocess.run(
        [sys.executable, "-m", "histreg", "--help"], capture_output=True, text=True
    )
    assert result.returncode == 0
    for name in ("fit", "predict", "inspect", "report"):
        assert name in result.stdout


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("histreg.cli")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as stop:
        command.main()
    assert "pip install 'histreg[cli]'" in str(stop.value)


def test_the_version_is_printed_without_the_libraries():
    code = """
import sys
from histreg.__main__ import main
sys.argv = ["histreg", "--version"]
main()
heavy = ("torch", "numpy", "pandas", "sklearn", "typer")
print([name for name in heavy if name in sys.modules])
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == f"histreg {version('histreg')}\n[]\n"


def test_the_option_is_in_the_help_and_works_with_other_words():
    shown = CliRunner().invoke(app, ["--version"])
    assert (shown.exit_code, shown.stdout) == (0, f"histreg {version('histreg')}\n")
    assert "--version" in CliRunner().invoke(app, ["--help"]).stdout


@pytest.mark.parametrize(
    ("library", "arguments", "sentence"),
    [
        ("typer", [], ""),
        ("pandas", ["inspect", "m"], "histreg: stopped, nothing was written\n"),
    ],
)
def test_ctrl_c_while_libraries_load_shows_no_traceback(library, arguments, sentence):
    code = f"""
import sys
from histreg.__main__ import main

class Pressed:
    def find_spec(self, name, *_):
        if name == "{library}":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
main()
"""
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (130, sentence)


def test_a_missing_library_of_a_command_is_named_with_its_extra():
    code = """
import sys
from histreg.__main__ import main

sys.modules["pandas"] = None
main()
"""
    result = subprocess.run(
        [sys.executable, "-c", code, "inspect", "m"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert result.stderr == (
        "histreg: this command needs pandas: pip install 'histreg[cli]'\n"
    )
