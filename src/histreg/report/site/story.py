"""The story of the front page: what the records answer, question by question.

Every sentence with a number is composed from the records here; the templates have none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.bins import PRESETS
from histreg.report.colours import BLUE, GREY, ORANGE
from histreg.report.printed_table import PrintedTable
from histreg.report.site import narration
from histreg.report.site.narration import joined
from histreg.report.site.study_results import JudgedClaim
from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.ratios import (
    geometric_interval,
    geometric_mean,
    log_ratios_of,
)
from histreg.study.catalogue import FORECAST_HL
from histreg.study.claims import Evidence, Verdict
from histreg.study.datasets import source
from histreg.study.methods import L2, HLGauss
from histreg.study.series.runs import ARCHITECTURES

TABLES, SERIES, GAMES = "tables", "series", "games"
METRIC = "test MAE"
FAILED = (Verdict.REFUTED, Verdict.FAILS_SO_FAR, Verdict.DEPENDS)


@dataclass(frozen=True)
class Effect:
    """The error of HL-Gauss over that of l2 on one data set.

    Parameters
    ----------
    group : {"tables", "series", "games"}
    label : str
    logs : Comparison
        Logarithms of the ratios by seed; of all games, by game.
    is_summary : bool
        Whether it is over all games, not one of them.
    """

    group: str
    label: str
    logs: Comparison
    is_summary: bool = False

    @property
    def ratio(self) -> float:
        """The geometric mean of the ratios."""
        return geometric_mean(self.logs)

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval; NaN for a single seed."""
        return geometric_interval(self.logs)

    @property
    def is_decided(self) -> bool:
        """Whether the interval lies on one side of 1."""
        low, high = self.interval
        return high < 1 or low > 1


def effects_of(evidence: Evidence) -> list[Effect]:
    """Return the effects on all data sets with records of both losses.

    By the paper's protocol; of series, one effect for each forecaster.
    """
    effects = []
    for name in evidence.tabular:
        hl, l2 = (evidence.values(name, each, METRIC) for each in (HLGauss(), L2()))
        effects.append(Effect(TABLES, source(name).title, _logs(hl, l2)))
    for name in evidence.series:
        for body in ARCHITECTURES:
            hl, l2 = (
                evidence.forecasts(name, body, each, METRIC)
                for each in (FORECAST_HL, L2())
            )
            label = f"{source(name).title}, {body}"
            effects.append(Effect(SERIES, label, _logs(hl, l2)))
    pairs = [pair for name in evidence.games if (pair := evidence.value_pair(name))]
    for pair in pairs:
        errors = pair.errors(METRIC).items()
        logs = _logs(*({seed: both[i] for seed, both in errors} for i in (1, 0)))
        effects.append(Effect(GAMES, source(pair.game).title, logs))
    effects = [effect for effect in effects if effect.logs.n]
    if len(pairs) > 1:
        logs = log_ratios_of(pairs, METRIC)
        effects.append(Effect(GAMES, f"all {logs.n} games", logs, is_summary=True))
    return effects


def _logs(a: Mapping[int, float], b: Mapping[int, float]) -> Comparison:
    seeds = sorted(a.keys() & b.keys())
    return Comparison(tuple(math.log(a[seed] / b[seed]) for seed in seeds))


def answer(effects: Sequence[Effect]) -> str:
    """Return in a sentence where HL-Gauss has the lower error than l2."""
    parts = []
    for group, where in (
        (TABLES, "of {n} tables"),
        (SERIES, "of {n} forecasters of series"),
        (GAMES, "of {n} games"),
    ):
        of_group = [e for e in effects if e.group == group and not e.is_summary]
        if not of_group:
            continue
        below = [effect for effect in of_group if effect.ratio < 1]
        text = f"{len(below) or 'none'} {where.format(n=len(of_group))}"
        decided = [effect for effect in below if effect.is_decided]
        if group == TABLES and decided:
            listed = joined([f"{_lower(e)} on {e.label}" for e in decided])
            text += f" ({listed})"
        parts.append(text)
    if not parts:
        return "No data set has records of both losses yet."
    return f"HL-Gauss has a lower test MAE than the squared error on {joined(parts)}."


def _lower(effect: Effect) -> str:
    return f"by {100 * (1 - effect.ratio):.0f} %"


