"""The service under load: requests per second, and whether every answer is right.

Fits a small model, serves it on loopback by ``histreg serve`` in a process of its own,
and asks with many clients at once, each with rows of its own. Every answer is compared
with the prediction of the model in this process, to the bit. Run it alone on a machine:

    python benchmarks/service.py --clients 64 --requests 50
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from histreg import HistogramRegressor

LEVELS = [0.05, 0.5, 0.95]


def fitted() -> tuple[HistogramRegressor, np.ndarray]:
    """Return a model with the default networks, and rows to ask about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=2000)
    model = HistogramRegressor(max_iter=2, random_state=0)
    return model.fit(X[:1500], y[:1500]).calibrate(X[1500:], y[1500:]), X


async def load(url: str, X: np.ndarray, clients: int, requests: int, rows: int) -> dict:
    """Return times and answers of all requests, by client and number."""
    found: dict[tuple[int, int], tuple[float, list[int], dict]] = {}

    async def client(i: int) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=600) as http:
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

    await asyncio.gather(*(client(i) for i in range(clients)))
    return found


NAMES = [f"x{i}" for i in range(8)]


def main() -> None:
    """Serve, ask, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=50, help="of each client")
    parser.add_argument("--rows", type=int, default=1, help="of each request")
    options = parser.parse_args()
    model, X = fitted()
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
            while True:
                try:
                    httpx.get(f"{url}/health")
                    break
                except httpx.ConnectError:
                    time.sleep(0.2)
            asyncio.run(load(url, X, 4, 5, options.rows))  # warm
            start = time.perf_counter()
            found = asyncio.run(
                load(url, X, options.clients, options.requests, options.rows)
            )
            elapsed = time.perf_counter() - start
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()
    n = options.clients * options.requests
    assert len(found) == n, "an answer was lost"
    means, quantiles = model.predict(X), model.predict_quantiles(X, LEVELS)
    wrong = 0
    for _, rows, answer in found.values():
        for k, row in zip(rows, answer["predictions"], strict=True):
            expected = [means[k], *quantiles[k]]
            given = [row["y_mean"], *(row[f"y_q{level:g}"] for level in LEVELS)]
            wrong += expected != given
    times = np.array([seconds for seconds, _, _ in found.values()])
    print(f"{n:,} requests of {options.rows} rows by {options.clients} clients")
    print(f"{n / elapsed:,.0f} requests/s, {n * options.rows / elapsed:,.0f} rows/s")
    for share in (50, 99):
        print(f"p{share}: {1000 * np.percentile(times, share):,.0f} ms")
    print(f"answers that differ from the model: {wrong}")


if __name__ == "__main__":
    main()
