import json
import os
import subprocess
import sys

import pytest

from histreg.study.engine import instructions
from histreg.study.engine.instructions import numpy_is_faster


def test_workers_that_start_later_compute_without_avx512_and_say_so():
    show = (
        "import json; from histreg.study.engine.environment import environment;"
        "print(json.dumps(environment()));"
    )
    then = (
        "from histreg.study.engine.instructions import avoid_avx512; avoid_avx512();"
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {show!r}])"
    )
    kept = {k: v for k, v in os.environ.items() if k != "ATEN_CPU_CAPABILITY"}
    printed = subprocess.run(
        [sys.executable, "-u", "-c", show + then],
        env=kept,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here, later = [json.loads(line)["cpu_capability"] for line in printed.splitlines()]
    assert later == ("AVX2" if here == "AVX512" else here)


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
