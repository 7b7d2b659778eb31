"""The development tables: what is declared is what the files have."""

import pytest

from histreg.study.datasets import FRAMES, GAMES, SERIES, TABLES, source
from histreg.study.datasets.development import DEVELOPMENT


def test_there_are_thirty_with_names_and_checksums_of_their_own():
    assert len(DEVELOPMENT) == 30
    assert len({data.name for data in DEVELOPMENT}) == 30
    assert len({data.sha256 for data in DEVELOPMENT}) == 30
    assert not FRAMES.keys() & {*TABLES, *SERIES, *GAMES}


@pytest.mark.parametrize("data", DEVELOPMENT, ids=lambda data: data.name)
def test_every_table_is_found_by_its_name_and_is_not_downloaded(data):
    assert source(data.name) is data
    assert data.files[0] == f"tables/{data.name}.csv.gz"
    assert data.url is None and data.homepage.startswith("https://")


@pytest.mark.parametrize("name", FRAMES)
def test_the_real_file_is_as_declared(name, real):
    table = real(name)  # checks rows, columns, target and checksum
    kinds = {dtype.kind for dtype in table.X.dtypes}
    assert kinds <= {"f", "O", "M"}
    assert ("M" in kinds) == (name == "chicago")
