"""Downloads: records as files that other programs read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from histreg.study.engine.runs import Record

ABOUT = ("key", "status", "diverged_at", "elapsed_s", "finished")
PLACES = ("commit", "histreg", "torch")


def jsonl_of(records: Iterable[Record]) -> str:
    """Return records whole, one a line, as `Store.collect` writes them."""
    return "".join(f"{json.dumps(each.to_json())}\n" for each in records)


def csv_of(records: Iterable[Record]) -> str:
    """Return a line for each record: what was run, its metrics, how it came about.

    Curves are left out. What a record does not have is empty.
    """
    rows = [_flat(each.to_json()) for each in records]
    names = dict.fromkeys(name for row in rows for name in row)
    data = io.StringIO()
    writer = csv.DictWriter(data, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return data.getvalue()


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in record["run"].items():
        if isinstance(value, Mapping):  # a method, with its parameters
            row |= {
                name if each == "name" else f"{name}.{each}": of
                for each, of in value.items()
            }
        elif isinstance(value, list):
            row[name] = " ".join(map(str, value))
        else:
            row[name] = value
    row |= record["metrics"]
    row |= {name: record[name] for name in ABOUT}
    return row | {name: record["environment"].get(name) for name in PLACES}
