import numpy as np
import pytest

from histreg.study.datasets.song import SONG, SONG_7000, parse


def test_the_year_comes_first_and_there_is_no_header():
    lines = [[1999, *range(90)], [2001, *range(1, 91)]]
    table = parse("\n".join(",".join(map(str, line)) for line in lines).encode())
    np.testing.assert_array_equal(table.y, [1999, 2001])
    np.testing.assert_array_equal(table.X, [np.arange(90), np.arange(1, 91)])
    assert len(table.columns) == len(set(table.columns)) == 90


def test_a_line_that_is_too_long_is_refused():
    lines = [[1999, *range(90)], [2001, *range(91)]]
    content = "\n".join(",".join(map(str, line)) for line in lines).encode()
    with pytest.raises((ValueError, Warning)):
        parse(content)


def test_the_small_file_is_the_large_one_but_for_its_rows():
    same = {"hidden", "dropout", "epochs", "y_range", "n_features", "homepage"}
    large, small = SONG.description(), SONG_7000.description()
    assert {name: large[name] for name in same} == {name: small[name] for name in same}
    assert not set(large["files"]) & set(small["files"])


def test_the_small_file_cannot_be_downloaded():
    with pytest.raises(ValueError, match=r"cannot be downloaded: .*dataset/203.*-7000"):
        SONG_7000.load()


def test_the_real_rows_are_as_told(real):
    table = real("song-7000")
    assert table.X.shape == (7_000, 90)
    assert (table.y.min(), table.y.max()) == (1926, 2010)
    assert np.mean(table.y > 1990) > 0.8
    assert len(np.unique(table.X, axis=0)) == 7_000
    # The first line of the file, by eye.
    assert table.y[0] == 1999
    np.testing.assert_array_equal(table.X[0, :3], [47.58427, 26.43171, 16.23995])


def test_7000_rows_are_not_taken_for_the_whole_file(tmp_path, real):
    real("song-7000")  # or skip
    from tests.study.datasets.conftest import DATA

    packed = SONG_7000.find(DATA).read_bytes()
    (tmp_path / "YearPredictionMSD.txt.gz").write_bytes(packed)
    with pytest.raises(ValueError, match="must have 515,345 rows, got 7,000"):
        SONG.load(tmp_path)
