"""Threads that work on one product."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_info

from histreg._threads import WORTH_THREADS, boosting_threads, one_thread


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_contexts_inside_each_other_end_with_the_outermost():
    with one_thread():
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_the_number_is_restored_after_an_error():
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_contexts_of_several_threads_that_overlap_leave_the_number_as_it_was():
    # The second begins when the first has set its number, and ends after it.
    is_first_in, is_second_in = threading.Event(), threading.Event()
    is_first_out = threading.Event()

    def first():
        with one_thread():
            is_first_in.set()
            assert is_second_in.wait(10)
            inside = torch.get_num_threads()
        is_first_out.set()
        return inside, torch.get_num_threads()

    def second():
        assert is_first_in.wait(10)
        with one_thread():
            is_second_in.set()
            assert is_first_out.wait(10)
            inside = torch.get_num_threads()
        return inside, torch.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(one) for one in (first, second)]
        assert [one.result() for one in found] == [(1, 2), (1, 2)]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == 2
    assert torch.get_num_threads() == 2


def openmp_threads():
    """Return the numbers of threads of all OpenMP libraries that are loaded."""
    assert HistGradientBoostingRegressor  # its library is loaded
    return {
        one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"
    }


@pytest.mark.usefixtures("two_threads")
def test_boosting_on_a_small_table_has_one_thread_and_on_a_large_one_its_own():
    before = openmp_threads()
    with boosting_threads(WORTH_THREADS - 1):
        assert openmp_threads() == {1}
    with boosting_threads(WORTH_THREADS):
        assert openmp_threads() == before
    assert openmp_threads() == before
