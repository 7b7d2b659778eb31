"""Finding, downloading and checking, on a small made data set."""

import gzip
import io
import sys
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from histreg.study.datasets.dataset import DataSet
from histreg.study.datasets.source import (
    Table,
    array,
    cache_folder,
    frame,
    names,
    sha256_of,
)

COLUMNS = ("a", "b", "y")
LINES = ["a,b,y", *(f"{i},{i / 4},{i % 10}" for i in range(200)), ""]
CONTENT = "\n".join(LINES).encode()


def parse(content: bytes) -> Table:
    numbers = frame(content, COLUMNS)
    return Table(
        X=array(numbers[["a", "b"]]),
        y=array(numbers["y"]),
        columns=("a", "b"),
        sha256=sha256_of(content),
    )


MADE = DataSet(
    name="made",
    title="Made Up",
    homepage="https://example.org/made",
    licence="CC0",
    url=None,
    files=names("made", "made.csv", "made.csv.gz", "made.zip"),
    member="made.csv",
    sha256=sha256_of(CONTENT),
    n_rows=200,
    n_features=2,
    y_range=(0.0, 9.0),
    hidden=(2,),
    dropout=0.0,
    epochs=1,
    quirks="Made.",
    parse=parse,
)
UNHASHED = replace(MADE, sha256=None)


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return buffer.getvalue()


def sentence(error: pytest.ExceptionInfo) -> str:
    """Return what a person reads, which must be one line."""
    text = str(error.value)
    assert "\n" not in text
    return text


# --- found


@pytest.mark.parametrize("name", MADE.files)
def test_a_file_is_found_by_each_of_its_names(name, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert MADE.find(tmp_path) == path


def test_the_given_folder_comes_before_the_environment_and_the_cache(
    tmp_path, monkeypatch, cache
):
    given, environment = tmp_path / "given", tmp_path / "environment"
    monkeypatch.setenv("HISTREG_DATA", str(environment))
    for folder in (cache, environment, given):
        folder.mkdir(parents=True)
    for folder in (cache, environment, given):  # the weakest first
        (folder / "made.csv").touch()
        assert MADE.find(given) == folder / "made.csv"


def test_a_folder_that_is_none_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="data_dir must be a folder, got"):
        MADE.find(tmp_path / "nope")
    monkeypatch.setenv("HISTREG_DATA", str(tmp_path / "nope"))
    with pytest.raises(ValueError, match="HISTREG_DATA must be a folder, got"):
        MADE.load()


def test_an_empty_variable_is_none(monkeypatch):
    monkeypatch.setenv("HISTREG_DATA", "")
    assert MADE.find() is None


def test_downloads_are_where_pooch_puts_them_and_nowhere_without_it(monkeypatch):
    pooch = pytest.importorskip("pooch")
    assert cache_folder() == pooch.os_cache("histreg")
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert cache_folder() is None


