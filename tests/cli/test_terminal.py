"""Tables of numbers fit a terminal."""

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from histreg.cli.terminal import print_table
from tests.cli.running import houses

HEADERS = ("skill", "CRPS", "MAE", "width")
ROWS = (
    ("histogram", ("-12.4 %", "1.843e-05", "1.234e-05", "123,456,789")),
    ("a long name [of a model] in words", ("3.0 %", "2", "3", "4")),
)


def printed(width):
    text = io.StringIO()
    console = Console(file=text, width=width)
    print_table("12 rows", HEADERS, ROWS, ("width", "MAE"), console)
    return text.getvalue()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 140])
def test_no_line_is_too_long_and_no_number_is_cut(width):
    text = printed(width)
    assert max(map(len, text.splitlines())) <= width
    assert "1.843e-05" in text and "-12.4 %" in text and "…" not in text


def test_a_narrow_terminal_does_without_columns_and_names_them():
    assert "123,456,789" in printed(140) and "Not shown" not in printed(140)
    assert "Not shown for lack of width: MAE, width." in printed(60)
    assert "123,456,789" not in printed(60)
    assert "a long name [of a model] in words" in printed(80)


COMMANDS = {
    "check": "check houses.csv --target price",
    "inspect": "inspect model --bins",
    "importance": "explain model test.csv --repeats 1 --max-rows 20 --above 9e4,1e5",
    "dependence": "explain model test.csv --column size --max-rows 20 --above 9e4,1e5",
    "row": "explain model test.csv --row 3 --above 9e4,1e5 --quantiles 0.1,0.9",
    "compare": "compare houses.csv -t price --drop id --models linear,constant "
    "--folds 2",
    "fit": "fit few.csv -t price --drop id,sold --epochs 1 --estimators 1 "
    "--out narrow --overwrite",
    "tune": "tune few.csv -t price --drop id,sold --epochs 1 --estimators 1 --folds 2 "
    "--trials 1 --time-budget 1s",
}
# All in one process, which takes seconds to start.
SEVERAL = """
import shlex, sys
from histreg.cli import app
for command in sys.argv[1:]:
    print("$", command)
    app(shlex.split(command), standalone_mode=False)
"""


@pytest.fixture(scope="module", params=[80, 140])
def terminal(place, request):
    """Return a width, and by command what is printed on a terminal of that width."""
    houses(60).to_csv(place / "few.csv", index=False)
    result = subprocess.run(
        [sys.executable, "-c", SEVERAL, *COMMANDS.values()],
        cwd=place,
        env={**os.environ, "COLUMNS": str(request.param), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    printed = ("\n" + result.stdout).split("\n$ ")[1:]
    texts = [text.partition("\n")[2] for text in printed]
    return request.param, dict(zip(COMMANDS, texts, strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_fits_the_terminal_of_its_process(terminal, command):
    width, printed = terminal
    lines = printed[command].splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= width
    assert "…" not in printed[command]


def test_a_wide_terminal_shows_all_columns(terminal):
    width, printed = terminal
    is_shown = {name: "Not shown" not in text for name, text in printed.items()}
    assert all(is_shown.values()) or width == 80
