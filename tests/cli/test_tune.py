"""``histreg tune``: settings for ``fit``, searched by cross-validation."""

import json

import pytest

from histreg.cli.tune import parse_duration
from histreg.errors import InputError
from tests.cli.running import QUICK, assert_refused, histreg, houses

TUNE = ("tune", "houses.csv", "--target", "price", "--drop", "id")
SMALL = ("--folds", "2", "--epochs", "1", "--estimators", "1", "--trials", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with a table."""
    monkeypatch.chdir(tmp_path)
    houses(60).to_csv("houses.csv", index=False)
    return tmp_path


def test_settings_are_found_written_and_used(folder):
    shown = histreg(*TUNE, *SMALL, "--out", "best.json", width=80).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.startswith("Only the defaults were tried; allow more time or trials.")
    assert shown.endswith("Written to best.json\n") and "Use them" not in shown
    settings = json.loads((folder / "best.json").read_text())
    assert settings["hidden_layer_sizes"] == [96, 96, 96]
    settings["hidden_layer_sizes"] = [7]
    (folder / "best.json").write_text(json.dumps(settings))
    fit = ("fit", "houses.csv", "-t", "price", "--drop", "id", *QUICK)
    histreg(*fit, "--out", "m", "--settings", "best.json")
    described = json.loads((folder / "m/model.json").read_text())
    assert described["options"]["hidden_layer_sizes"] == [7]
    (folder / "odd.json").write_text('{"callback": "print"}')
    (folder / "wrong.json").write_text('{"dropout": "much"}')
    for name, sentence in (
        ("odd.json", "must hold an object"),
        ("no.json", "cannot be"),
        ("wrong.json", "wrong.json: dropout must be a number, got dropout='much'"),
    ):
        assert_refused(folder, [*fit, "--out", "n", "--settings", name], sentence)


@pytest.mark.usefixtures("folder")
def test_json_has_the_settings_and_the_verdict():
    options = ("--format", "json", "--search", "s.journal")
    document = json.loads(histreg(*TUNE, *SMALL, *options).stdout)
    assert document["n_trials"] == 1 and document["gain"] is None
    again = json.loads(histreg(*TUNE, *SMALL, *options).stdout)
    assert again == document  # nothing was left to try


@pytest.mark.parametrize(
    "text, seconds", [("90s", 90), ("10m", 600), ("1.5 h", 5400), ("45", 45)]
)
def test_durations_are_understood(text, seconds):
    assert parse_duration("--time-budget", text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "0s", "-3m", "10 days"])
def test_other_durations_are_refused(text):
    with pytest.raises(InputError, match="--time-budget must be a time such as 90s"):
        parse_duration("--time-budget", text)


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--time-budget", "never"], "--time-budget must be a time"),
        (["--trials", "0"], "--trials must be a whole number of at least 1"),
        (["--out", "houses.csv"], "must not be a file that this command reads"),
        (["--time", "sold", "--groups", "zone"], "cannot be combined"),
    ],
)
def test_wrong_options_are_refused(folder, options, sentence):
    assert_refused(folder, [*TUNE, *options], sentence)
