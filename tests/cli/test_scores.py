"""Scores: noted as JSON, read again, printed."""

import json
import math
from dataclasses import asdict, replace

import pytest

from histreg.cli.scores import (
    percentiles_from_notes,
    print_scores,
    scores_from_notes,
    scores_to_notes,
    verdict_from_notes,
)
from histreg.tabular.scores import CensoredScores, Scores
from histreg.tabular.verdict import Estimate, Verdict

SCORES = Scores(1234.5, 2.0, 3.0, 4.0, 0.912, math.inf, r2=0.25, skill=0.5)
CENSORED = CensoredScores(0.75, 1.5, 30.0)


@pytest.mark.parametrize(("scores", "column"), [(SCORES, None), (CENSORED, "alive")])
def test_scores_come_back_from_json(scores, column):
    noted = json.dumps(scores_to_notes({"mine": scores}), allow_nan=False)
    notes = {"scores": json.loads(noted), "n_tested": 3, "censored": column}
    assert scores_from_notes(notes) == {"mine": scores}


@pytest.mark.parametrize(
    "notes",
    [
        {},
        {"scores": "good", "n_tested": 3},
        {"scores": {"mine": {"mae": 1.0}}, "n_tested": 3},
        {"scores": {"mine": 1.0}, "n_tested": 3},
        {"scores": scores_to_notes({"mine": SCORES}), "n_tested": "3"},
        {"scores": scores_to_notes({"mine": SCORES}), "n_tested": 3, "censored": "c"},
    ],
)
def test_other_notes_have_no_scores(notes):
    assert scores_from_notes(notes) == {}


def test_percentiles_are_finite_numbers():
    assert percentiles_from_notes({"y_percentiles": [1, 2.5]}) == [1, 2.5]
    for other in ("many", [], [None], [math.inf]):
        assert percentiles_from_notes({"y_percentiles": other}) is None


def test_a_table_has_a_row_per_model(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    print_scores({"histogram": SCORES, "[l2]": SCORES}, 1000, "price [€]")
    shown = capsys.readouterr().out
    assert "1,000 held-out rows, in units of price [€]" in shown
    for words in ("histogram", "[l2]", "1,234", "91.2 %", "inf", "R²", "0.250"):
        assert words in shown
    assert "median" not in shown


@pytest.mark.parametrize(
    "coverage, n_rows, is_off", [(0.6, 500, True), (0.85, 20, False), (0.9, 500, False)]
)
def test_intervals_that_fail_are_named(capsys, coverage, n_rows, is_off):
    scores = {"histreg": replace(SCORES, coverage=coverage), "[l2]": SCORES}
    print_scores(scores, n_rows, "y")
    sentence = f"90 % intervals hold {100 * coverage:.1f} % of these rows"
    assert (sentence in capsys.readouterr().out) == is_off


def test_infinite_intervals_are_explained(capsys):
    print_scores({"mine": SCORES}, 30, "y")
    shown = " ".join(capsys.readouterr().out.split())
    assert "Some 90 % intervals are infinite: there are too few calibration" in shown
    print_scores({"mine": replace(SCORES, width=2.0)}, 30, "y")
    assert "infinite" not in capsys.readouterr().out


def test_a_constant_target_has_neither_skill_nor_r2(capsys):
    """Both divide by zero, and minus infinity says nothing to a reader."""
    scores = replace(SCORES, width=2.0, skill=-math.inf, r2=-math.inf)
    print_scores({"mine": scores}, 30, "y")
    assert "inf" not in capsys.readouterr().out


def test_notes_of_older_versions_have_neither_skill_nor_r2(capsys):
    noted = scores_to_notes({"mine": SCORES})
    for name in ("skill", "r2"):
        del noted["mine"][name]
    scores = scores_from_notes({"scores": noted, "n_tested": 3})
    assert math.isnan(scores["mine"].skill) and scores["mine"].crps == SCORES.crps
    print_scores(scores, 3, "y")
    assert "nan" not in capsys.readouterr().out


def test_the_verdict_comes_back_from_json(capsys):
    skill, r2 = Estimate(0.5, 0.4, 0.6), Estimate(0.7, 0.6, 0.8)
    for verdict in (Verdict(skill, r2), Verdict(skill, r2, "boosting", skill, r2)):
        noted = json.loads(json.dumps(asdict(verdict)))
        assert verdict_from_notes({"verdict": noted}) == verdict
    print_scores({"mine": SCORES}, 3, "y", verdict=verdict)
    shown = capsys.readouterr().out
    assert shown.startswith("Better than a constant (skill 50 %")
    assert "R² of mine: 0.700, 95 % interval 0.600 to 0.800." in shown
    for other in (
        "good",
        {},
        {"skill": 1.0},
        {**noted, "best": 3},
        {**noted, "r2": {}},
    ):
        assert verdict_from_notes({"verdict": other}) is None


def test_censored_rows_have_scores_of_their_own(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    print_scores({"histogram": CENSORED}, 60, "months")
    shown = capsys.readouterr().out
    assert "concordance" in shown and "CRPS up to 30" in shown and "0.750" in shown
    assert "RMSE" not in shown
