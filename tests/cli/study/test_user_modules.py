"""Modules of a user, named by --import."""

import pytest

from tests.cli.study.running import assert_refused, study


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "bound", "--import", "no_such_module"], "--import must name a module"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)


MODULES = {
    "raises": (
        "x = 1\nraise ValueError('no\\nluck')",
        "ValueError: no luck, line 2 of",
    ),
    "divides": (
        "def f():\n    1 / 0\nf()",
        "ZeroDivisionError: division by zero, line 3",
    ),
    "broken": ("x = 1\nx = (", "SyntaxError: '(' was never closed, line 2 of"),
    "null": ("x = '\0'", "SyntaxError: source code string cannot contain null bytes"),
    "leaves": ("import sys\nsys.exit(3)", "SystemExit: 3, line 2 of"),
    "needy": ("import no_such_library", "ModuleNotFoundError: No module named 'no_s"),
    "silent": ("raise AssertionError", "AssertionError, line 1 of"),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_cannot_be_imported_is_reported_with_its_line(place, name):
    text, sentence = MODULES[name]
    (place / f"{name}_module.py").write_text(text)
    printed = study("table", "bound", "--import", f"{name}_module", code=2)
    assert f"--import {name}_module failed with {sentence}" in printed
    assert printed.strip().count("\n") == 0, printed
