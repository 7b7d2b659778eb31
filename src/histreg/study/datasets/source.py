"""Source: where the file of a data set is found, and how it is checked.

A file is looked for in the given folder, in that of the environment variable
``HISTREG_DATA``, in the package and among earlier downloads; otherwise it is
downloaded.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from histreg._files import atomic_write
from histreg.errors import DownloadError, InputError

if TYPE_CHECKING:  # functions that read data import it, a list of data sets needs none
    import numpy as np
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"
IN_PACKAGE = Path(__file__).parent / "files"  # sources and licences are in its README
CHUNK = 2**16  # bytes; pooch's own 1024 with a flush after each is slow for 200 MB


@dataclass(frozen=True, eq=False)
class Table:
    """The numbers of a data set. The arrays are shared, so they cannot be written to.

    Parameters
    ----------
    X : array of float64 of shape (n, d)
        The features as in the file, not standardised.
    y : array of float64 of shape (n,)
    columns : tuple of str
        The names of the d features.
    sha256 : str
        Of the unpacked file with LF line ends, or, if the data come with a library, of
        the bytes of X and y.
    groups : array of int64 of shape (n,), optional
        Which rows belong together, such as those of one patient: they are alike, and a
        random split puts them on both sides.
    """

    X: Floats
    y: Floats
    columns: tuple[str, ...]
    sha256: str
    groups: npt.NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for array in (self.X, self.y, self.groups):
            if array is not None:
                array.flags.writeable = False


@dataclass(frozen=True)
class Source:
    """The facts of a file, and where to get it.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Name in the paper.
    homepage, licence : str
    url : str or None
        URL of the download; None if that is not possible or not needed.
    files : tuple of str
        The names, relative to a folder, under which the file is looked for, the
        clearest first; none if the data come with a library.
    member : str
        The name of the unpacked file, which is how it is found in a zip.
    sha256 : str or None
        SHA-256 of the unpacked file with LF line ends; None if it is not known.
    quirks : str
        Caveats to know before trusting a result.
    """

    name: str
    title: str
    homepage: str
    licence: str
    url: str | None
    files: tuple[str, ...]
    member: str
    sha256: str | None
    quirks: str

    @property
    def is_embedded(self) -> bool:
        """Whether the data come with a library, so that there is no file."""
        return not self.files

    def description(self) -> dict[str, Any]:
        """Return all facts, for JSON."""
        return asdict(self)

    def find(self, data_dir: str | Path | None = None) -> Path | None:
        """Return the path of the file, without downloading; None if it is missing.

        It is also None for data without a file, see `is_embedded`.

        Raises
        ------
        ValueError
            If ``data_dir`` or ``HISTREG_DATA`` is not a folder: a typo should not lead
            to a download.
        """
        for folder in _folders(data_dir):
            for name in self.files:
                if (folder / name).is_file():
                    return folder / name
        return None

    def content(self, data_dir: str | Path | None = None) -> bytes:
        """Return the file's unpacked bytes with LF line ends.

        It is looked for in ``data_dir``, ``HISTREG_DATA``, the package and earlier
        downloads, and then downloaded.

        Raises
        ------
        ValueError
            If the file differs from the published one, for instance because it is
            truncated, or is missing and cannot be downloaded.
        OSError
            If the download fails.
        """
        path = self._path(data_dir)
        return _content(self, path, called=str(path))

    def _path(self, data_dir: str | Path | None) -> Path:
        """Return the path of the file, downloaded if necessary."""
        return (self.find(data_dir) or self._download()).resolve()

    def _check(self, path: Path, called: str) -> None:
        """Raise unless a file equals the published one."""
        _content(self, path, called=called)

    def _download(self) -> Path:
        """Return the downloaded file, which is kept only if it is valid."""
        folder = cache_folder()
        if self.url is None:
            raise InputError(f"{self._missing}, and cannot be downloaded: {self._help}")
        if folder is None:
            raise InputError(
                f"{self._missing}, and downloading it needs pooch, "
                f"pip install 'histreg[study]': {self._help}"
            )
        path = folder / PurePosixPath(self.url).name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as partial:
                _fetch(self.url, partial)
                self._check(partial, called=f"what {self.url} sent")
        except OSError as error:
            raise DownloadError(
                f"{self._missing}, and {self.url} {_reason(error)}: {self._help}"
            ) from error
        return path

    @property
    def _missing(self) -> str:
        return f"the file of {self.title} is not here"

    @property
    def _help(self) -> str:
        return (
            f"its source is {self.homepage}, and --data-dir or HISTREG_DATA may name a "
            f"folder that has it as {self.files[0]}"
        )


@dataclass(frozen=True)
class TableSource(Source):
    """The facts of a file with a table, and how to read it.

    Parameters
    ----------
    n_rows, n_features : int
    parse : callable
        Unpacked bytes with LF line ends -> `Table`; gets ``b""`` if there is no file.
        The table has the `sha256` that is declared, if one is.
    """

    n_rows: int
    n_features: int
    parse: Callable[[bytes], Table]

    def problem_of(self, table: Table) -> str:  # noqa: ARG002
        """Return a further error of a table; empty if there is none."""
        return ""

    def description(self) -> dict[str, Any]:
        """Return all facts, for JSON."""
        facts = super().description()
        del facts["parse"]
        return facts

    def load(self, data_dir: str | Path | None = None) -> Table:
        """Return the checked numbers; a second call in one process reads no file.

        Parameters
        ----------
        data_dir : path, optional
            Folder to look in first, followed by ``HISTREG_DATA``, the package, earlier
            downloads and the download.

        Raises
        ------
        ValueError
            If the file differs from the published one, for instance because it is
            truncated, or is missing and cannot be downloaded.
        OSError
            If the download fails.
        """
        if self.is_embedded:
            return _embedded(self)
        return _read(self, self._path(data_dir))

    def _check(self, path: Path, called: str) -> None:
        _table(self, path, called=called)


def names(folder: str, *files: str) -> tuple[str, ...]:
    """Return each name within a folder of the data set, then each without it.

    >>> names("bike", "hour.csv", "hour.csv.gz")
    ('bike/hour.csv', 'bike/hour.csv.gz', 'hour.csv', 'hour.csv.gz')
    """
    return (*(f"{folder}/{file}" for file in files), *files)


def sha256_of(*parts: bytes) -> str:
    """Return the SHA-256 of the concatenated parts, in hexadecimal."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def frame(
    content: bytes,
    columns: Sequence[str],
    *,
    separator: str = ",",
    header: bool = True,
    keep: Sequence[str] | None = None,
) -> Any:
    """Return the numbers of a text file as a pandas frame of float64.

    Parameters
    ----------
    content : bytes
    columns : sequence of str
        All columns the file must have, in its order.
    separator : str
    header : bool
        Whether the first line names the columns, which is then checked.
    keep : sequence of str, optional
        The columns to read; all by default.
    """
    import numpy as np
    import pandas as pd  # imported here, because it is part of an extra

    first_line = content[: content.find(b"\n")].decode("utf-8", "replace")
    cells = first_line.split(separator)
    if len(cells) != len(columns):
        raise InputError(f"it must have {len(columns)} columns, got {len(cells)}")
    for name, wanted in zip(cells, columns, strict=True):
        if header and name != wanted:
            raise InputError(f"it must have a column {wanted!r}, got {name!r} there")
    with warnings.catch_warnings():
        # Rows longer than the first line would be cut, with a warning.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            io.BytesIO(content),
            sep=separator,
            header=None,
            skiprows=int(header),
            names=list(columns),
            usecols=None if keep is None else list(keep),
            index_col=False,
            dtype=np.float64,
        )