# --- read


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("made.csv", CONTENT),
        ("made.csv", CONTENT.replace(b"\n", b"\r\n")),
        ("made.csv.gz", gzip.compress(CONTENT)),
        ("made.zip", zipped(other_txt=b"no", folder__made_csv=CONTENT)),
    ],
    ids=["plain", "CRLF", "gz", "zip"],
)
def test_however_packed_the_numbers_are_the_same(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    table = MADE.load(tmp_path)
    np.testing.assert_array_equal(table.X[:, 1], np.arange(200) / 4)
    np.testing.assert_array_equal(table.y, np.arange(200) % 10)
    assert table.sha256 == MADE.sha256


def test_numbers_are_float64_in_c_order_and_cannot_be_changed(tmp_path):
    (tmp_path / "made.csv").write_bytes(CONTENT)
    table = MADE.load(tmp_path)
    assert table.X.dtype == table.y.dtype == np.float64
    assert table.X.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        table.X[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        table.y[0] = 1


def test_a_second_load_reads_no_file(tmp_path):
    path = tmp_path / "made.csv"
    path.write_bytes(CONTENT)
    first = MADE.load(tmp_path)
    path.write_bytes(b"")
    assert MADE.load(str(tmp_path)) is first


def test_a_failure_is_not_remembered(tmp_path):
    path = tmp_path / "made.csv"
    path.write_bytes(CONTENT[:-50])
    with pytest.raises(ValueError):
        MADE.load(tmp_path)
    path.write_bytes(CONTENT)
    assert len(MADE.load(tmp_path).y) == 200


# --- refused


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("made.csv", CONTENT[:-300], "must have sha256 .* cut short or changed"),
        ("made.csv.gz", gzip.compress(CONTENT)[:-30], "cannot be unpacked"),
        ("made.zip", zipped(made_csv=CONTENT)[:-30], "cannot be unpacked"),
        ("made.zip", zipped(other_csv=CONTENT), "there is no made.csv in it"),
        ("made.zip", b"<html>Please log in</html>", "cannot be unpacked"),
        ("made.csv", b"", "must have sha256"),
    ],
    ids=["cut", "cut gz", "cut zip", "another zip", "a page", "empty"],
)
def test_a_broken_file_gets_one_sentence(name, content, complaint, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=complaint) as error:
        MADE.load(tmp_path)
    assert str(tmp_path / name) in sentence(error)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "must have 3 columns, got 1"),
        (b"a,b,y\n", "must have 200 rows, got 0"),
        (b"\n".join(CONTENT.splitlines()[:100]), "must have 200 rows, got 99"),
        (CONTENT[:-3], "must be finite, got 1 "),  # within the last line
        (CONTENT.replace(b"a,b,y", b"a,b,c,y"), "must have 3 columns, got 4"),
        (CONTENT.replace(b"a,b,y", b"a,y,b"), "must have a column 'b', got 'y'"),
        (CONTENT.replace(b"\n7,", b"\n7,7,"), "cannot be read as made.csv"),
        (CONTENT.replace(b"\n7,", b"\nseven,"), "cannot be read .*seven"),
        (CONTENT.replace(b"\n7,", b"\n,"), "must be finite, got 1 "),
        (CONTENT.replace(b"\n7,", b"\ninf,"), "must be finite, got 1 "),
        (CONTENT.replace(b",9\n", b",10\n"), r"y must lie in \[0, 9\], got 0 to 10"),
    ],
    ids=[
        *("empty", "only names", "too few rows", "half a line", "a column more"),
        *("columns swapped", "a long line", "a word", "a gap", "infinite", "y out"),
    ],
)
def test_without_a_hash_the_numbers_are_looked_at(content, complaint, tmp_path):
    (tmp_path / "made.csv").write_bytes(content)
    with pytest.raises(ValueError, match=complaint) as error:
        UNHASHED.load(tmp_path)
    assert str(tmp_path / "made.csv") in sentence(error)


def test_another_number_of_features_is_refused(tmp_path):
    (tmp_path / "made.csv").write_bytes(CONTENT)
    with pytest.raises(ValueError, match="must have 3 features, got 2"):
        replace(MADE, n_features=3).load(tmp_path)


def test_data_of_a_library_are_checked_too():
    changed = replace(MADE, files=(), parse=lambda _: parse(CONTENT + b"1,1,1\n"))
    with pytest.raises(ValueError, match="must have 200 rows, got 201"):
        changed.load()


def test_what_cannot_be_downloaded_says_where_it_is_from(tmp_path):
    with pytest.raises(ValueError) as error:
        MADE.load(tmp_path)
    assert sentence(error) == (
        "the file of Made Up is not here, and cannot be downloaded: its source is "
        "https://example.org/made, and --data-dir or HISTREG_DATA may name a folder "
        "that has it as made/made.csv"
    )


