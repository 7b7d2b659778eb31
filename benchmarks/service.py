"""The service under load: requests per second, and whether every answer is right.

Fits a small model, serves it on loopback by ``histreg serve`` in a process of its own,
and asks with many clients at once, each with rows of its own. Every answer is compared
with the prediction of the model in this process: the answer of another request would
differ by far more than rounding does. Requests per second depend on what else the
machine does, the processor time of the server hardly:

    python benchmarks/service.py --clients 64 --requests 50
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import numpy as np

from histreg import HistogramRegressor

LEVELS = [0.05, 0.5, 0.95]
# Of the standard deviation of y: networks compute in float32, and their sums depend on
# how many rows are predicted together.
TOLERANCE = 1e-4
START_S = 300  # until the server answers


def fitted() -> tuple[HistogramRegressor, np.ndarray]:
    """Return a model with the default networks, and rows to ask about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=2000)
    model = HistogramRegressor(max_iter=2, random_state=0)
    return model.fit(X[:1500], y[:1500]).calibrate(X[1500:], y[1500:]), X


async def load(
    url: str, X: np.ndarray, clients: int, requests: int, rows: int
) -> tuple[dict, float]:
    """Return times and answers of requests, by client and number, and the seconds."""
    found: dict[tuple[int, int], tuple[float, list[int], dict]] = {}

    async def client(i: int, http: httpx.AsyncClient) -> None:
        for j in range(requests):
            rng = np.random.default_rng((i, j))
            chosen = rng.integers(len(X), size=rows).tolist()
            cells = [dict(zip(NAMES, X[k].tolist(), strict=True)) for k in chosen]
            body = {"rows": cells, "quantiles": LEVELS, "interval": 0.9}
            start = time.perf_counter()
            answer = await http.post("/predict", content=json.dumps(body))
            elapsed = time.perf_counter() - start
            assert answer.status_code == 200, answer.text
            found[i, j] = elapsed, chosen, answer.json()

    async with AsyncExitStack() as stack:
        all_http = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=url, timeout=600, verify=False)
            )
            for _ in range(clients)
        ]
        for http in all_http:  # connects, which is not what is measured
            await http.get("/health")
        start = time.perf_counter()
        await asyncio.gather(*(client(i, http) for i, http in enumerate(all_http)))
        return found, time.perf_counter() - start


NAMES = [f"x{i}" for i in range(8)]


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    """Return when the server answers; raise if it ends or takes too long."""
    end = time.monotonic() + START_S
    while True:
        try:
            httpx.get(f"{url}/health")
            return
        except httpx.ConnectError:
            if process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.2)


def server_cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Return the processor time that a process has used, from Linux's /proc."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Serve, ask, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=50, help="of each client")
    parser.add_argument("--rows", type=int, default=1, help="of each request")
    options = parser.parse_args()
    model, X = fitted()
    means, quantiles = model.predict(X), model.predict_quantiles(X, LEVELS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        process = subprocess.Popen(
            [sys.executable, "-m", "histreg", "serve", "model", "--port", str(port)],
            cwd=folder,
        )
        try:
            wait_for(url, process)
            asyncio.run(load(url, X, 4, 5, options.rows))  # warm
            before = server_cpu_s(process)
            found, elapsed = asyncio.run(
                load(url, X, options.clients, options.requests, options.rows)
            )
            cpu = server_cpu_s(process) - before
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
    n = options.clients * options.requests
    assert len(found) == n, "an answer was lost"
    differences = []
    for _, rows, answer in found.values():
        for k, row in zip(rows, answer["predictions"], strict=True):
            expected = [means[k], *quantiles[k]]
            given = [row["y_mean"], *(row[f"y_q{level:g}"] for level in LEVELS)]
            differences.append(np.abs(np.subtract(expected, given)).max())
    times = np.array([seconds for seconds, _, _ in found.values()])
    print(f"{n:,} requests of {options.rows} rows by {options.clients} clients")
    print(f"{n / elapsed:,.0f} requests/s, {n * options.rows / elapsed:,.0f} rows/s")
    for share in (50, 99):
        print(f"p{share}: {1000 * np.percentile(times, share):,.0f} ms")
    print(f"processor time of the server: {1000 * cpu / n:.1f} ms a request")
    largest = max(differences) / np.std(means)
    wrong = sum(difference > TOLERANCE * np.std(means) for difference in differences)
    print(f"largest difference from the model: {largest:.0e} standard deviations")
    print(f"rows with the prediction of another one: {wrong}")


if __name__ == "__main__":
    main()
