"""Tables of numbers fit a terminal."""

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from histreg.cli.terminal import print_table

HEADERS = ("skill", "CRPS", "MAE", "width")
ROWS = {
    "histogram": ("-12.4 %", "1.843e-05", "1.234e-05", "123,456,789"),
    "a long name [of a model] in words": ("3.0 %", "2", "3", "4"),
}


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


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize(
    "command", ["check houses.csv --target price", "inspect model"]
)
def test_a_command_fits_the_terminal_of_its_process(place, command, width):
    result = subprocess.run(
        [sys.executable, "-m", "histreg", *command.split()],
        cwd=place,
        env={**os.environ, "COLUMNS": str(width), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) > 5 and max(map(len, lines)) <= width
    assert "e-…" not in result.stdout
