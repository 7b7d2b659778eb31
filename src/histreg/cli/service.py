"""Service: predictions of one model over HTTP, as JSON.

Requests are checked one by one, in the sentences of the command line. Those that wait
at the same time are predicted together, in one run of the network: a row's prediction
does not depend on the rows beside it, so the answer is that of the request alone, up to
rounding where the target takes few values.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from histreg._checks import check_choice, check_fraction
from histreg._names import INTERVALS
from histreg.cli import cells
from histreg.cli.columns import quoted_names
from histreg.cli.predicted_columns import Asked, columns_of, predictions_as_json
from histreg.cli.reading import target_name
from histreg.errors import InputError
from histreg.tabular.column_groups import column_names
from histreg.tabular.columns import named_kinds
from histreg.tabular.predictions import Predictions
from histreg.tabular.regressor import HistogramRegressor

MAX_BYTES = 2**20  # of a request
MAX_ROWS = 10_000  # of a request, and of requests that are predicted together
MAX_WAITING = 1024  # requests; further ones are told to come back
MAX_LEVELS = 200  # labels of a column that the schema lists
KEYS = ("rows", "interval", "method", "quantiles", "above", "calibrated")
TOO_LARGE, INVALID, BUSY = 413, 422, 503


class Job(NamedTuple):
    """A request: its rows, what it asks for, and where the answer goes."""

    frame: pd.DataFrame
    asked: Asked
    answer: asyncio.Future[dict[str, Any]]


class Service:
    """The answers of one model.

    Parameters
    ----------
    model : HistogramRegressor
        With one target.
    """

    def __init__(self, model: HistogramRegressor) -> None:
        if model.n_outputs_ != 1:
            raise InputError(
                f"serve needs a model of one target, got {model.n_outputs_} targets"
            )
        self.model = model
        self.target = target_name(model)
        self.columns = dict(
            zip(column_names(model), named_kinds(model.model_.kinds), strict=True)
        )
        self._waiting: asyncio.Queue[Job] = asyncio.Queue(MAX_WAITING)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="histreg-predict")

    def schema(self) -> dict[str, Any]:
        """Return the columns with their kinds, and what can be asked for."""
        levels = iter(self.model.model_.codes.levels)
        columns = []
        for name, kind in self.columns.items():
            column: dict[str, Any] = {"name": name, "kind": kind}
            if kind == "label":
                known = next(levels)
                column["labels"] = list(known[:MAX_LEVELS])
                column["n_labels"] = len(known)
            columns.append(column)
        bins = self.model.model_.bins[0]
        return {
            "target": self.target,
            "columns": columns,
            "range": [bins.low, bins.high],
            "is_calibrated": self.model.model_.calibration is not None,
            "max_rows": MAX_ROWS,
            "max_bytes": MAX_BYTES,
        }

    def job_of(self, body: bytes) -> Job:
        """Return the request in a body; raise an InputError that says what is wrong."""
        try:
            asked = json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the body must be JSON: {error}") from error
        if not isinstance(asked, dict):
            raise InputError(
                f"the body must be an object with 'rows', got {type(asked).__name__}"
            )
        unknown = sorted(asked.keys() - set(KEYS))
        if unknown:
            raise InputError(
                f"the body may have {', '.join(KEYS)}, got {quoted_names(unknown)}"
            )
        what = _asked_of(asked, self.model)
        frame = self._frame_of(asked.get("rows"))
        return Job(frame, what, asyncio.get_running_loop().create_future())

    def _frame_of(self, rows: Any) -> pd.DataFrame:
        if not isinstance(rows, list) or not rows:
            raise InputError("rows must be a list of at least one object")
        if len(rows) > MAX_ROWS:
            raise InputError(
                f"rows must be at most {MAX_ROWS:,} in a request, got {len(rows):,}"
            )
        for i, row in enumerate(rows, start=1):
            if not isinstance(row, dict):
                raise InputError(
                    f"rows must be objects of columns, got {type(row).__name__} in "
                    f"row {i}"
                )
            missing = [name for name in self.columns if name not in row]
            if missing:
                raise InputError(
                    f"row {i} must have the columns that the model was fitted on, it "
                    f"lacks {quoted_names(missing)}; null is a missing value"
                )
            unknown = [name for name in row if name not in self.columns]
            if unknown:
                raise InputError(
                    f"row {i} must have the columns of the model only, got "
                    f"{quoted_names(unknown)}"
                )
        return pd.DataFrame(
            {
                name: _READERS[kind](name, [row[name] for row in rows])
                for name, kind in self.columns.items()
            }
        )

    async def answer(self, job: Job) -> dict[str, Any]:
        """Return the answer of a request, after those that wait already."""
        self._waiting.put_nowait(job)
        return await job.answer

    async def run(self) -> None:
        """Answer requests, all that wait at a time, until this is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            jobs = [await self._waiting.get()]
            n = len(jobs[0].frame)
            while not self._waiting.empty() and n < MAX_ROWS:
                jobs.append(self._waiting.get_nowait())
                n += len(jobs[-1].frame)
            answers = await loop.run_in_executor(self._thread, self.answers, jobs)
            for job, answer in zip(jobs, answers, strict=True):
                if job.answer.done():  # the client went away
                    continue
                if isinstance(answer, Exception):
                    job.answer.set_exception(answer)
                else:
                    job.answer.set_result(answer)

    def answers(self, jobs: list[Job]) -> list[dict[str, Any] | Exception]:
        """Return the answer of each request, from one run of the network."""
        try:
            frame = pd.concat([job.frame for job in jobs], ignore_index=True)
            # A model of an array knows its columns by their order alone.
            has_names = hasattr(self.model, "feature_names_in_")
            everything = self.model.predict_all(
                frame if has_names else frame.to_numpy()
            )
        except Exception as error:
            if len(jobs) == 1:
                return [error]
            # One request must not spoil the others.
            return [self.answers([job])[0] for job in jobs]
        found: list[dict[str, Any] | Exception] = []
        start = 0
        for job in jobs:
            end = start + len(job.frame)
            try:
                found.append(self._answer_of(everything.at(slice(start, end)), job))
            except Exception as error:
                found.append(error)
            start = end
        return found

    def _answer_of(self, predictions: Predictions, job: Job) -> dict[str, Any]:
        columns = columns_of(predictions, self.target, job.asked)
        return predictions_as_json(columns, self.target)


