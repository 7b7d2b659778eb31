"""Commands of the study, run in this process."""

from typer.testing import CliRunner

from histreg.cli import app

FEW = ["--datasets", "diabetes", "--seeds", "1,2", "--epochs", "2"]


def study(*arguments, code=0) -> str:
    """Return what a command prints, which ends with this exit code."""
    result = CliRunner().invoke(app, ["study", *map(str, arguments)])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result.output


def assert_refused(folder, arguments, sentence) -> None:
    """Check that a command refuses its arguments in one sentence."""
    (folder / "file").touch()
    printed = study(*arguments, code=2)
    assert sentence in printed
    assert printed.strip().count("\n") <= 1, printed
