"""Experiment: a question, the runs that answer it, and how the answer is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from histreg.study.engine.runs import Record, Run
from histreg.study.methods import L2, Method


@dataclass(frozen=True)
class TableSpec:
    """The tables of an experiment.

    Parameters
    ----------
    kind : str
        One of `histreg.report.experiment_tables.KINDS`.
    title : str
        Title instead of the experiment's.
    metrics : tuple of str
        Columns of a table of errors, instead of the requested ones.
    note : str
        Printed below each table.
    """

    kind: str = "errors"
    title: str = ""
    metrics: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Sweep:
    """Errors over a number that runs on tables differ in.

    Parameters
    ----------
    label : str
        Label of the x axis.
    x : callable
        Returns the x coordinate of a run; None if it has none.
    scale : str
        Of the x axis: "linear", "log", "log2", "percent", or "symlog", which gives zero
        a place left of the smallest other tick.
    ticks : tuple of float
        Ticks of the x axis; matplotlib's choice if empty.
    has_log_errors : bool
        Whether the y axis is always logarithmic; otherwise it is so if errors differ
        much in size.
    levels : tuple of Method
        Methods drawn as horizontal lines.
    splits : tuple of str
        The rows on which errors are drawn.
    line : callable
        Returns the name of the line that a run belongs to.
    """

    label: str
    x: Callable[[Any], float | None]
    scale: str = "linear"
    ticks: tuple[float, ...] = ()
    has_log_errors: bool = False
    levels: tuple[Method, ...] = ()
    splits: tuple[str, ...] = ("train", "test")
    line: Callable[[Any], str] = lambda run: run.method.name


@dataclass(frozen=True)
class FigureSpec:
    """The figure of an experiment.

    Parameters
    ----------
    kind : str
        One of `histreg.report.experiment_figures.KINDS`.
    caption : str
        Caption on its page; the title of the experiment if empty.
    sweeps : tuple of Sweep
        For the kinds "sweep" and "rates".
    """

    kind: str = "errors"
    caption: str = ""
    sweeps: tuple[Sweep, ...] = ()


@dataclass(frozen=True)
class Pairing:
    """The reference that each setting is compared with, seed by seed.

    Parameters
    ----------
    is_reference : callable
        Whether the second of two runs on one data set is the reference of the first. A
        run that is its own reference is not compared.
    metrics : tuple of str
        Metrics to compare, instead of the requested ones.
    """

    is_reference: Callable[[Any, Any], bool]
    metrics: tuple[str, ...] = ()


def against(method: Method) -> Callable[[Any, Any], bool]:
    """Compare with the chosen setting of a method."""
    return lambda run, other: other.method == method  # noqa: ARG005


def against_l2(run: Any, other: Any) -> bool:
    """Compare with the squared error, everything else equal."""
    return bool(other == replace(run, method=L2()))


@dataclass(frozen=True)
class Experiment:
    """A question, the runs that answer it, and how the answer is shown.

    The table and the figure are named, not made: `histreg.report` draws them.

    Parameters
    ----------
    name : str
    title : str
    place : str
        Place in the paper.
    question : str
    runs : tuple of Run
    protocol : str
        Description of the procedure: a paragraph of its page.
    table : TableSpec
    figure : FigureSpec
    choice : str
        Which of a method's settings are reported: one of
        `histreg.study.analysis.statistics.CHOICES`.
    label : callable
        From a setting to its name in tables and figures of errors.
    summaries : mapping of str to callable
        Further metrics by name: from a record to a number made of its curves.
    pairing : Pairing, optional
        If not given, there is no table of paired differences.
    conclusion : str
        One of `histreg.report.conclusions.KINDS`, which answers the question where
        neither claims nor comparisons of losses do.

    Examples
    --------
    >>> from histreg.study.catalogue import tabular
    >>> runs = tabular([L2()], datasets=["pole"], seeds=[1, 2])
    >>> Experiment("mine", "My own", "not in it", "Does it help?", runs).table.kind
    'errors'
    """

    name: str
    title: str
    place: str
    question: str
    runs: tuple[Run, ...]
    protocol: str = ""
    table: TableSpec = TableSpec()
    figure: FigureSpec = FigureSpec()
    choice: str = "all"
    label: Callable[[Any], str] = attrgetter("label")
    summaries: Mapping[str, Callable[[Record], float]] = field(default_factory=dict)
    pairing: Pairing | None = None
    conclusion: str = ""