def draw_effects(effects: Sequence[Effect]) -> Figure:
    """Return one figure over all data sets: ratios of errors with their intervals."""
    height = 1.1 + 0.24 * len(effects)
    figure = Figure(figsize=(4.6, height), layout="constrained")
    ax: Axes = figure.add_subplot()
    for row, effect in enumerate(effects):
        colour = GREY
        if effect.is_decided:
            colour = BLUE if effect.ratio < 1 else ORANGE
        low, high = effect.interval
        if not math.isnan(low):
            ax.plot(
                [low, high],
                [row, row],
                color=colour,
                lw=2.5 if effect.is_summary else 1.5,
            )
        marker = "D" if effect.is_summary else "o"
        ax.plot([effect.ratio], [row], marker, color=colour, ms=6)
    ax.axvline(1, color="black", lw=1)
    ax.set_xscale("log")
    ratios = [effect.ratio for effect in effects]
    ax.set_xlim(
        min([0.5, *(0.8 * ratio for ratio in ratios)]),
        max([1.6, *(1.3 * ratio for ratio in ratios)]),
    )
    ticks = [t for t in (0.1, 0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8, 16) if _shows(ax, t)]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(effects)), [effect.label for effect in effects])
    ax.set_ylim(len(effects) - 0.5, -0.5)
    ax.set_xlabel("test MAE of HL-Gauss, relative to l2")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _shows(ax: Axes, tick: float) -> bool:
    low, high = ax.get_xlim()
    return low <= tick <= high


@dataclass(frozen=True)
class Section:
    """A question of the story with the claims that answer it.

    Parameters
    ----------
    title : str
    text : str
        What the question is about, without numbers.
    claims : sequence of JudgedClaim
        Those that were run.
    n_open : int
        How many more were not run.
    sentences : sequence of str
        What the records say, in numbers.
    table : PrintedTable, optional
        The same as a table.
    """

    title: str
    text: str
    claims: Sequence[JudgedClaim]
    n_open: int
    sentences: Sequence[str] = ()
    table: PrintedTable | None = None

    @property
    def summary(self) -> str:
        """How the claims were decided, in a sentence."""
        more = f" {self.n_open} more not run." if self.claims and self.n_open else ""
        return verdicts_in_words(self.claims) + more


WHEN = (
    "When does it help?",
    "On other data and models, with corrupted targets, and with the recommended "
    "settings?",
    ("K10", "K31", "K32", "K33", "K34", "K36", "K37", "K29", "K41"),
)
WHY = (
    (
        "Is it easier to optimise?",
        "If so, it learns faster where a target is hard for the squared error, and its "
        "gradients are steadier.",
        ("K1", "K2", "K3", "K4", "K25", "K26", "K27"),
    ),
    (
        "Is it a better representation?",
        "If so, the layers that HL-Gauss has learnt would help the squared error too.",
        ("K19", "K20", "K21", "K21b", "K22", "K23", "K24"),
    ),
    (
        "Is it something simpler?",
        "A flexible distribution, noise, clipped gradients, smoothing alone, the bias "
        "of bins, or predictions that are less sensitive to their inputs.",
        ("K6", "K7", "K13", "K15", "K30"),
    ),
)
USE = ("K17", "K18", "K40", "K41")


def section(
    judged: Iterable[JudgedClaim],
    title: str,
    text: str,
    names: Sequence[str],
    sentences: Sequence[str] = (),
    table: PrintedTable | None = None,
) -> Section:
    """Return a section with the claims of these names, in their order."""
    by_name = {each.claim.name: each for each in judged}
    claims = [by_name[name] for name in names]
    run = [each for each in claims if each.verdict is not Verdict.NOT_RUN]
    return Section(title, text, run, len(claims) - len(run), sentences, table)


def when_section(judged: Iterable[JudgedClaim], evidence: Evidence) -> Section:
    """Return the section on when the loss helps."""
    return section(judged, *WHEN, narration.when(evidence))


def why_sections(judged: Sequence[JudgedClaim], evidence: Evidence) -> list[Section]:
    """Return the sections on why it helps."""
    optimised, represented, simpler = WHY
    return [
        section(judged, *optimised, narration.optimisation(evidence)),
        section(judged, *represented, narration.representation(evidence)),
        section(judged, *simpler, table=narration.simpler(evidence)),
    ]


def verdicts_in_words(claims: Sequence[JudgedClaim]) -> str:
    """Return how many claims have which verdict, as a sentence."""
    if not claims:
        return "None of this was run."
    counts = Counter(each.verdict for each in claims)
    if len(claims) == 1:
        return f"The one claim about it: {claims[0].verdict}."
    if len(counts) == 1:
        every = "Both" if len(claims) == 2 else f"All {len(claims)}"
        return f"{every} claims about it: {claims[0].verdict}."
    words = ", ".join(f"{each} ({counts[each]})" for each in Verdict if counts[each])
    return f"{len(claims)} claims about it: {words}."


def failed(judged: Iterable[JudgedClaim]) -> list[JudgedClaim]:
    """Return the claims that did not hold, or depend on how the paper is read."""
    return [each for each in judged if each.verdict in FAILED]


def run_first(judged: Iterable[JudgedClaim]) -> list[JudgedClaim]:
    """Return claims in their order, those that were not run at the end."""
    return sorted(judged, key=lambda each: each.verdict is Verdict.NOT_RUN)


def advice() -> str:
    """Return the recommended settings in words."""
    preset = PRESETS["recommended"]
    return (
        f"{preset.n_bins} bins, a sigma of {preset.sigma_in_bins:g} bins and a padding "
        f"of {preset.padding_in_sigmas:g} sigmas at each end: the paper's "
        "recommendation, and the library's default for networks."
    )
