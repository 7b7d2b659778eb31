"""A small study, and the site of it, made once."""

import pytest

from histreg.report.site.study_results import StudyResults
from histreg.report.site.writing import write_site
from histreg.study.engine.store import Store
from histreg.study.methods import L2, HLGauss, HLOneBin
from tests.browser import chromium
from tests.report.examples import RECORDS, SNAPSHOTS
from tests.study.made_up import tabular_records

OVERALL = [
    *tabular_records("pole", L2(), [1.0, 1.1, 1.1, 1.0, 1.1]),
    *tabular_records("pole", HLGauss(), [0.7, 0.72, 0.7, 0.7, 0.74]),
    *tabular_records("pole", HLOneBin(), [1.3, 1.2, 1.3, 1.3, 1.2]),
    *tabular_records("pole", HLOneBin(shift_in_bins=0.5), [0.5] * 5),
    *tabular_records("ct", HLGauss(), [0.09]),
]

ON_SUBSET = [
    *tabular_records("song-7000", L2(), [7.7, 7.8, 7.7, 7.8, 7.7]),
    *tabular_records("song-7000", HLOneBin(), [6.9, 6.8, 6.9, 6.9, 6.8]),
]
"""On a part of Song Year, which is not the paper's data."""


@pytest.fixture(scope="package")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("study") / "store")
    for record in [*RECORDS["bound"], *SNAPSHOTS, *OVERALL, *ON_SUBSET]:
        store.save(record)
    return store


@pytest.fixture(scope="package")
def study(store):
    return StudyResults.of(store)


@pytest.fixture(scope="package")
def site(store, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "site"
    write_site(store, out)
    return out


@pytest.fixture(scope="package")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as session:
        yield session
