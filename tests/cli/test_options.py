"""Options: one object for all of a command, and lists in their text."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from histreg.cli.options import (
    parse_numbers,
    shortest_text,
    split_names,
    takes_options,
)
from histreg.errors import InputError


@dataclass(frozen=True)
class Options:
    word: Annotated[str, typer.Argument(help="A word.")]
    times: Annotated[int, typer.Option("--times", "-n", help="How often.")] = 2

    def __post_init__(self):
        if self.times < 1:
            raise InputError("--times must be positive")


@pytest.fixture
def app():
    app = typer.Typer()

    @app.command()
    @takes_options(Options)
    def repeat(options):
        """Print a word several times."""
        print(options.word * options.times)

    return app


def test_the_fields_of_an_object_are_the_options_of_a_command(app):
    assert CliRunner().invoke(app, ["ab"]).stdout == "abab\n"
    assert CliRunner().invoke(app, ["ab", "-n", "3"]).stdout == "ababab\n"
    assert CliRunner().invoke(app, ["ab", "--times", "x"]).exit_code == 2
    shown = CliRunner().invoke(app, ["--help"]).stdout
    for words in ("Print a word several times.", "A word.", "How often.", "default: 2"):
        assert words in shown


def test_the_object_checks_itself(app):
    result = CliRunner().invoke(app, ["ab", "--times", "0"])
    assert isinstance(result.exception, InputError)


def test_names_are_repeated_or_separated_by_commas():
    assert split_names(None) == []
    assert split_names(["a,b", "c,"]) == ["a", "b", "c"]


def test_numbers_are_separated_by_commas():
    assert parse_numbers("--above", None) == []
    assert parse_numbers("--above", "1,2.5,-1e3") == [1.0, 2.5, -1000.0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("a", "--above must be comma-separated numbers, got a"),
        ("", "--above must be comma-separated numbers, got nothing"),
        ("nan", "--above must be comma-separated numbers, got nan"),
        ("0,-0", "--above must not repeat a number, got 0 twice"),
    ],
)
def test_other_text_is_refused(given, sentence):
    with pytest.raises(InputError) as refusal:
        parse_numbers("--above", given)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.1, "0.1"), (1000001.0, "1000001"), (1e6, "1e+06"), (0.99999995, "0.99999995")],
)
def test_the_text_of_a_number_is_short_and_exact(number, text):
    assert shortest_text(number) == text and float(text) == number
