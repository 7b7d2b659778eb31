"""Scenes: records that make a claim true, but for what a test changes in them."""

from histreg.study.catalogue import EXPERIMENTS, GRIDS
from histreg.study.claims import CLAIMS, Evidence, verdict_of
from tests.study.made_up import record_of, tabular_records

SPREAD = (0.99, 1.0, 1.01, 0.995, 1.005)
SCATTER = (0.5, 1.5, 0.7, 1.7, 0.6)


def close(level):
    """Return five numbers so alike that a fiftieth beside them is significant."""
    return [level * each for each in SPREAD]


def scattered(level):
    """Return five numbers with this mean, on both sides of all that is near it."""
    return [level * each for each in SCATTER]


def numbers(level):
    return level if isinstance(level, list) else close(level)


def scene(conditions, dataset="pole", **levels):
    """Return the records of conditions at their levels.

    Parameters
    ----------
    conditions : dict
        By name: method, changes of the protocol, level.
    **levels
        Instead of those of the conditions: a number, a list by seed, a dict by metric,
        or None if it was not run.
    """
    records = []
    for name, (method, changes, usual) in conditions.items():
        level = levels.pop(name, usual)
        if level is None:
            continue
        metrics = level if isinstance(level, dict) else {"test_MAE": level}
        given = {metric: numbers(each) for metric, each in metrics.items()}
        main = given.pop("test_MAE", close(1.0))
        records += tabular_records(dataset, method, main, changes=changes, **given)
        if method.is_tuned:
            records += validation_records(dataset, method, main)
    assert not levels, f"no such conditions: {levels}"
    return records


def validation_records(dataset, method, values):
    """Return those of the whole grid of a method, with this setting the best."""
    records = []
    for each in GRIDS:
        if each.name == method.name:
            own = values if each == method else [99.0] * len(values)
            records += tabular_records(dataset, each, own, part="validation")
    return records


def sine_scene(areas, finals=()):
    """Return all runs of the sines: the best rate has these numbers, others more.

    Parameters
    ----------
    areas, finals : dict
        By loss, alpha, beta and support, as catalogue runs have them.
    """
    records = []
    for run in EXPERIMENTS["sines"].runs:
        key = (run.method.name, run.alpha, run.beta, run.value_range[1])
        if key not in areas:
            continue
        is_best = run.learning_rate == 1e-2
        area = numbers(areas[key])[run.seed] + (0.0 if is_best else 5.0)
        final = numbers(dict(finals).get(key, 0.5))[run.seed]
        curves = {"iteration": [0], "MSE": [area]}
        records.append(record_of(run, {"area": area, "final MSE": final}, curves))
    return records


def found(claim, records, *datasets, **options):
    """Return the findings of a claim by their parts."""
    evidence = Evidence(records, datasets or ("pole",), **options)
    findings = CLAIMS[claim].find(evidence)
    by_part = {each.part: each for each in findings}
    assert len(by_part) == len(findings), "two findings of one part"
    return by_part


def verdict(claim, records, *datasets, **options):
    """Return what becomes of a claim."""
    return verdict_of(found(claim, records, *datasets, **options).values())
