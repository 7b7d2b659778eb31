"""Conclusions: the answer to an experiment's question, in a sentence of its records.

For experiments that no claim of the paper decides and that do not compare two losses
with everything else equal. A conclusion is empty if the records do not suffice for it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from histreg._checks import check_choice
from histreg.report.column_tables import rmse_by_split, rmse_of_paper, whole_of
from histreg.report.forecast_tables import nearest_reading
from histreg.report.probe_figures import PROBED
from histreg.report.results import Results
from histreg.study.analysis.peer_scores import PeerScores
from histreg.study.analysis.shape_scores import CRPS, ShapeScores
from histreg.study.catalogue.target import NARROW, PADDING_OFF_BORDERS
from histreg.study.claims import Verdict
from histreg.study.claims.promises import AUTO, promises_of
from histreg.study.datasets import dataset
from histreg.study.measurements import Measurement
from histreg.study.methods import HLGauss
from histreg.study.shapes.tables import HEAVY, LIGHT
from histreg.study.sines.curves import best_rates
from histreg.study.tables.metrics import CRPS as CRPS_BY_QUANTILES
from histreg.study.tables.peers import OURS
from histreg.study.tables.splits import LAST

METRIC = "test MAE"


def snapshots(results: Results) -> str:
    """Return how much the histograms of different rows have in common."""
    for record in results.records:
        curves = record.outcome.curves
        if PROBED not in curves:
            continue
        first, last = (_shared_mass(curves[PROBED][at]) for at in (0, -1))
        begin, end = (f"{curves['epoch'][at]:g}" for at in (0, -1))
        return (
            f"The histograms of {len(curves[PROBED][0])} rows have {100 * first:.0f} % "
            f"of their mass in common after epoch {begin} and {100 * last:.0f} % after "
            f"epoch {end}."
        )
    return ""


def _shared_mass(rows: Sequence[dict[str, list[float]]]) -> float:
    """Return the mass below all of several histograms on the same bins."""
    return math.fsum(map(min, zip(*(row["probs"] for row in rows), strict=True)))


def sines(results: Results) -> str:
    """Return on how many targets HL-Gauss learns faster than l2."""
    areas: dict[tuple[float, float], dict[bool, float]] = {}
    for best in best_rates(results.records):
        areas.setdefault((best.alpha, best.beta), {})[best.has_bins] = best.area.mean
    pairs = [both for both in areas.values() if len(both) == 2]
    if not pairs:
        return ""
    n_lower = sum(both[True] < both[False] for both in pairs)
    return (
        "Averaged over seeds, HL-Gauss has a smaller area under its error curve than "
        f"l2 on {n_lower} of {len(pairs)} sines."
    )


def replays(results: Results) -> str:
    """Return how many resets of the files come where the games end."""
    facts = [
        record.outcome.metrics
        for record in results.records
        if isinstance(record.run, Measurement)
    ]
    n = sum(int(each["episodes"]) - 1 for each in facts)
    after = sum(int(each["resets after the end"]) for each in facts)
    limit = sum(int(each["resets at the time limit"]) for each in facts)
    if not n:
        return ""
    yes = "Yes: " if after + limit == n else ""
    return (
        f"{yes}{'all ' if yes else f'{after + limit:,} of '}{n:,} resets of the files "
        f"of {len(facts)} games come after the end of the replayed game ({after:,}) or "
        f"at the time limit ({limit:,})."
    )


def tables(results: Results) -> str:
    """Return the CRPS of our regressor beside those of its peers."""
    scores = PeerScores.of(results.records)
    means = {
        peer: statistics.geometric_mean(ratios.values())
        for peer in scores.peers
        if (ratios := scores.ratios(peer, CRPS_BY_QUANTILES))
    }
    if not means:
        return ""
    n_lower = sum(mean < 1 for mean in means.values())
    nearest = max(means, key=lambda peer: means[peer])
    n_best = [scores.best(table) for table in scores.tables].count(OURS)
    folds = {record.run.facet("seed") for record in results.records}
    seen = "" if folds == {LAST} else ", on folds on which choices were made"
    return (
        f"In the geometric mean over tables its CRPS is below that of {n_lower} of "
        f"{len(means)} peers that were run, {means[nearest]:.2f} of that of {nearest}, "
        f"the nearest; it is the lowest of all on {n_best} of {len(scores.tables)} "
        f"tables{seen}."
    )


def grid(results: Results) -> str:
    """Return the error of a narrow target, with y on borders and off them."""
    errors = {
        (setting.dataset, setting.method): setting.estimates[METRIC].mean
        for setting in results.tabular_settings
        if METRIC in setting.estimates
    }
    parts = []
    for name in dict.fromkeys(name for name, _ in errors):
        ratios = []
        for padding in (10.0, PADDING_OFF_BORDERS):
            usual = errors.get((name, HLGauss(padding_in_bins=padding)))
            narrow = errors.get((name, HLGauss(NARROW, padding_in_bins=padding)))
            if usual is not None and narrow is not None:
                ratios.append(f"{narrow / usual:.2f}")
        if len(ratios) == 2:
            on_usual, on_moved = ratios
            parts.append(
                f"on {dataset(name).title} by {on_usual} with the usual borders and by "
                f"{on_moved} with shifted ones"
            )
    if not parts:
        return ""
    return f"Narrowing the target multiplies the {METRIC} {'; '.join(parts)}."


def columns(results: Results) -> str:
    """Return which columns of CT Position give the paper's error over all rows."""
    distances = {}
    for setting in results.tabular_settings:
        paper = rmse_of_paper(setting)
        if whole_of(setting.dataset) == "ct" and setting.estimates and paper:
            ours = statistics.fmean(rmse_by_split(setting))
            distances[dataset(setting.dataset).n_features] = abs(ours - paper)
    if len(distances) < 2:
        return ""
    listed = " and ".join(
        f"{distance:.4f} with {n}" for n, distance in sorted(distances.items())
    )
    nearest = min(distances, key=lambda n: distances[n])
    return (
        f"On CT Position probably {nearest}: the RMSE over all rows is off the paper's "
        f"by {listed} columns, of which the last is the patient's number."
    )


