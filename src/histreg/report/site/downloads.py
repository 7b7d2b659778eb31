"""Downloads: records as CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from histreg.study.engine.runs import Record

RECORD_FIELDS = ("key", "status", "diverged_at", "elapsed_s", "finished")
ENVIRONMENT_FIELDS = ("commit", "histreg", "torch")


def jsonl_of(records: Iterable[Record]) -> str:
    """Return complete records, one per line, as `Store.collect` writes them."""
    return "".join(f"{json.dumps(record.to_json())}\n" for record in records)


def csv_of(records: Iterable[Record]) -> str:
    """Return a row for each record: the run, its metrics, and how it was computed.

    Without curves; a cell is empty where a record lacks the value.
    """
    rows = [_flat(record.to_json()) for record in records]
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
                name if key == "name" else f"{name}.{key}": of
                for key, of in value.items()
            }
        elif isinstance(value, list):
            row[name] = " ".join(map(str, value))
        else:
            row[name] = value
    row |= record["metrics"]
    row |= {name: record[name] for name in RECORD_FIELDS}
    return row | {name: record["environment"].get(name) for name in ENVIRONMENT_FIELDS}
