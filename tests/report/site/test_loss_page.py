"""The page on the loss: its numbers are the library's, to the last digits."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy import special

from histreg import Bins, targets, theory
from histreg.report.site.loss_page import RANGE, recommended_bias, snapshots_of
from tests.report.examples import SNAPSHOTS

LOW, HIGH = RANGE
GRID = list(
    product(
        (10, 33, 100, 200),  # bins
        (2.0**-4, 2.0**-1.5, 0.3, 1.0, 2.0, 8.0),  # sigma in bins
        (0.0, 0.5, 3.0, 8.0),  # padding in sigmas
        (LOW, 0.1, 12.5, 37.0, 99.9, HIGH),  # y
    )
)
RELATIVE = 1e-9
# A bias is a sum of differences as large as a bin, or as sigma, that cancel.
OF_A_BIN = 1e-13


@pytest.fixture(scope="module")
def page(site, browser):
    browser.get((site / "loss.html").as_uri())
    return browser


def in_browser(page, grid):
    names = ("nBins", "sigmaInBins", "paddingInSigmas", "y")
    asked = [dict(zip(names, each, strict=True)) for each in grid]
    for each in asked:
        each |= {"yMin": LOW, "yMax": HIGH}
    return page.execute_script(
        "return arguments[0].map((each) => histregLoss.target(each))", asked
    )


def test_erf_and_erfc_are_those_of_scipy(page):
    x = np.concatenate([np.linspace(-7, 7, 2001), np.linspace(7, 26, 500)])
    erf, erfc = (
        page.execute_script(f"return arguments[0].map(histregLoss.{name})", x.tolist())
        for name in ("erf", "erfc")
    )
    np.testing.assert_allclose(erf, special.erf(x), rtol=1e-15)
    # Both have an exponential of up to -x ** 2, whose rounding is multiplied.
    np.testing.assert_allclose(erfc, special.erfc(x), rtol=2e-13)


def test_the_numbers_of_the_page_are_those_of_python(page):
    n_refused = 0
    for each, found in zip(GRID, in_browser(page, GRID), strict=True):
        n_bins, sigma_in_bins, padding_in_sigmas, y = each
        how = {
            "n_bins": n_bins,
            "sigma_in_bins": sigma_in_bins,
            "padding_in_sigmas": padding_in_sigmas,
        }
        if n_bins <= 2 * sigma_in_bins * padding_in_sigmas:
            n_refused += 1
            assert found is None, each
            with pytest.raises(ValueError, match="must exceed"):
                Bins.around(LOW, HIGH, **how)
            continue
        bins = Bins.around(LOW, HIGH, **how)
        sigma = sigma_in_bins * bins.width
        at = torch.tensor([y], dtype=torch.float64)
        probs = targets.gaussian(at, bins, sigma=sigma)
        bias = theory.label_bias(at, bins, probs)
        own = torch.bucketize(at, bins.borders[1:-1], right=True)
        offset = (at - bins.centers[own]).clamp(-bins.width / 2, bins.width / 2)
        expected = {
            "bias": bias,
            "discretisation": theory.discretization_bias(
                offset, sigma=sigma, width=bins.width
            ),
            "truncation": theory.truncation_bias(
                at, low=bins.low, high=bins.high, sigma=sigma
            ),
        }
        nothing = OF_A_BIN * bins.width * max(1, sigma_in_bins)
        for name, value in expected.items():
            close = pytest.approx(value.item(), rel=RELATIVE, abs=nothing)
            assert found[name] == close, (each, name)
        # The library leaves out what lies beyond some sigmas, below this.
        np.testing.assert_allclose(found["probs"], probs[0], rtol=1e-9, atol=1e-13)
        assert found["mean"] == pytest.approx(y + bias.item(), rel=1e-12, abs=nothing)
        entropy = torch.special.entr(probs).sum().item()
        assert found["entropy"] == pytest.approx(entropy, rel=RELATIVE, abs=1e-12)
        borders = bins.borders.numpy()
        np.testing.assert_allclose(found["bins"]["borders"], borders, atol=1e-12)
    assert 0 < n_refused < len(GRID) / 3


def test_moving_a_slider_changes_the_numbers_and_the_drawing(page):
    def told():
        names = ("mean", "bias", "truncation", "discretisation", "entropy")
        return page.execute_script(
            "return [...arguments[0].map((n) => document.getElementById(`${n}-told`)"
            ".textContent), document.querySelector('#target .bars').getAttribute('d')]",
            names,
        )

    def move(slider, value):
        page.execute_script(
            "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('input', {bubbles: true}))",
            slider,
            value,
        )

    page.refresh()
    before = told()
    for slider, value in (("y", 99.3), ("padding", 0.5), ("sigma", -3), ("n-bins", 31)):
        move(slider, value)
        after = told()
        assert after != before, slider
        before = after
    move("sigma", 3)
    move("padding", 8)
    assert page.find_element("id", "no-bins").is_displayed()
    page.find_element("css selector", "button[type=reset]").click()
    page.execute_async_script("setTimeout(arguments[0], 50)")
    assert not page.find_element("id", "no-bins").is_displayed()
    assert page.find_element("id", "sigma-told").text == "2 bins"


def test_the_epochs_play_and_can_be_chosen(page):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    page.refresh()
    epoch = page.find_element("id", "epoch")
    told = page.find_element("id", "epoch-told")
    row = page.find_element("id", "row-0-told")
    assert told.text == "1" and "truth 100" in row.text
    first = row.text
    epoch.send_keys(Keys.ARROW_RIGHT)
    assert told.text == "5" and row.text != first
    epoch.send_keys(Keys.END)
    assert told.text == "50"
    # All mass in the bin from 100 to 112.5.
    assert "predicted mean 106.3" in row.text
    # From the first again, as it is at the last. Pressed and read in one script: on a
    # busy machine all epochs could be over between two commands.
    after = page.execute_script(
        "const [play, told] = ['play', 'epoch-told'].map((id) =>"
        " document.getElementById(id)), found = [];"
        "for (let i = 0; i < 2; i++) {"
        " play.click(); found.push([told.textContent, play.textContent]); }"
        "return found"
    )
    assert after == [["1", "Pause"], ["1", "Play"]]
    page.find_element("id", "play").send_keys(Keys.ENTER)
    WebDriverWait(page, 30).until(lambda _: told.text == "50")
    assert page.find_element("id", "play").text == "Play"


def test_snapshots_have_borders_epochs_and_rows():
    found = snapshots_of(SNAPSHOTS)
    assert (found["title"], found["seed"]) == ("Bike Sharing", 1)
    assert found["borders"][:2] == [-125.0, -112.5] and len(found["borders"]) == 101
    assert found["epochs"] == [1, 5, 50]
    assert [row["y"] for row in found["rows"]] == [100.0, 500.0]
    assert found["rows"][0]["probs"][2][18] == 1.0
    assert len(found["rows"][1]["probs"]) == 3


def test_without_a_record_there_are_no_snapshots():
    assert snapshots_of([]) is None


def test_the_bias_of_the_recommendation_is_that_of_an_end_three_sigmas_away():
    # Two bins times phi(3) / Phi(3), for one end; the other one is far away.
    density = np.exp(-4.5) / np.sqrt(2 * np.pi)
    assert recommended_bias() == pytest.approx(2 * density / special.ndtr(3), rel=1e-9)
