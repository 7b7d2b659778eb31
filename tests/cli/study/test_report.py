"""The command that writes a website."""

from histreg.study.catalogue import EXPERIMENTS
from histreg.study.engine.store import Store
from tests.cli.study.running import study
from tests.report.examples import RECORDS


def test_the_report_is_pages_of_the_records_that_are_there(place):
    for record in RECORDS["bound"]:
        Store("histreg-study").save(record)
    printed = study("report", "--out", "site")
    assert f"{len(EXPERIMENTS) + 4} pages" in printed
    assert "site/index.html" in printed
    assert (place / "site" / "experiments" / "bound.html").is_file()
    printed = study("report", "--out", "site", code=2)
    assert "site holds a report already; --overwrite replaces it" in printed
    study("report", "--out", "site", "--overwrite")


def test_a_report_never_replaces_the_store_that_it_is_made_of(place):
    for record in RECORDS["bound"]:
        Store("site/store").save(record)
    study("report", "--out", "other", "--store", "site/store")
    (place / "other" / "index.html").rename(place / "site" / "index.html")
    printed = study(
        *("report", "--out", "site", "--store", "site/store", "--overwrite"), code=2
    )
    assert "--out must not be a folder that holds the store site/store" in printed
    assert len(list((place / "site" / "store").rglob("*.json"))) == 1


def test_a_report_is_refused_in_one_sentence(place):
    assert "must have records, got none" in study("report", "--out", "site", code=2)
    assert not (place / "site").exists()
    (place / "mine").mkdir()
    (place / "mine" / "thesis").touch()
    printed = study("report", "--out", "mine", code=2)
    assert "contains files that this command did not write" in printed
    assert printed.count("histreg:") == 1
