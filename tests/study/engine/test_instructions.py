import os
import subprocess
import sys

import pytest

from histreg.study.engine import instructions
from histreg.study.engine.instructions import (
    VARIABLE,
    numpy_is_faster,
    workers_without_avx512,
)


def capability_of_a_new_process():
    code = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_workers_compute_without_avx512_and_later_processes_as_before(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    here = capability_of_a_new_process()
    monkeypatch.setattr(
        "torch.backends.cpu.get_cpu_capability", lambda: here.removesuffix("\n")
    )
    with workers_without_avx512():
        assert capability_of_a_new_process() == here.replace("AVX512", "AVX2")
    assert VARIABLE not in os.environ


def test_instructions_that_the_user_has_chosen_stay(monkeypatch):
    monkeypatch.setenv(VARIABLE, "default")
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "AVX512")
    with workers_without_avx512():
        assert os.environ[VARIABLE] == "default"
    assert os.environ[VARIABLE] == "default"


@pytest.mark.parametrize(
    ("is_of_amd", "core", "is_faster"),
    [
        (True, "SkylakeX", True),
        (True, "Zen", False),
        (True, None, False),
        (False, "SkylakeX", False),
    ],
)
def test_numpy_is_faster_where_it_alone_multiplies_with_avx512(
    is_of_amd, core, is_faster, monkeypatch
):
    monkeypatch.setattr(instructions, "_is_of_amd", lambda: is_of_amd)
    monkeypatch.setattr(instructions, "openblas_core", lambda: core)
    monkeypatch.setattr("torch.backends.mkl.is_available", lambda: True)
    assert numpy_is_faster() == is_faster
    monkeypatch.setattr("torch.backends.mkl.is_available", lambda: False)
    assert not numpy_is_faster()