def app_of(service: Service, *, hosts: list[str] | None = None) -> FastAPI:
    """Return the application of a service.

    Parameters
    ----------
    service : Service
    hosts : list of str, optional
        Names under which it answers; by default any. With the names of this machine
        only, no page of another site can reach it by a name of its own.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(service.run())
        yield
        task.cancel()

    # The pages of /docs would load scripts from elsewhere.
    app = FastAPI(
        title="histreg",
        version=version("histreg"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    if hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts)
    page = (files("histreg.cli") / "service_page.html").read_text(encoding="utf-8")

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def try_it() -> HTMLResponse:
        policy = (
            "default-src 'self' 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
        )
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Return that the service answers."""
        return {"status": "ok"}

    @app.get("/version")
    async def versions() -> dict[str, Any]:
        """Return the version of histreg, and what the model was learnt from."""
        notes = service.model.notes_
        learnt = {name: notes.get(name) for name in ("source", "n_learnt")}
        return {"histreg": version("histreg"), "target": service.target, **learnt}

    @app.get("/schema")
    async def schema() -> dict[str, Any]:
        """Return the columns of a row, their kinds and their labels."""
        return service.schema()

    @app.post("/predict", openapi_extra=_BODY)
    async def predict(request: Request) -> JSONResponse:
        """Return predictions for rows; ends that are infinite are null."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                sentence = f"a request must have at most {MAX_BYTES:,} bytes"
                return JSONResponse({"error": sentence}, TOO_LARGE)
        try:
            answer = await service.answer(service.job_of(bytes(body)))
        except InputError as error:
            return JSONResponse({"error": str(error)}, INVALID)
        except asyncio.QueueFull:
            sentence = "too many requests are waiting; try again in a second"
            headers = {"Retry-After": "1"}
            return JSONResponse({"error": sentence}, BUSY, headers=headers)
        return JSONResponse(answer)

    return app


def _asked_of(asked: dict[str, Any], model: HistogramRegressor) -> Asked:
    method = asked.get("method", "central")
    check_choice("method", method, INTERVALS)
    calibrated = asked.get("calibrated", False)
    if not isinstance(calibrated, bool):
        raise InputError(f"calibrated must be true or false, got {calibrated!r}")
    if calibrated and model.model_.calibration is None:
        raise InputError("calibrated needs a calibrated model, which this is not")
    coverages = _numbers_in(asked, "interval")
    for coverage in coverages:
        check_fraction("interval", coverage)
    levels = _numbers_in(asked, "quantiles")
    if not all(0 <= level <= 1 for level in levels):
        raise InputError(f"quantiles must be levels from 0 to 1, got {levels}")
    return Asked(coverages, method, levels, _numbers_in(asked, "above"), calibrated)


def _numbers_in(asked: dict[str, Any], name: str) -> list[float]:
    """Return a number or a list of distinct ones."""
    given = asked.get(name)
    if given is None:
        return []
    values = given if isinstance(given, list) else [given]
    if not all(map(_is_number, values)):
        raise InputError(f"{name} must be a number or a list of them, got {given!r}")
    if len(values) > 100 or len(set(values)) < len(values):
        raise InputError(f"{name} must be at most 100 different numbers, got {given!r}")
    return [float(value) for value in values]


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) < 1e308


def _numbers(name: str, values: list[Any]) -> np.ndarray[Any, Any]:
    for i, value in enumerate(values, start=1):
        if not (value is None or isinstance(value, bool) or _is_number(value)):
            raise InputError(
                f"column {name!r} must hold numbers or null, got {value!r} in row {i}"
            )
    return np.array([math.nan if v is None else v for v in values], dtype=np.float64)


def _labels(name: str, values: list[Any]) -> np.ndarray[Any, Any]:
    for i, value in enumerate(values, start=1):
        if isinstance(value, dict | list):
            raise InputError(
                f"column {name!r} must hold labels, text or null, got "
                f"{type(value).__name__} in row {i}"
            )
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def _unambiguous_times(texts: list[str]) -> np.ndarray[Any, Any] | None:
    """Return times, None if they are none or depend on the order of day and month."""
    read = (cells.times_of(texts, day_first=order) for order in (True, False))
    found = [times for times in read if times is not None]
    is_one = found and all((times == found[0]).all() for times in found)
    return found[0] if is_one else None


def _reader_of_text(
    kind: str, read: Callable[[list[str]], Any], dtype: str, example: str
) -> Callable[[str, list[Any]], np.ndarray[Any, Any]]:
    def column_of(name: str, values: list[Any]) -> np.ndarray[Any, Any]:
        column = np.full(len(values), "NaT", dtype=dtype)
        for i, value in enumerate(values):
            if value is None:
                continue
            found = read([value]) if isinstance(value, str) and value else None
            if found is None:
                raise InputError(
                    f"column {name!r} must hold {kind}s such as {example!r} or null, "
                    f"got {value!r} in row {i + 1}"
                )
            column[i] = found[0]
        return column

    return column_of


_READERS: dict[str, Callable[[str, list[Any]], np.ndarray[Any, Any]]] = {
    "number": _numbers,
    "label": _labels,
    "time": _reader_of_text(
        "time",
        _unambiguous_times,
        "datetime64[us]",
        "2026-01-31T18:00:00Z",
    ),
    "duration": _reader_of_text(
        "duration", cells.durations_of, "timedelta64[us]", "18:00:00"
    ),
}


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON; null is a missing value")


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["rows"],
                    "properties": {
                        "rows": {"type": "array", "items": {"type": "object"}},
                        "interval": {"description": "coverage, or a list of them"},
                        "method": {"enum": list(INTERVALS)},
                        "quantiles": {"description": "levels"},
                        "above": {"description": "thresholds t of P(y > t)"},
                        "calibrated": {"type": "boolean"},
                    },
                }
            }
        },
    }
}
