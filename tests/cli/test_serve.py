"""The command that serves: a process that answers until it is stopped."""

import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest

from tests.browser import chromium
from tests.cli.running import assert_refused


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["serve", "no"], "must be a folder with a model.json"),
        (["serve", "model", "--port", "0"], "--port must be a whole number of at leas"),
        (["serve", "model", "--port", "70000"], "--port must be at most 65535"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(bad_tables, arguments, sentence):
    assert_refused(bad_tables, arguments, sentence)


@contextmanager
def service(folder):
    """Yield the process of a service, its command and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "histreg", "serve", "model", "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(3000):
            try:
                assert httpx.get(f"{url}/health").json() == {"status": "ok"}
                break
            except httpx.ConnectError:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.1)
        yield command, url
    finally:
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=60)
    assert f"Serving price on {url}" in shown
    assert (errors, process.returncode) == ("", 0)


def test_a_process_answers_until_it_is_stopped(place):
    with service(place) as (command, url):
        row = {"size": 80, "kind": "flat", "zone": "1"}
        answer = httpx.post(f"{url}/predict", json={"rows": [row], "interval": 0.9})
        (found,) = answer.json()["predictions"]
        assert found["price_lower_90"] < found["price_mean"] < found["price_upper_90"]
        taken = subprocess.run(command, cwd=place, capture_output=True, text=True)
        assert taken.returncode == 2
        listening = url.removeprefix("http://")
        assert f"could not listen on {listening}" in taken.stderr


def test_the_page_predicts_what_was_typed_and_shows_errors(place, tmp_path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    with service(place) as (_, url), chromium(tmp_path, width=400) as browser:
        browser.get(url)
        wait = WebDriverWait(browser, 60)
        wait.until(lambda page: page.find_elements(By.ID, "column2"))

        def text(name):
            return browser.find_element(By.ID, name).text

        def ask(**cells):
            for name, value in cells.items():
                field = browser.find_element(By.ID, name)
                field.clear()
                field.send_keys(value)
            browser.find_element(By.TAG_NAME, "button").click()

        ask(column0="80", column1="flat", column2="1", above="90000")
        wait.until(lambda _: "price_mean" in text("result"))
        rows = [{"size": 80, "kind": "flat", "zone": "1"}]
        asked = {"rows": rows, "interval": 0.9, "above": 90000}
        answer = httpx.post(f"{url}/predict", json=asked).json()
        expected = answer["predictions"][0]["price_mean"]
        shown = float(text("result").split()[1].replace(",", ""))
        assert shown == pytest.approx(expected, rel=1e-4)
        assert "price_above_90000" in text("result")
        assert "mean and interval" in text("picture")
        beyond = "return document.documentElement.scrollWidth - innerWidth"
        assert browser.execute_script(beyond) <= 0
        ask(quantiles="half")
        wait.until(lambda _: text("error"))
        assert "quantiles must be a number or a list of them, got ['half']" in (
            text("error")
        )
        assert not text("result") and not text("picture")