def array(numbers: Any) -> Floats:
    """Return the numbers of a frame or a column as a new array in C order."""
    import numpy as np

    return np.array(numbers.to_numpy(), dtype=np.float64, order="C")


def cache_folder() -> Path | None:
    """Return the folder of files that can be recreated: downloads and replays.

    It is ``HISTREG_CACHE``, or the cache folder of the operating system; None without
    pooch, which provides that folder and downloads files.
    """
    try:
        import pooch
    except ImportError:
        return None
    return Path(os.environ.get("HISTREG_CACHE") or pooch.os_cache("histreg"))


def _folders(data_dir: str | Path | None) -> list[Path]:
    """Return the folders in which files are looked for, in this order."""
    folders = []
    given = {"data_dir": data_dir, "HISTREG_DATA": os.environ.get("HISTREG_DATA")}
    for name, folder in given.items():
        if folder:
            if not Path(folder).is_dir():
                raise InputError(f"{name} must be a folder, got {name}={str(folder)!r}")
            folders.append(Path(folder))
    folders.append(IN_PACKAGE)
    cache = cache_folder()
    return folders if cache is None else [*folders, cache]


# Two at a time: the songs alone take 370 MB.
@lru_cache(maxsize=2)
def _read(data: TableSource, path: Path) -> Table:
    return _table(data, path, called=str(path))


