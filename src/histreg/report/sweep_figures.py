"""Figures of sweeps: errors over a number that a setting has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from histreg.report.panels import (
    BLACK,
    TOO_WIDE,
    add_legend,
    datasets_of,
    looks_of,
    panels,
    set_log,
)
from histreg.study.analysis.statistics import (
    Setting,
    best_on_validation,
    of_any_rate,
    settings_of,
)
from histreg.study.catalogue import AUXILIARY, N_BINS, RATES
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Record
from histreg.study.methods import (
    L2,
    HLGauss,
    HLGaussAnnealed,
    HLOneBin,
    HLUniform,
    L2Moments,
    L2MultiTask,
    Method,
)
from histreg.study.tabular.runs import TabularRun

STYLES = {"train": ":", "validation": ":", "test": "-"}


@dataclass(frozen=True)
class Sweep:
    """What is drawn over what.

    Parameters
    ----------
    label : str
        Of the axis.
    x : callable
        From a run to its place on the axis; None if it has none.
    set_scale : callable
        For the axis.
    levels : tuple of Method
        Drawn as horizontal lines.
    splits : tuple of str
        On which rows errors are drawn.
    name : callable
        From a run to the line that it is a point of.
    """

    label: str
    x: Callable[[TabularRun], float | None]
    set_scale: Callable[[Axes], None]
    levels: tuple[Method, ...] = ()
    splits: tuple[str, ...] = ("train", "test")
    name: Callable[[TabularRun], str] = lambda run: run.method.name

    def lines(self, settings: Sequence[Setting]) -> dict[str, dict[float, Setting]]:
        """Return settings by the name of their line and, in its order, by their x."""
        found: dict[str, dict[float, Setting]] = {}
        for each in settings:
            x = self.x(each.run)
            if x is not None:
                found.setdefault(self.name(each.run), {})[x] = each
        return {name: dict(sorted(line.items())) for name, line in found.items()}


def sweep_figure(
    settings: Sequence[Setting],
    sweeps: Sequence[Sweep],
    metrics: Sequence[str] = ("MAE", "RMSE"),
    chosen: Collection[TabularRun] = (),
) -> Figure:
    """Return a row of drawings for each data set: of each sweep, each metric.

    Parameters
    ----------
    settings : sequence of Setting
    sweeps : sequence of Sweep
    metrics : sequence of str
    chosen : collection of TabularRun
        Of seed 0, drawn with rings.
    """
    settings = [each for each in settings if each.estimates]
    names = datasets_of(settings)
    lines = [name for sweep in sweeps for name in sweep.lines(settings)]
    looks = looks_of([*lines, *(m.name for sweep in sweeps for m in sweep.levels)])
    wanted = [(n, sweep, m) for n in names for sweep in sweeps for m in metrics]
    n_columns = max(2, len(sweeps) * len(metrics)) if len(wanted) > 1 else 1
    figure, axes = panels(len(wanted), n_columns, width=3.7)
    for ax, (name, sweep, metric) in zip(axes, wanted, strict=True):
        of_set = [each for each in settings if each.dataset == name]
        draw_sweep(ax, of_set, sweep, metric, looks, chosen)
        ax.set(title=dataset(name).title, xlabel=sweep.label, ylabel=metric)
    add_legend(figure)
    return figure


def draw_sweep(
    ax: Axes,
    settings: Sequence[Setting],
    sweep: Sweep,
    metric: str,
    looks: Mapping[str, tuple[str, str]],
    chosen: Collection[TabularRun] = (),
) -> None:
    """Draw lines with standard errors, and levels, of the rows that the sweep has."""
    heights: list[float] = []
    for split in sweep.splits:
        key = f"{split} {metric}"
        there = [each for each in settings if key in each.estimates]
        for name, line in sweep.lines(there).items():
            color, marker = looks[name]
            estimates = [each.estimates[key] for each in line.values()]
            ax.errorbar(
                list(line),
                [each.mean for each in estimates],
                yerr=[each.se for each in estimates],
                color=color,
                ls=STYLES[split],
                lw=1.2,
                marker=marker,
                ms=4,
                mfc=color if split == "test" else "white",
                capsize=2,
                label=f"{name}, {split}",
            )
            heights += [each.mean for each in estimates]
            _tell_diverged(ax, line, key)
            _ring(ax, {x: each for x, each in line.items() if each.run in chosen}, key)
        for i, method in enumerate(sweep.levels):
            for each in there:
                if each.method == method:
                    heights.append(each.estimates[key].mean)
                    ax.axhline(
                        heights[-1],
                        color=looks[method.name][0],
                        ls=STYLES[split],
                        lw=1.0 + 1.2 * i,  # so that grey print tells
                        zorder=1,
                        label=f"{method.name}, {split}",
                    )
    sweep.set_scale(ax)
    _widen(ax, heights)


def _ring(ax: Axes, line: dict[float, Setting], key: str) -> None:
    if line:
        ax.plot(
            list(line),
            [each.estimates[key].mean for each in line.values()],
            ls="",
            marker="o",
            ms=9,
            mfc="none",
            mec=BLACK,
            label="chosen on validation rows",
        )


def _tell_diverged(ax: Axes, line: dict[float, Setting], key: str) -> None:
    """Say where the mean is one of the lucky seeds."""
    for x, each in line.items():
        if each.n_diverged:
            ax.annotate(
                f"{each.n_diverged} diverged",
                (x, each.estimates[key].mean),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=6,
            )


def _widen(ax: Axes, heights: Sequence[float]) -> None:
    """Make the axis of errors logarithmic if they are of different sizes."""
    if heights and max(heights) > TOO_WIDE * min(heights) > 0:
        set_log(ax.yaxis)


def _log(ax: Axes) -> None:
    ax.set_xscale("log")


def _log2(ax: Axes) -> None:
    ax.set_xscale("log", base=2)


def _ticks(ax: Axes, places: Sequence[float]) -> None:
    ax.xaxis.set_major_locator(FixedLocator(places))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([f"{each:g}" for each in places])


def _log_n_bins(ax: Axes) -> None:
    ax.set_xscale("log")
    _ticks(ax, N_BINS)


def _log_rates(ax: Axes) -> None:
    ax.set_xscale("log")
    set_log(ax.yaxis)  # a rate too high costs many times what a choice can gain
    _ticks(ax, RATES)


def _weights(ax: Axes) -> None:
    """Give zero its own place, left of the smallest that has a logarithm."""
    places = [each.weight for each in AUXILIARY if isinstance(each, L2MultiTask)]
    ax.set_xscale("symlog", linthresh=min(filter(None, places)), linscale=0.7)
    _ticks(ax, places)
    ax.set_xlim(-min(filter(None, places)) / 2, 2 * max(places))


def _moments(ax: Axes) -> None:
    places = [each.n_moments for each in AUXILIARY if isinstance(each, L2Moments)]
    _ticks(ax, [1, *places])


def _shares(ax: Axes) -> None:
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))


def _epsilon(run: TabularRun) -> float | None:
    return run.method.epsilon if isinstance(run.method, HLUniform) else None


def _n_bins(run: TabularRun) -> float | None:
    return run.method.n_bins if isinstance(run.method, HLOneBin | HLGauss) else None


def _sigma(run: TabularRun) -> float | None:
    return run.method.sigma_in_bins if isinstance(run.method, HLGauss) else None


def _weight(run: TabularRun) -> float | None:
    return run.method.weight if isinstance(run.method, L2MultiTask) else None


def _n_moments(run: TabularRun) -> float | None:
    if run.method == L2():
        return 1
    return run.method.n_moments if isinstance(run.method, L2Moments) else None


def _is_annealed(run: TabularRun) -> str:
    return "annealed" if isinstance(run.method, HLGaussAnnealed) else "fixed"


BOTH = (L2(), HLGauss())
SWEEPS = {
    "uniform": (Sweep("epsilon", _epsilon, _log, (HLOneBin(),)),),
    "bins": (Sweep("number of bins", _n_bins, _log_n_bins, (L2(),)),),
    "sigma": (Sweep("sigma in bins", _sigma, _log2, (L2(),)),),
    "auxiliary": (
        Sweep("weight of HL-Gauss", _weight, _weights, BOTH),
        Sweep(
            "number of moments", _n_moments, _moments, BOTH, name=lambda _: "l2+Moments"
        ),
    ),
    "annealing": (Sweep("final sigma in bins", _sigma, _log2, name=_is_annealed),),
    "corruption": (
        Sweep(
            "share of corrupted targets",
            lambda run: run.corrupted,
            _shares,
            splits=("test",),
        ),
    ),
}
"""Of experiments, each a figure of all their settings."""
RATES_SWEEP = Sweep(
    "learning rate",
    lambda run: run.learning_rate,
    _log_rates,
    splits=("validation", "test"),
    name=lambda run: run.method.label,
)


def swept(name: str) -> Callable[[Sequence[Record]], Figure]:
    """Return the figure of one of `SWEEPS`; train dotted, test solid."""
    return lambda records: sweep_figure(settings_of(records), SWEEPS[name])


def rates(records: Sequence[Record]) -> Figure:
    """Return errors over learning rates, with rings where validation rows choose."""
    settings = settings_of(records) + settings_of(records, part="validation")
    chosen = {each.run for each in best_on_validation(records, of_any_rate).values()}
    return sweep_figure(settings, [RATES_SWEEP], ["MAE"], chosen)
