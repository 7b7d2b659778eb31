"""A run of each method, for every test that asks for one."""

import pytest

from tests.study.sines.examples import RUNS


@pytest.fixture(params=RUNS)
def run(request):
    return RUNS[request.param]
