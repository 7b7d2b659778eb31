"""What the commands that compute runs check first."""

import os

import pytest

from histreg.cli.study.computing import (
    check_data_dir,
    number_of_jobs,
    stored_times,
)
from histreg.study.engine.runs import Outcome, Record
from histreg.study.engine.store import Store
from histreg.study.methods import L2
from histreg.study.tabular.runs import TabularRun


def test_there_is_a_process_per_core_unless_a_number_is_given():
    assert number_of_jobs(None) == os.cpu_count()
    assert number_of_jobs(3) == 3
    with pytest.raises(ValueError, match="--jobs must be"):
        number_of_jobs(0)


def test_a_folder_of_data_sets_must_exist(tmp_path):
    check_data_dir(None)
    check_data_dir(tmp_path)
    with pytest.raises(ValueError, match="--data-dir must be a folder, got"):
        check_data_dir(tmp_path / "none")


def test_times_are_those_of_all_experiments_and_of_the_selected_runs(tmp_path):
    usual = TabularRun.of("pole", L2(), 1)  # of several experiments
    shorter = usual.with_numbers(epochs=100)  # of none
    store = Store(tmp_path)
    for run, ratio in ((usual, 2), (shorter, 4)):
        store.save(Record(run, Outcome(), {}, ratio * run.expected_s, ""))
    known = stored_times(store, [])
    assert known.of_stack([usual]) == pytest.approx(2 * usual.expected_s)
    known = stored_times(store, [shorter])
    assert known.of_stack([usual]) == pytest.approx(3 * usual.expected_s)
