"""``histreg compare``: a leaderboard of models on a table."""

import json

import pytest

from tests.cli.running import assert_refused, histreg, houses


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with a table."""
    monkeypatch.chdir(tmp_path)
    houses(150).to_csv("houses.csv", index=False)
    return tmp_path


COMPARE = ("compare", "houses.csv", "--target", "price", "--drop", "id")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("width", [80, 140])
def test_the_verdict_and_a_table_that_fits_are_printed(width):
    options = ("--models", "linear,constant,Ridge", "--folds", "3")
    result = histreg(*COMPARE, *options, width=width)
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("linear regression: Better than a constant (skill ")
    words = " ".join(result.stdout.split())
    assert "149 rows, each tested once, in units of price" in words
    table = lines[next(i for i, line in enumerate(lines) if "CRPS" in line) :]
    names = [line.split()[0] for line in table if line.strip()]
    assert names.index("constant") > max(names.index("linear"), names.index("Ridge"))


@pytest.mark.usefixtures("folder")
def test_networks_groups_and_time_in_json():
    quick = ("--estimators", "1", "--epochs", "1", "--folds", "2", "--rows", "100")
    options = ("--models", "histreg,boosting", "--format", "json", "--time", "sold")
    document = json.loads(histreg(*COMPARE, *quick, *options).stdout)
    assert document["target"] == "price" and 0 < document["n_rows"] < 100
    assert document["judged"] == "histreg"
    names = {model["name"] for model in document["models"]}
    assert names == {"histreg", "boosting", "constant"}
    grouped = ("--models", "linear", "--format", "json", "--groups", "zone")
    by_group = json.loads(histreg(*COMPARE, "--folds", "3", *grouped).stdout)
    assert by_group["n_rows"] == 149


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--models", "Nope"], "a model must be one of"),
        (["--models", ""], "--models must name at least one model, got ''"),
        (["--label", "price"], "--label must not name the target, got 'price'"),
        (["--folds", "1"], "--folds must be a whole number of at least 2"),
        (["--time", "sold", "--groups", "zone"], "--time and --groups cannot be"),
        (["--groups", "nope"], "must have the column 'nope'"),
        (["--format", "yaml"], "--format must be one of"),
        (["--rows", "2"], "--rows must be a whole number of at least 6"),
    ],
)
def test_wrong_options_are_refused(folder, options, sentence):
    assert_refused(folder, [*COMPARE, *options], sentence)
