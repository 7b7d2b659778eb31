"""The command that serves: a process that answers until it is stopped."""

import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

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


def test_a_process_answers_until_it_is_stopped(place):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "histreg", "serve", "model", "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                assert httpx.get(f"{url}/health").json() == {"status": "ok"}
                break
            except httpx.ConnectError:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.1)
        row = {"size": 80, "kind": "flat", "zone": "1"}
        answer = httpx.post(f"{url}/predict", json={"rows": [row], "interval": 0.9})
        (found,) = answer.json()["predictions"]
        assert found["price_lower_90"] < found["price_mean"] < found["price_upper_90"]
        taken = subprocess.run(command, cwd=place, capture_output=True, text=True)
        assert taken.returncode == 2
        assert f"could not listen on 127.0.0.1:{port}" in taken.stderr
    finally:
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=60)
    assert f"Serving price on {url}" in shown
    assert (errors, process.returncode) == ("", 0)
