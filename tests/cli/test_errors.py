import warnings

import pytest
import typer

from histreg.cli.errors import (
    BUG,
    INTERRUPTED,
    USER_ERROR,
    exit_on_user_error,
    requires_extra,
)
from histreg.errors import InputError, NoDistributionError, WriteError
from histreg.study.engine.store_files import DiskFullError


def exit_of(error, capsys):
    @exit_on_user_error
    def command():
        raise error

    with pytest.raises(typer.Exit) as left:
        command()
    return left.value.exit_code, capsys.readouterr().err


@pytest.mark.parametrize(
    "kind", [InputError, NoDistributionError, WriteError, DiskFullError]
)
def test_a_refusal_is_one_sentence(kind, capsys):
    assert exit_of(kind("x must be y"), capsys) == (
        USER_ERROR,
        "histreg: x must be y\n",
    )


def test_a_name_with_line_ends_stays_in_the_line(capsys):
    message = exit_of(InputError("column 'a\nb' must be y"), capsys)[1]
    assert message == "histreg: column 'a b' must be y\n"


def test_ctrl_c_has_the_exit_code_of_a_shell(capsys):
    assert exit_of(KeyboardInterrupt(), capsys)[0] == INTERRUPTED == 130


@pytest.mark.parametrize(
    "kind", [ValueError, AttributeError, OSError, TypeError, RecursionError]
)
def test_a_bug_shows_its_traceback_and_how_to_report_it(kind, capsys):
    code, message = exit_of(kind("broken"), capsys)
    assert code == BUG == 1
    assert "Traceback" in message and f"{kind.__name__}: broken" in message
    assert message.splitlines()[-1].startswith("histreg: this is a bug in histreg")


@pytest.mark.parametrize("error", [typer.Exit(3), typer.BadParameter("no")])
def test_what_typer_raises_is_left_to_it(error):
    @exit_on_user_error
    def command():
        raise error

    with pytest.raises(type(error)):
        command()


def test_warnings_are_shown_as_sentences(capsys):
    @exit_on_user_error
    def command():
        warnings.warn("look out", stacklevel=1)

    command()
    assert capsys.readouterr().err == "histreg: look out\n"


def test_a_missing_package_is_named_with_its_extra():
    with (
        pytest.raises(InputError, match=r"needs no_such: pip install 'histreg\[cli\]'"),
        requires_extra("cli"),
    ):
        import no_such  # noqa: F401


def test_a_missing_module_of_histreg_is_a_bug():
    with pytest.raises(ModuleNotFoundError), requires_extra("cli"):
        import histreg.no_such  # noqa: F401