def test_without_pooch_it_says_what_to_install(monkeypatch):
    module = sys.modules[Table.__module__]
    monkeypatch.setattr(module, "cache_folder", lambda: None)
    with pytest.raises(ValueError, match=r"needs pooch, pip install 'histreg\[study\]"):
        replace(MADE, url="http://127.0.0.1:9/made.zip").load()


# --- downloaded


@contextmanager
def serving(content: bytes, *, announced: int | None = None, status: int = 200):
    """Yield the address of one file on this computer, and the requests for it."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(status)
            if announced is not None:
                self.send_header("Content-Length", str(announced))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/made.zip", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


@pytest.fixture
def _pooch(monkeypatch):
    pytest.importorskip("pooch", reason="downloads need the extra 'study'")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


ZIP = zipped(readme_txt=b"hello", made_csv=CONTENT.replace(b"\n", b"\r\n"))
downloads = pytest.mark.usefixtures("_pooch")


@downloads
@pytest.mark.parametrize("announced", [len(ZIP), None], ids=["length", "no length"])
def test_a_download_is_read_and_kept(announced, cache, tmp_path):
    (tmp_path / "data").mkdir()
    with serving(ZIP, announced=announced) as (url, requests):
        data = replace(MADE, url=url)
        assert len(data.load(tmp_path / "data").y) == 200
        assert data.find() == cache / "made.zip"
        data.load()
    assert requests == ["/made.zip"]
    assert [path.name for path in cache.iterdir()] == ["made.zip"]
    assert not list((tmp_path / "data").iterdir())


@downloads
def test_a_person_who_watches_sees_a_bar(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with serving(ZIP, announced=len(ZIP)) as (url, _):
        replace(MADE, url=url).load()
    assert "100%" in capsys.readouterr().err


@downloads
@pytest.mark.parametrize(
    ("content", "announced", "error", "complaint"),
    [
        (ZIP[:-200], len(ZIP), OSError, "broke off before the end"),
        (ZIP[:-200], None, ValueError, "cannot be unpacked"),
        (ZIP[:-200], len(ZIP) - 200, ValueError, "cannot be unpacked"),
        (zipped(made_csv=CONTENT[:-200]), None, ValueError, "must have sha256"),
        (b"<html>Log in</html>", None, ValueError, "cannot be unpacked"),
    ],
    ids=["broke off", "broke off unseen", "cut at the source", "cut inside", "a page"],
)
def test_a_download_that_is_not_right_leaves_nothing(
    content, announced, error, complaint, cache
):
    with serving(content, announced=announced) as (url, _):
        data = replace(MADE, url=url)
        with pytest.raises(error, match=complaint) as caught:
            data.load()
        assert url in sentence(caught)
        assert data.find() is None
    assert not list(cache.iterdir())


@downloads
def test_a_download_that_was_refused_works_the_next_time():
    with serving(ZIP, status=503) as (url, _):
        data = replace(MADE, url=url)
        with pytest.raises(OSError, match=r"made\.zip answered 503: its source is"):
            data.load()
    with serving(ZIP) as (url, _):
        assert len(replace(MADE, url=url).load().y) == 200


@downloads
def test_without_a_network_it_says_where_to_put_the_file(cache):
    with serving(b"") as (url, _):
        pass  # its port is free again, so nobody answers
    with pytest.raises(OSError) as error:
        replace(MADE, url=url).load()
    assert sentence(error) == (
        f"the file of Made Up is not here, and {url} could not be reached: its source "
        "is https://example.org/made, and --data-dir or HISTREG_DATA may name a folder "
        "that has it as made/made.csv"
    )
    assert not list(cache.iterdir())


@downloads
def test_a_cache_that_cannot_be_written_gets_one_sentence(cache):
    cache.parent.mkdir()
    cache.touch()  # a file where the folder should be
    with pytest.raises(OSError, match="could not be stored") as error:
        replace(MADE, url="http://127.0.0.1:9/made.zip").load()
    assert "HISTREG_DATA" in sentence(error)
