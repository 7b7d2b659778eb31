"""Figures of sweeps: errors over a number that settings differ in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from histreg._checks import check_choice
from histreg.report.colours import BLACK, looks_of
from histreg.report.panels import (
    TOO_WIDE,
    add_legend,
    datasets_of,
    panels,
    set_log,
)
from histreg.report.results import Results
from histreg.study.analysis.statistics import (
    TableSetting,
    best_on_validation,
    of_any_rate,
    settings_of,
)
from histreg.study.catalogue import Sweep
from histreg.study.datasets import dataset
from histreg.study.tabular.runs import TabularRun

STYLES = {"train": ":", "validation": ":", "test": "-"}

Line = dict[float, TableSetting]
"""Settings by their place on the x axis."""


def sweeps(results: Results) -> Figure:
    """Return errors over the swept number; train dotted, test solid."""
    return _figure(results.tabular_settings, results.experiment.figure.sweeps)


def rates(results: Results) -> Figure:
    """Return errors over learning rates, with rings where validation rows choose."""
    records = results.records
    settings = settings_of(records) + settings_of(records, part="validation")
    chosen = {
        setting.run for setting in best_on_validation(records, of_any_rate).values()
    }
    return _figure(settings, results.experiment.figure.sweeps, ["MAE"], chosen)


def _figure(
    settings: Sequence[TableSetting],
    sweeps: Sequence[Sweep],
    metrics: Sequence[str] = ("MAE", "RMSE"),
    chosen: Collection[TabularRun] = (),
) -> Figure:
    """Return a row of axes per data set, with one for each sweep and metric.

    Parameters
    ----------
    settings : sequence of Setting
    sweeps : sequence of Sweep
    metrics : sequence of str
    chosen : collection of TabularRun
        Of seed 0, drawn with rings.
    """
    settings = [setting for setting in settings if setting.estimates]
    names = _swept(settings, sweeps)
    lines = [name for sweep in sweeps for name in _lines(sweep, settings)]
    looks = looks_of([*lines, *(m.name for sweep in sweeps for m in sweep.levels)])
    wanted = [(n, sweep, m) for n in names for sweep in sweeps for m in metrics]
    n_columns = max(2, len(sweeps) * len(metrics)) if len(wanted) > 1 else 1
    figure, axes = panels(len(wanted), n_columns, width=3.7)
    for ax, (name, sweep, metric) in zip(axes, wanted, strict=True):
        of_set = [setting for setting in settings if setting.dataset == name]
        _draw(ax, of_set, sweep, metric, looks, chosen)
        ax.set(title=dataset(name).title, xlabel=sweep.label, ylabel=metric)
    add_legend(figure)
    return figure


def _swept(settings: Sequence[TableSetting], sweeps: Sequence[Sweep]) -> list[str]:
    """Return the data sets on which a sweep has begun, or all if there is none.

    Runs that belong to other experiments too, such as l2, do not make a sweep.
    """
    names = datasets_of(settings)
    begun = [
        name
        for name in names
        if any(
            len(line) > 1
            for sweep in sweeps
            for line in _lines(
                sweep, [each for each in settings if each.dataset == name]
            ).values()
        )
    ]
    return begun or names


def _lines(sweep: Sweep, settings: Sequence[TableSetting]) -> dict[str, Line]:
    """Return settings by the name of their line and, in its order, by their x."""
    lines: dict[str, Line] = {}
    for setting in settings:
        x = sweep.x(setting.run)
        if x is not None:
            lines.setdefault(sweep.line(setting.run), {})[x] = setting
    return {name: dict(sorted(line.items())) for name, line in lines.items()}


def _draw(
    ax: Axes,
    settings: Sequence[TableSetting],
    sweep: Sweep,
    metric: str,
    looks: Mapping[str, tuple[str, str]],
    chosen: Collection[TabularRun],
) -> None:
    """Draw lines with standard errors, and levels, of the rows that the sweep has."""
    heights: list[float] = []
    for split in sweep.splits:
        key = f"{split} {metric}"
        finite = [setting for setting in settings if key in setting.estimates]
        for name, line in _lines(sweep, finite).items():
            _draw_line(ax, line, key, f"{name}, {split}", STYLES[split], looks[name])
            _annotate_diverged(ax, line, key)
            _ring(
                ax,
                {x: setting for x, setting in line.items() if setting.run in chosen},
                key,
            )
            heights += [setting.estimates[key].mean for setting in line.values()]
        for i, method in enumerate(sweep.levels):
            for setting in finite:
                if setting.method == method:
                    heights.append(setting.estimates[key].mean)
                    ax.axhline(
                        heights[-1],
                        color=looks[method.name][0],
                        ls=STYLES[split],
                        lw=1.0 + 1.2 * i,  # to tell them apart in grey print
                        zorder=1,
                        label=f"{method.name}, {split}",
                    )
    _set_scale(ax, sweep)
    if heights and max(heights) > TOO_WIDE * min(heights) > 0:
        set_log(ax.yaxis)


def _draw_line(
    ax: Axes, line: Line, key: str, label: str, style: str, look: tuple[str, str]
) -> None:
    color, marker = look
    estimates = [setting.estimates[key] for setting in line.values()]
    ax.errorbar(
        list(line),
        [estimate.mean for estimate in estimates],
        yerr=[estimate.se for estimate in estimates],
        color=color,
        ls=style,
        lw=1.2,
        marker=marker,
        ms=4,
        mfc=color if key.startswith("test") else "white",
        capsize=2,
        label=label,
    )


def _ring(ax: Axes, line: Line, key: str) -> None:
    if line:
        ax.plot(
            list(line),
            [setting.estimates[key].mean for setting in line.values()],
            ls="",
            marker="o",
            ms=9,
            mfc="none",
            mec=BLACK,
            label="chosen on validation rows",
        )


def _annotate_diverged(ax: Axes, line: Line, key: str) -> None:
    """Write how many seeds are left out of a mean because they diverged."""
    for x, setting in line.items():
        if setting.n_diverged:
            ax.annotate(
                f"{setting.n_diverged} diverged",
                (x, setting.estimates[key].mean),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=6,
            )


def _set_scale(ax: Axes, sweep: Sweep) -> None:
    """Set the scale and the ticks of the x axis, and a log scale of errors if asked."""
    check_choice("the scale of a sweep", sweep.scale, SCALES)
    SCALES[sweep.scale](ax, sweep.ticks)
    if sweep.has_log_errors:
        set_log(ax.yaxis)
    if sweep.ticks:
        ax.xaxis.set_major_locator(FixedLocator(sweep.ticks))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xticklabels([f"{tick:g}" for tick in sweep.ticks])


def _set_symlog(ax: Axes, ticks: Sequence[float]) -> None:
    """Give zero its own place, left of the smallest that has a logarithm."""
    smallest = min(filter(None, ticks))
    ax.set_xscale("symlog", linthresh=smallest, linscale=0.7)
    ax.set_xlim(-smallest / 2, 2 * max(ticks))


SCALES: dict[str, Callable[[Axes, Sequence[float]], None]] = {
    "linear": lambda _, __: None,
    "log": lambda ax, _: ax.set_xscale("log"),
    "log2": lambda ax, _: ax.set_xscale("log", base=2),
    "symlog": _set_symlog,
    "percent": lambda ax, _: ax.xaxis.set_major_formatter(PercentFormatter(1.0)),
}
"""Values of `Sweep.scale`."""