@lru_cache
def _embedded(data: TableSource) -> Table:
    return _checked(data, data.parse(b""), called=f"the data of {data.title}")


def _table(data: TableSource, path: Path, *, called: str) -> Table:
    """Return the table of a file, after checking it."""
    content = _content(data, path, called=called)
    try:
        table = data.parse(content)
    except (ValueError, Warning) as error:  # pandas' errors are ValueErrors
        first_line = str(error).strip().splitlines()[0]
        raise InputError(
            f"{called} cannot be read as {data.member} of {data.title}: {first_line}"
        ) from error
    return _checked(data, table, called=called)


def _content(data: Source, path: Path, *, called: str) -> bytes:
    """Return the unpacked bytes of a file, if they have the declared hash."""
    content = _unpacked(path, data.member, called=called)
    checksum = sha256_of(content)
    if data.sha256 not in (None, checksum):
        raise InputError(
            f"{called} is not {data.member} of {data.title} as published: it must have "
            f"sha256 {data.sha256}, got {checksum} ({len(content):,} bytes), so it was "
            f"cut short or changed"
        )
    return content


def _unpacked(path: Path, member: str, *, called: str) -> bytes:
    """Return a file's content, unpacked, with LF line ends.

    The first bytes determine the compression, not the name. UCI's files have CRLF line
    ends, some copies LF; with LF they all have the same hash.
    """
    content = path.read_bytes()
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        elif content.startswith(b"PK"):
            content = _member(content, member)
        elif path.suffix in (".gz", ".zip"):
            raise zipfile.BadZipFile("it is not packed at all")
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(
            f"{called} cannot be unpacked, so it was cut short or is not {member}: "
            f"{error}"
        ) from error
    return content.replace(b"\r\n", b"\n") if b"\r\n" in content else content


def _member(content: bytes, member: str) -> bytes:
    """Return a file of a zip, in any of its folders."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if PurePosixPath(name).name == member:
                return archive.read(name)  # checks the CRC too
        raise zipfile.BadZipFile(f"there is no {member} in it")


def _checked(data: TableSource, table: Table, *, called: str) -> Table:
    """Return the table if it passes all checks, such as shape and hash."""
    import numpy as np

    def refuse(requirement: str) -> None:
        raise InputError(f"{called} is not {data.title} as published: {requirement}")

    n_rows, n_features = table.X.shape
    if n_rows != data.n_rows or len(table.y) != n_rows:
        refuse(f"it must have {data.n_rows:,} rows, got {n_rows:,}")
    if n_features != data.n_features or len(table.columns) != n_features:
        refuse(f"it must have {data.n_features} features, got {n_features}")
    bad = np.count_nonzero(~np.isfinite(table.X)) + np.count_nonzero(
        ~np.isfinite(table.y)
    )
    if bad:
        refuse(f"all values must be finite, got {bad} that are missing or infinite")
    if problem := data.problem_of(table):
        refuse(problem)
    if data.sha256 not in (None, table.sha256):
        refuse(f"it must have sha256 {data.sha256}, got {table.sha256}")
    return table


def _fetch(url: str, path: Path) -> None:
    """Download to a path, with a progress bar if a person is watching."""
    import pooch

    # Not pooch.retrieve, which keeps a file before its content is checked: the hashes
    # of UCI's zips are not known, only those of their contents.
    fetch = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), chunk_size=CHUNK)
    fetch(url, str(path), None)


def _reason(error: OSError) -> str:
    """Return the reason of a failed download in one line."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answered {error.response.status_code}"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "broke off before the end"
    if isinstance(error, requests.RequestException):
        return "could not be reached"
    return f"could not be stored ({error.strerror or error})"
