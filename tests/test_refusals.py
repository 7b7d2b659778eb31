import warnings

import pytest
import typer

from histreg.refusals import INTERRUPTED, REFUSED, refusing


def exit_of(error, capsys):
    @refusing
    def command():
        raise error

    with pytest.raises(typer.Exit) as left:
        command()
    return left.value.exit_code, capsys.readouterr().err


@pytest.mark.parametrize("kind", [ValueError, AttributeError, OSError])
def test_a_refusal_is_one_sentence(kind, capsys):
    assert exit_of(kind("x must be y"), capsys) == (REFUSED, "histreg: x must be y\n")


def test_ctrl_c_has_the_exit_code_of_a_shell(capsys):
    assert exit_of(KeyboardInterrupt(), capsys)[0] == INTERRUPTED == 130


def test_a_mistake_of_ours_is_not_hidden():
    @refusing
    def command():
        raise TypeError

    with pytest.raises(TypeError):
        command()


def test_warnings_are_shown_as_sentences(capsys):
    @refusing
    def command():
        warnings.warn("look out", stacklevel=1)

    command()
    assert capsys.readouterr().err == "histreg: look out\n"
