"""The page of a model: one file, whole, and right in a browser."""

import re

import numpy as np
import pytest

from histreg import HistogramRegressor
from histreg.report.model_page import LEVELS, ModelPage, write_page
from histreg.tabular.scores import scores_of
from tests.browser import chromium

PICTURES = 4 + 6


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
    assert html.count("<img") == PICTURES == html.count(' alt="')
    for address in re.findall(r'(?:src|href)="([^"]+)"', html):
        assert address.startswith("data:")
    assert "price &lt;&amp;&gt;" in html and "price <&>" not in html


def test_a_page_of_few_rows_is_drawn(page, tmp_path):
    _, model, X, y = page
    few = ModelPage.of(model, X[:2], y[:2], target="y", source="t.csv")
    write_page(few, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.parametrize("width", [1200, 400])
def test_a_browser_shows_every_picture_and_complains_of_nothing(page, tmp_path, width):
    path = tmp_path / "page.html"
    write_page(page[0], path)
    with chromium(tmp_path / "profile", width=width) as browser:
        browser.get(path.as_uri())
        sizes = browser.execute_script(
            "return [...document.images].map(i => [i.naturalWidth, i.clientWidth])"
        )
        assert len(sizes) == PICTURES
        assert all(natural > 100 and shown > 100 for natural, shown in sizes)
        overflow = browser.execute_script(
            "return document.documentElement.scrollWidth - window.innerWidth"
        )
        assert overflow <= 0
        assert browser.get_log("browser") == []
