"""The page of a model: one file, whole, and right in a browser."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from histreg import Histogram, HistogramRegressor, metrics
from histreg.report.model_page import LEVELS, ModelPage, write_page
from histreg.tabular import column_importance, partial_dependence
from histreg.tabular.group_scores import scores_by_group
from histreg.tabular.scores import row_scores_of, scores_of
from histreg.tabular.verdict import Estimate, Verdict
from tests.browser import chromium

# Fixed ones, examples, importance, and dependence and groups of three columns.
PICTURES = 5 + 6 + 2 + 3 + 3


@pytest.fixture(scope="module")
def page():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = 100 * X[:, 0] + rng.normal(size=300)
    model = HistogramRegressor((16,), max_iter=5, random_state=0)
    model.fit(X[:200], y[:200]).calibrate(X[200:], y[200:])
    return (
        ModelPage.of(model, X, y, target="price <&>", source="table.csv"),
        model,
        X,
        y,
    )


def test_the_contents_are_what_the_model_predicts(page):
    found, model, X, y = page
    assert found.scores == scores_of(model.predict_all(X), y)
    lower, upper = model.predict_interval(X, 0.9)
    covered = ((lower <= y) & (y <= upper)).mean()
    at_90 = LEVELS.tolist().index(0.9)
    assert found.coverage["calibrated"][at_90] == covered
    assert set(found.coverage) == {"as predicted", "calibrated"}


def test_the_page_is_one_file_without_links_to_others(page, tmp_path):
    path = tmp_path / "page.html"
    write_page(page[0], path)
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    html = path.read_text()
    assert html.count("<svg") == PICTURES == html.count(' aria-label="')
    assert len(html) < 300_000
    names = re.findall(r' id="([^"]+)"', html)
    assert len(names) == len(set(names))
    for address in re.findall(r'(?:src|href)="([^"]+)"', html):
        assert address.startswith(("data:", "#"))
    assert "price &lt;&amp;&gt;" in html and "price <&>" not in html


def test_a_page_of_few_rows_is_drawn(page, tmp_path):
    _, model, X, y = page
    few = ModelPage.of(model, X[:2], y[:2], target="y", source="t.csv")
    write_page(few, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 1000


def test_a_page_of_one_time_shows_no_course_over_it(page_of_frame, tmp_path):
    """Matplotlib would warn that it finds no interval for the dates."""
    _, model = page_of_frame
    X, y = flats()
    one = ModelPage.of(model, X[:1], y[:1], target="price", source="t.csv")
    write_page(one, tmp_path / "page.html")
    assert "Over sold" not in (tmp_path / "page.html").read_text()


def flats(n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.uniform(30, 150, n),
            "district": rng.choice(["north", "<south>"], n),
            "sold": pd.date_range("2020-01-01", periods=n),
        }
    )
    return X, (1000 * X["size"] + 9000 * rng.normal(size=n)).to_numpy()


@pytest.fixture(scope="module")
def page_of_frame():
    X, y = flats()
    model = HistogramRegressor((16,), n_estimators=1, max_iter=20, random_state=0)
    model.fit(X[:200], y[:200])
    model.notes_ = {
        "y_percentiles": np.percentile(y[:200], range(101)).tolist(),
        "n_tested": 40,
        "source": "flats.csv",
    }
    rows = row_scores_of(model.predict_all(X[200:]), y[200:])
    better = Verdict(Estimate(0.5, 0.4, 0.6), Estimate(0.7, 0.6, 0.8))
    level = replace(
        better,
        best="boosting",
        gain=Estimate(0.0, -0.1, 0.1),
        calibration=Estimate(0.16, 0.12, 0.2),
    )
    page = ModelPage.of(
        *(model, X[200:], y[200:]),
        target="price",
        source="test.csv",
        noted_scores={"histogram": rows.means(), "boosting": rows.means()},
        noted_verdict=level,
        row_numbers=list(range(201, 301)),
    )
    return page, model


def test_questions_are_answered_in_order(page_of_frame, tmp_path):
    page, _ = page_of_frame
    write_page(page, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    answers = [
        str(page.verdict),
        "Is it better than simple models?",
        "What is in the table?",
        "Which columns matter, and how?",
        "price by size",
        "What is predicted?",
        "Can the intervals be trusted?",
        "Can they be trusted in each group?",
        "Where is it most wrong?",
        "Over sold",
        "What to do next",
    ]
    assert "At the time of the fit: The simple model boosting is as good" in html
    assert "the calibrated distribution (<code>predict --calibrated</code>" in html
    r2 = page.verdict.r2
    assert f"its 95 % interval is {r2.low:.3f} to {r2.high:.3f}" in html
    places = [html.index(answer) for answer in answers]
    assert places == sorted(places)
    assert "<code>histreg tune</code>" in html and "`" not in html
    assert "&lt;south&gt;" in html and "<south>" not in html


def test_a_peak_at_the_end_of_the_bins_is_explained(page_of_frame, tmp_path):
    page, _ = page_of_frame
    probs = torch.full((len(page.y), page.distribution.bins.n_bins), 1.0)
    probs[:, -1] = 10.0
    bins = page.distribution.bins
    piled = replace(page, distribution=Histogram(bins, probs=probs / probs.sum(-1)[0]))
    few_values = replace(piled, has_few_values=True)
    for one, is_explained in ((page, False), (piled, True), (few_values, False)):
        write_page(one, tmp_path / "page.html")
        html = (tmp_path / "page.html").read_text()
        assert ("A peak at the very end" in html) == is_explained


def test_the_worst_rows_are_those_with_the_largest_crps(page_of_frame):
    page, model = page_of_frame
    X, y = flats()
    crps = metrics.crps(model.predict_dist(X[200:]), y[200:]).numpy()
    expected = 201 + np.argsort(-crps)[: len(page.worst)]
    assert [row.number for row in page.worst] == expected.tolist()
    worst = page.worst[0]
    assert worst.y == y[worst.number - 1] and worst.crps == crps.max()
    assert page.shown_columns == tuple(page.importance.ranked())
    place = page.shown_columns.index("district")
    assert worst.cells[place] == X["district"][worst.number - 1]


def test_importance_and_dependence_are_those_of_the_functions(page_of_frame):
    page, model = page_of_frame
    X, y = flats()
    importance = column_importance(
        *(model, X[200:], y[200:]), of=("spread",), n_repeats=2, random_state=0
    )
    assert page.importance.rows() == importance.rows()
    assert importance.ranked()[0] == "size"
    by_size = partial_dependence(
        *(model, X[200:], "size"), n_values=12, max_rows=200, random_state=0
    )
    assert page.dependences[0].rows() == by_size.rows()


def test_groups_are_those_of_important_columns_or_of_the_ones_asked_for(
    page_of_frame,
):
    page, model = page_of_frame
    assert {by.column for by in page.by_group} == {"size", "district", "sold"}
    X, y = flats()
    street = pd.DataFrame({"street": ["high", "low"] * 50})
    asked = ModelPage.of(
        *(model, X[200:], y[200:]),
        target="price",
        source="test.csv",
        beside=street,
        by=["street"],
    )
    (by,) = asked.by_group
    lower, upper = model.predict_interval(X[200::2], 0.9)
    covered = ((lower <= y[200::2]) & (y[200::2] <= upper)).mean()
    high = by.groups[0]
    assert (high.name, high.n_rows, high.scores.coverage) == ("high", 50, covered)


def test_a_column_that_was_asked_for_and_has_small_groups_is_named(
    page_of_frame, tmp_path
):
    _, model = page_of_frame
    X, y = flats()
    streets = pd.DataFrame({"street": ["high"] * 95 + ["low"] * 5})
    page = ModelPage.of(
        *(model, X[200:], y[200:]),
        target="price",
        source="test.csv",
        beside=streets,
        by=["street", "district"],
    )
    assert [by.column for by in page.by_group] == ["district"]
    write_page(page, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert "Groups of street are not compared: fewer than two of them have at" in html
    assert "Groups of district" not in html


def test_a_group_whose_intervals_fail_is_named_in_the_next_steps(page_of_frame):
    page, _ = page_of_frame
    X, _ = flats()
    is_north = (X["district"] == "north").to_numpy()[200:]
    rows = replace(page.rows, covered=np.where(is_north, 0.75, 0.97))
    by = scores_by_group(rows, "district", "label", X["district"].to_numpy()[200:])
    steps = " ".join(replace(page, by_group=(by,)).next_steps)
    assert "Do not rely on 90 % intervals where district is north: they cover 75 %" in (
        steps
    )


def test_the_skill_is_that_over_the_training_targets(page_of_frame):
    page, _ = page_of_frame
    _, y = flats()
    learnt = y[:200]
    spread = np.abs(learnt[:, None] - learnt).mean() / 2
    constant = np.mean([np.abs(learnt - one).mean() for one in y[200:]]) - spread
    expected = 1 - page.scores.crps / constant
    # The training targets are known by their percentiles.
    assert page.verdict.skill.value == pytest.approx(expected, abs=3e-4)


def test_a_day_is_shown_without_hours(page_of_frame):
    page, _ = page_of_frame
    place = page.shown_columns.index("sold")
    days = [row.cells[place] for row in page.worst]
    assert all(re.fullmatch(r"2020-\d\d-\d\d", day) for day in days)


def test_next_steps_follow_from_what_was_found(page_of_frame):
    page, _ = page_of_frame
    steps = " ".join(page.next_steps)
    assert "If you need no distribution, use boosting" in steps
    assert "Calibrate the intervals" in steps and "Do not use" not in steps
    assert "Ask for calibrated quantiles and probabilities" in steps
    useless = Verdict(Estimate(0.0, -0.1, 0.1), Estimate(0.0, -0.1, 0.1))
    first = replace(page, verdict=useless, is_training_table=True).next_steps
    assert "rows that the model has not seen" in first[0]
    assert "Do not use this model: it is not clearly better" in first[1]
    few = replace(page, verdict=replace(useless, n_rows=3)).next_steps
    assert "Test the model on more rows" in few[0]
    off = {"as predicted": LEVELS, "calibrated": LEVELS}
    covered = replace(page.rows, covered=np.zeros(100))
    steps = replace(page, coverage=off, rows=covered).next_steps
    assert any("cover 0.0 % of these rows" in step for step in steps)
    endless = replace(page.rows, width=np.full(100, np.inf))
    steps = replace(page, rows=endless).next_steps
    assert any("intervals are infinite" in step for step in steps)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_every_picture_and_complains_of_nothing(
    page_of_frame, tmp_path, width
):
    path = tmp_path / "page.html"
    write_page(page_of_frame[0], path)
    with chromium(tmp_path / "profile", width=width) as browser:
        # A window may be wider than asked for; the emulated screen is not.
        metrics_of_screen = {"width": width, "height": 900, "mobile": False}
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {**metrics_of_screen, "deviceScaleFactor": 1},
        )
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            browser.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [feature]}
            )
            browser.get(path.as_uri())
            sizes = browser.execute_script(
                "return [...document.querySelectorAll('svg.figure')]"
                ".map(s => s.getBoundingClientRect().width)"
            )
            assert len(sizes) == PICTURES + 1 and min(sizes) > 100
            overflow = browser.execute_script(
                "return document.documentElement.scrollWidth - window.innerWidth"
            )
            assert overflow <= 0
            text, paper = browser.execute_script(
                "const text = document.querySelector('svg.figure text');"
                "return [getComputedStyle(text).fill,"
                " getComputedStyle(document.body).backgroundColor]"
            )
            light = [
                sum(map(int, re.findall(r"\d+", each)[:3])) for each in (text, paper)
            ]
            assert (light[0] > light[1]) == (scheme == "dark")
            assert abs(light[0] - light[1]) > 300  # of 765: readable
        assert browser.get_log("browser") == []
