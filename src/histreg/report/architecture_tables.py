"""Tables of networks: l2 and HL-Gauss on each, and their difference seed by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from histreg.report.beside_paper import seeds_in_words, shown
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.statistics import TableSetting
from histreg.study.datasets import dataset
from histreg.study.methods import L2, HLGauss

ERRORS = ("test MAE", "test RMSE")


@dataclass(frozen=True, eq=False)
class _Network:
    """Both losses on one network.

    Parameters
    ----------
    l2, hl : Setting
    """

    l2: TableSetting
    hl: TableSetting

    @property
    def label(self) -> str:
        """Its layers, such as ``3 x 24``, and what else differs from the protocol."""
        run = self.l2.run
        paper = dataset(run.dataset).hidden
        layers = f"{len(run.hidden)} x {run.hidden[0]}"
        mark = [] if run.hidden != paper else ["the paper's"]
        others = replace(run, hidden=paper).changes
        diverged = [
            f"{setting.method.name} {setting.n_diverged} diverged"
            for setting in (self.l2, self.hl)
            if setting.n_diverged
        ]
        return ", ".join([layers, *mark, *others, *diverged])

    @property
    def n_seeds(self) -> int:
        """Seeds of finite errors that both losses have."""
        return self.difference(ERRORS[0]).n

    def difference(self, metric: str) -> Comparison:
        """Return HL-Gauss minus l2 by seed."""
        return Comparison.of(self.hl.values(metric), self.l2.values(metric))

    def cells(self, metric: str) -> tuple[str, str, str]:
        """Return both errors, and the difference with its interval."""
        pairs = self.difference(metric)
        low, high = pairs.interval
        interval = "" if math.isnan(low) else f" [{low:+.3f}, {high:+.3f}]"
        l2, hl = (shown(each.estimates[metric]) for each in (self.l2, self.hl))
        return l2, hl, f"{pairs.mean:+.3f}{interval}"


def architectures(results: Results) -> list[PrintedTable]:
    """Return both losses on each network, a table for each data set."""
    settings = results.tabular_settings
    return [
        _table(
            f"{results.title}: {dataset(name).title}",
            _networks([setting for setting in settings if setting.dataset == name]),
        )
        for name in dict.fromkeys(setting.dataset for setting in settings)
    ]


def _networks(settings: Sequence[TableSetting]) -> list[_Network]:
    """Return the networks with a finite seed of both losses, by depth and width."""
    by_run = {setting.run: setting for setting in settings}
    pairs = [
        _Network(setting, by_run[other])
        for run, setting in by_run.items()
        if run.method == L2() and (other := replace(run, method=HLGauss())) in by_run
    ]
    both = [network for network in pairs if network.n_seeds]
    return sorted(both, key=lambda each: (len(each.l2.run.hidden), each.l2.run.hidden))


def _table(title: str, networks: Sequence[_Network]) -> PrintedTable:
    header = [
        "network",
        *(
            column
            for metric in ERRORS
            for column in (f"l2 {metric}", f"HL-Gauss {metric}", "difference")
        ),
    ]
    counts = {network.n_seeds for network in networks}
    rows = [
        (
            _with_seeds(network, max(counts)),
            *(cell for metric in ERRORS for cell in network.cells(metric)),
        )
        for network in networks
    ]
    notes = [
        f"Mean ± standard error over {seeds_in_words(counts)}. Network: hidden layers "
        "x their width; the values are ours, the paper names only the chosen ones. "
        "Difference: HL-Gauss minus l2 seed by seed, with its 95 % interval.",
        *([_order(networks)] if networks else []),
        # A mean over fewer seeds would win, or lose, by luck.
        *([_lowest(networks)] if len(networks) > 1 == len(counts) else []),
    ]
    return PrintedTable(title, tuple(header), rows, notes)


def _with_seeds(network: _Network, most: int) -> str:
    """Return the label, with the number of seeds if others have more."""
    n = network.n_seeds
    return network.label + (f", {seeds_in_words({n})}" if n < most else "")


def _order(networks: Sequence[_Network]) -> str:
    """Return on how many networks HL-Gauss is lower, and how many intervals say so."""
    pairs = [network.difference(ERRORS[0]) for network in networks]
    n_lower = sum(each.mean < 0 for each in pairs)
    said = f"HL-Gauss has the lower test MAE on {n_lower} of {len(pairs)} networks"
    if max(each.n for each in pairs) < 2:
        return f"{said}; one seed has no interval."
    n_below = sum(each.interval[1] < 0 for each in pairs)
    n_above = sum(each.interval[0] > 0 for each in pairs)
    return f"{said}; the interval is below 0 on {n_below}, and above 0 on {n_above}."


def _lowest(networks: Sequence[_Network]) -> str:
    """Return the network of lowest test MAE of each loss."""
    metric = ERRORS[0]
    l2 = min(networks, key=lambda network: network.l2.estimates[metric].mean)
    hl = min(networks, key=lambda network: network.hl.estimates[metric].mean)
    return (
        f"Lowest test MAE of l2, by which the paper says it chose: {l2.label}. Of "
        f"HL-Gauss: {hl.label}."
    )
