import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from histreg.study.engine import instructions

NAMES = ("ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE")


@pytest.fixture(scope="module")
def told():
    """What a process says of itself, and one that it starts after its choice."""
    show = (
        "import json, torch, numpy;"
        "from histreg.study.engine.environment import environment;"
        "from histreg.study.engine.instructions import numpy_is_faster;"
        "print(json.dumps(environment() | {'faster': numpy_is_faster()}));"
    )
    choose = (
        "from histreg.study.engine.instructions import choose_instructions as choose;"
        f"choose(); import subprocess, sys;"
        f"subprocess.run([sys.executable, '-u', '-c', {show!r}], check=True)"
    )
    kept = {name: value for name, value in os.environ.items() if name not in NAMES}
    printed = subprocess.run(
        [sys.executable, "-u", "-c", show + choose],
        env=kept,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [json.loads(line) for line in printed.splitlines()]


def test_workers_that_start_later_compute_without_avx512_and_say_so(told):
    here, later = told
    capability = here["cpu_capability"]
    assert later["cpu_capability"] == ("AVX2" if capability == "AVX512" else capability)


def test_numpy_multiplies_with_avx512_in_workers_on_processors_of_amd_alone(told):
    here, later = told
    facts = Path("/proc/cpuinfo")
    is_of_amd = facts.exists() and "AuthenticAMD" in facts.read_text()
    if is_of_amd and here["cpu_capability"] == "AVX512":
        assert later["openblas_core"] == "SkylakeX"
        assert later["faster"]
    else:
        assert later["openblas_core"] == here["openblas_core"]
        assert not later["faster"]


def test_without_openblas_pytorch_multiplies(monkeypatch):
    monkeypatch.setattr(instructions, "openblas_core", lambda: None)
    assert not instructions.numpy_is_faster()
