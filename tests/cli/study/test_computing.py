"""What the commands that compute runs check first."""

import os

import pytest

from histreg.cli.study.computing import check_data_dir, number_of_jobs


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
