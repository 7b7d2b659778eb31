"""Selection: the runs of experiments that a command asks for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from histreg._checks import check_choice, check_count, check_positive
from histreg.study.datasets import FRAMES, GAMES, SERIES, TABLES
from histreg.study.engine.runs import Run
from histreg.study.methods import METHODS
from histreg.study.series.runs import ARCHITECTURES
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.tables.peers import PEERS


def selected(
    runs: Sequence[Run],
    *,
    datasets: Collection[str] = (),
    methods: Collection[str] = (),
    models: Collection[str] = (),
    seeds: Collection[int] = (),
    epochs: int | None = None,
    rate: float | None = None,
    frames: int | None = None,
) -> tuple[Run, ...]:
    """Return the selected runs; all of them if nothing is selected.

    Parameters
    ----------
    runs : sequence of Run
    datasets : collection of str
        A data set that is not part of the experiment gets the runs of its first data
        set, by its own protocol, if both are tables, series or games.
    methods : collection of str
        Names, or names with settings as tables print them, such as ``"MDN
        (n_components=4)"``.
    models : collection of str
        The bodies of forecasters.
    seeds : collection of int
    epochs : int, optional
        Number of epochs instead of the protocol's, for networks trained in epochs.
    rate : float, optional
        Learning rate instead of the protocol's, for the same networks.
    frames : int, optional
        Number of frames of a game instead of the protocol's.
    """
    for name in datasets:
        check_choice("--datasets", name, {**TABLES, **FRAMES, **SERIES, **GAMES})
    known = {**METHODS, **PREDICTORS, **PEERS}
    for name in methods:
        if name not in known:
            check_choice("--methods", name.partition(" (")[0], known)
    for name in models:
        check_choice("--models", name, ARCHITECTURES)
    if epochs is not None:
        check_count("--epochs", epochs, at_least=1)
    if rate is not None:
        check_positive("--rate", rate)
    if frames is not None:
        check_count("--frames", frames, at_least=1)
    given = {"epochs": epochs, "learning_rate": rate, "n_frames": frames}
    numbers = {name: number for name, number in given.items() if number is not None}
    if datasets:
        runs = [run for name in datasets for run in _on(name, runs)]
    chosen = []
    for run in dict.fromkeys(runs):
        if methods and not {None, *methods} & set(run.method_names):
            continue
        if models and run.facet("architecture") not in (None, *models):
            continue
        if seeds and run.facet("seed") not in (None, *seeds):
            continue
        chosen.append(run.with_numbers(**numbers))
    return tuple(dict.fromkeys(chosen))  # runs of several rates may have become one


def _on(dataset: str, runs: Sequence[Run]) -> list[Run]:
    """Return the runs on a data set, or those on another one moved to it."""
    names = [run.facet("dataset") for run in runs]
    alike = [name for name in names if name is None or _are_alike(name, dataset)]
    if not alike:
        return []
    source = dataset if dataset in alike else alike[0]
    return [
        run.moved_to(dataset)
        for run, name in zip(runs, names, strict=True)
        if name == source
    ]


def _are_alike(a: object, b: str) -> bool:
    """Return whether both are tables of numbers, frames, series or games."""
    return any(a in kind and b in kind for kind in (TABLES, FRAMES, SERIES, GAMES))
