"""The examples: they run from any folder, and what they print is true."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.pages import script

EXAMPLES = Path(__file__).parents[1] / "examples"


def printed(name: str, folder: Path, *arguments: str) -> str:
    """Return what an example prints, run as a user does."""
    result = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_forecaster_is_better_than_the_last_value_and_knows_how_sure_it_is(
    tmp_path,
):
    shown = printed("forecaster.py", tmp_path, "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 0
    numbers = re.findall(r"\d\.\d\d", shown)
    error, of_last, covered = map(float, numbers)
    # The noise is 0.4 on average, whose mean size is 0.4 sqrt(2 / pi) = 0.32.
    assert error < 0.35 < 0.8 < of_last
    assert 0.87 < covered < 0.97


def test_the_forecaster_without_its_drawing_fits_on_a_screen():
    program, _ = (EXAMPLES / "forecaster.py").read_text().split("# %%")
    _, program = program.split("import torch\n", 1)
    assert len(program.splitlines()) < 40


def test_an_agent_learns_values_over_the_range_of_its_returns(tmp_path):
    lines = printed("value_learning.py", tmp_path, "1500").splitlines()
    assert len(lines) == 10
    lengths = [float(re.search(r"lasted +([\d.]+)", line)[1]) for line in lines]
    assert all(8 < length < 500 for length in lengths)  # no pole falls sooner
    highs = [float(re.search(r"high=([\d.]+)", line)[1]) for line in lines]
    # 1 / (1 - 0.99) and padding: no return reaches it, so that the bins stay.
    assert min(highs) == max(highs) > 100


def test_the_bins_of_an_agent_grow_if_rewards_are_larger_than_expected(capsys):
    example = script("value_learning.py", "examples")
    example.REWARD = 0.01
    example.main(1500)
    lines = capsys.readouterr().out.splitlines()
    highs = [float(re.search(r"high=([\d.]+)", line)[1]) for line in lines]
    # Bins begin at [0, 1]. A return is one more for each step the pole stands, and is
    # learnt step by step; where bins did not grow it would be cut off.
    assert 1 < highs[0] < 2 and highs[-1] >= 3 and highs == sorted(highs)


def test_an_agent_with_the_squared_error_differs_in_four_lines():
    text = (EXAMPLES / "value_learning.py").read_text()
    body, rest = text[text.index("class Values") :].split("def learn", 1)
    of_histograms = re.findall(r"^.*(?:Histogram|rl\.|distribution).*$", body, re.M)
    assert len(of_histograms) == 4
    assert not re.search(r"Histogram|rl\.|distribution", rest)


def test_an_agent_learns_from_several_games_at_once(tmp_path):
    lines = printed("vector_value_learning.py", tmp_path, "300").splitlines()
    assert len(lines) == 5
    lasted = [float(re.search(r"lasted +([\d.]+)", line)[1]) for line in lines]
    assert all(8 < length < 500 for length in lasted)  # no pole falls sooner


@pytest.mark.slow
def test_the_network_draws_its_figure(tmp_path):
    assert "CRPS" in printed("network.py", tmp_path, "network.png")
    assert (tmp_path / "network.png").stat().st_size > 0


def started(rank: int, n_processes: int, port: int, folder: Path, steps: int):
    """Start one process of the distributed training, as torchrun does."""
    facts = {"RANK": rank, "WORLD_SIZE": n_processes, "STEPS": steps}
    facts |= {"MASTER_PORT": port, "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": 1}
    return subprocess.Popen(
        [sys.executable, str(EXAMPLES / "distributed.py"), "weights.safetensors"],
        env={**os.environ, **{name: str(fact) for name, fact in facts.items()}},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_two_processes_train_the_network_of_one(tmp_path):
    weights = []
    for n in (1, 2):
        folder = tmp_path / str(n)
        folder.mkdir()
        port = free_port()
        processes = [started(rank, n, port, folder, steps=60) for rank in range(n)]
        shown = [process.communicate()[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * n
        assert "60 steps" in shown[0]
        weights.append(load_file(folder / "weights.safetensors"))
    one, two = weights
    for name, tensor in one.items():
        # Sums of 256 float32 gradients in another order, over 60 steps of Adam.
        torch.testing.assert_close(two[name], tensor, rtol=1e-4, atol=1e-5)
    torch.manual_seed(0)
    first = torch.nn.Linear(2, 64).weight
    assert (one["0.weight"] - first).abs().max() > 0.01  # they were trained at all


def test_a_lost_process_is_one_sentence_and_writes_nothing(tmp_path):
    port = free_port()
    first, second = (started(rank, 2, port, tmp_path, steps=10**6) for rank in (0, 1))
    with first, second:
        try:
            number = re.search(r"number (\d+)", second.stdout.readline())[1]
            assert int(number) == second.pid
            second.stdout.readline()  # both are connected
            second.kill()
            _, errors = first.communicate()
        finally:
            first.kill()
            second.kill()
    assert first.returncode == 1
    assert "another process was lost, so nothing was written" in errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
