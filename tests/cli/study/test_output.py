"""Output: which files may be written."""

import json
import sys

import pytest

from histreg.cli.study.output import print_tables
from histreg.report.printed_table import PrintedTable
from histreg.study.engine.store import Store
from tests.cli.study.running import study
from tests.report.examples import RECORDS


@pytest.mark.parametrize(
    ("out", "arguments"),
    [
        ("t.md", ["table", "bound"]),
        ("c.md", ["claims"]),
        ("f.png", ["figure", "bound"]),
        ("histreg-study/f.png", ["figure", "bound"]),
    ],
)
def test_what_is_there_is_replaced_only_if_asked_for(place, out, arguments):
    for record in RECORDS["bound"]:
        Store("histreg-study").save(record)
    (place / out).write_text("mine")
    printed = study(*arguments, "--out", out, code=2)
    assert printed == f"histreg: {out} exists already; --overwrite replaces it\n"
    assert (place / out).read_text() == "mine"
    study(*arguments, "--out", out, "--overwrite")
    assert (place / out).read_bytes() != b"mine"


@pytest.mark.parametrize("command", ["table bound", "claims"])
def test_no_command_writes_over_records_or_modules(place, command, monkeypatch):
    for record in RECORDS["bound"]:
        Store("histreg-study").save(record)
    study("collect", "bound")
    (place / "harmless.py").write_text("")
    monkeypatch.delitem(sys.modules, "harmless", raising=False)
    monkeypatch.syspath_prepend(str(place))
    (record,) = (place / "histreg-study" / "records").rglob("*.json")
    (place / "linked").hardlink_to(record)
    files = ("histreg-study/bound.jsonl", record, "linked", "harmless.py")
    before = [(place / out).read_bytes() for out in files]
    for out in files:
        printed = study(
            *(*command.split(), "--out", out, "--overwrite", "--import", "harmless"),
            code=2,
        )
        assert "must not be a file that this command reads" in printed
    assert [(place / out).read_bytes() for out in files] == before
    # It would be read as records from then on.
    printed = study(*command.split(), "--out", "histreg-study/new.jsonl", code=2)
    assert "--out must not be named .jsonl, as records are" in printed


def test_tables_are_one_document_as_json(capsys):
    tables = [PrintedTable(name, ("a",), [("1",)]) for name in ("one", "two")]
    print_tables(tables, "json", None)
    document = json.loads(capsys.readouterr().out)
    assert [table["title"] for table in document] == ["one", "two"]