def shapes(results: Results) -> str:
    """Return what bins that follow the targets gain, and the goals that were met."""
    scores = ShapeScores.of(results.records)
    ratios = [scores.mean_ratio(names, AUTO, CRPS) for names in (HEAVY, LIGHT)]
    if any(map(math.isnan, ratios)):
        return ""
    promises = promises_of(scores)
    kept = sum(promise.verdict is Verdict.CONFIRMED for promise in promises)
    return (
        "The CRPS with bins that follow the targets is {:.3f} of that with even bins "
        "on tables with a heavy tail, {:.3f} on the others (geometric means); "
        "{} of {} goals set for them were met."
    ).format(*ratios, kept, len(promises))


def targets(results: Results) -> str:
    """Return how many values the targets take."""
    counts = {
        dataset(record.run.dataset).title: int(record.outcome.metrics["distinct"])
        for record in results.records
        if isinstance(record.run, Measurement) and "distinct" in record.outcome.metrics
    }
    if not counts:
        return ""
    listed = [
        f"{counts[name]:,} on {name}" for name in sorted(counts, key=counts.__getitem__)
    ]
    return f"Very differently; distinct values: {', '.join(listed)}."


def bound(results: Results) -> str:
    """Return where each of the two bounds is the smaller."""
    for record in results.records:
        metrics = record.outcome.metrics
        return (
            "It depends on how near prediction and target are: above epsilon "
            f"{metrics['crossing epsilon']:.2f} Pinsker's is the smaller, below it the "
            f"other; below {metrics['useless epsilon']:.2f} Pinsker's says nothing."
        )
    return ""


def readings(results: Results) -> str:
    """Return the reading of the paper whose errors are nearest to its own."""
    nearest = nearest_reading(results, "test MSE")
    if nearest is None:
        return ""
    words, distance = nearest
    return (
        f'Nearest to the paper\'s numbers is "{words}", whose test MSE is '
        f"{100 * distance:.1f} % away in the mean over series and losses."
    )


KINDS: dict[str, Callable[[Results], str]] = {
    "snapshots": snapshots,
    "sines": sines,
    "replays": replays,
    "tables": tables,
    "grid": grid,
    "columns": columns,
    "shapes": shapes,
    "targets": targets,
    "bound": bound,
    "readings": readings,
}
"""Values of `Experiment.conclusion`: functions from results to a sentence."""


def conclusion_of(results: Results) -> str:
    """Return the conclusion of an experiment; empty if it has none."""
    kind = results.experiment.conclusion
    if not kind:
        return ""
    check_choice(f"the conclusion of {results.experiment.name}", kind, KINDS)
    return KINDS[kind](results)
