"""A new experiment is one file: its table, its figure, its claim and its page."""

import sys

import pytest
from typer.testing import CliRunner

from histreg.cli import app
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.claims import CLAIMS
from histreg.study.engine.store import Store
from histreg.study.methods import L2, HLGauss
from tests.study.made_up import tabular_records

FILE = """
from histreg.study.catalogue import (
    EXPERIMENTS, Experiment, FigureSpec, Pairing, Sweep, TableSpec, tabular
)
from histreg.study.claims import CLAIMS, Claim, Scope
from histreg.study.claims.conditions import Condition, lower_each, on_tables
from histreg.study.methods import L2, HLGauss

SIGMAS = (1.0, 3.0, 9.0)

EXPERIMENTS["wide"] = Experiment(
    "wide",
    "Wide targets",
    "not in it",
    "How wide is too wide?",
    tabular((L2(), *map(HLGauss, SIGMAS)), datasets=["pole"]),
    protocol="HL-Gauss with three sigmas.",
    table=TableSpec(title="Errors of wide targets", note="Sigma is in bins."),
    figure=FigureSpec(
        "sweep",
        "Errors over three sigmas.",
        (
            Sweep(
                "sigma, in bins",
                lambda run: getattr(run.method, "sigma_in_bins", None),
                "log",
                SIGMAS,
                levels=(L2(),),
            ),
        ),
    ),
    pairing=Pairing(lambda run, other: other.method == L2()),
)
CLAIMS["W1"] = Claim(
    "W1",
    "A sigma of nine bins is too wide.",
    "The test MAE at a sigma of 1 below that at 9.",
    ("wide",),
    lower_each(
        [(Condition.of(HLGauss()), Condition.of(HLGauss(9.0)))],
        where=on_tables("pole"),
    ),
    Scope("data set", "data sets", ("pole",)),
)
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Return a command of the study that knows the file and has records of it."""
    (tmp_path / "wide_targets.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    store = Store(tmp_path / "store")
    for method, errors in (
        (L2(), [1.0, 1.1, 1.2, 1.0, 1.1]),
        (HLGauss(1.0), [0.7, 0.7, 0.8, 0.7, 0.7]),
        (HLGauss(3.0), [0.8, 0.8, 0.9, 0.8, 0.8]),
        (HLGauss(9.0), [2.0, 2.1, 2.2, 2.0, 2.1]),
    ):
        for record in tabular_records("pole", method, errors):
            store.save(record)

    def call(*arguments):
        options = ("--import", "wide_targets", "--store", "store")
        result = CliRunner().invoke(app, ["study", *arguments, *options])
        assert result.exit_code == 0, result.output
        return result.output

    yield call
    EXPERIMENTS.pop("wide", None)
    CLAIMS.pop("W1", None)
    sys.modules.pop("wide_targets", None)


def test_it_has_a_table_with_its_title_and_note(study):
    table = study("table", "wide")
    assert "Errors of wide targets: Pole" in table
    assert "Sigma is in bins." in table
    assert "Not finished" not in table


def test_it_has_a_table_of_paired_differences(study):
    table = study("table", "wide", "--paired", "--format", "markdown")
    assert "**Wide targets, differences in test MAE: Pole**" in table
    assert f"| {HLGauss(9.0).label} | l2 | +1.000 | " in table


def test_it_has_a_figure_of_its_sweep(study, tmp_path):
    study("figure", "wide", "--out", "wide.svg")
    assert "sigma, in bins" in (tmp_path / "wide.svg").read_text()


def test_its_claim_is_judged(study):
    claims = study("claims", "W1", "--format", "markdown")
    assert "**W1, confirmed. On: pole (1 of 1 data set). A sigma of nine" in claims


def test_it_has_a_page_with_all_of_it(study, tmp_path):
    study("report", "--out", "site")
    page = (tmp_path / "site" / "experiments" / "wide.html").read_text()
    for words in (
        "How wide is too wide?",
        "HL-Gauss with three sigmas.",
        "Errors over three sigmas.",
        "Errors of wide targets: Pole",
        "A sigma of nine bins is too wide.",
        'aria-label="2 drawings.',
        "20 of 20 have a record",
    ):
        assert words in page
    front = (tmp_path / "site" / "index.html").read_text()
    assert 'href="experiments/wide.html"' in front and "claims.html#W1" in front


@pytest.mark.parametrize("what", ["table", "figure"])
def test_a_kind_that_is_not_there_is_refused_in_one_sentence(study, what, tmp_path):
    study("table", "wide")
    text = (tmp_path / "wide_targets.py").read_text()
    wrong = {
        "table": text.replace("TableSpec(", 'TableSpec("sums", '),
        "figure": text.replace('"sweep"', '"cake"'),
    }
    sys.modules.pop("wide_targets")
    (tmp_path / "wrong_targets.py").write_text(wrong[what])
    out = ("--out", "wide.svg") if what == "figure" else ()
    options = ("--import", "wrong_targets", "--store", "store", *out)
    result = CliRunner().invoke(app, ["study", what, "wide", *options])
    sys.modules.pop("wrong_targets", None)
    assert result.exit_code == 2
    assert f"the kind of {what} of wide must be one of 'errors', " in result.output
