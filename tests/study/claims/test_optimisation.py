"""K25 to K28 on made-up records."""

import pytest

from histreg.study.claims import CLAIMS, Evidence, Verdict
from histreg.study.methods import L2, HLGauss, HLGaussAnnealed, HLOneBin
from tests.study.claims.made_up import close, found, scattered, scene, verdict
from tests.study.made_up import record_of, tabular_records

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN

N_EPOCHS = 12
TRAINING = {"dropout": 0.0, "probes": ("gradients",)}
METHODS = {"l2": L2(), "one_bin": HLOneBin(), "gauss": HLGauss()}
AREAS = {"l2": 3.0, "one_bin": 1.0, "gauss": 1.0}
SDS = {"l2": 0.9, "one_bin": 0.3, "gauss": 0.3}


def training(areas=(), sds=(), dataset="pole", changes=TRAINING):
    """Return training runs with these areas and deviations, in both readings."""
    return [
        record
        for has_authors_head in (False, True)
        for record in reading(
            areas, sds, dataset, {**changes, "has_authors_head": has_authors_head}
        )
    ]


def reading(areas=(), sds=(), dataset="pole", changes=TRAINING):
    """Return training runs with these areas and standard deviations by method."""
    areas, sds = AREAS | dict(areas), SDS | dict(sds)
    records = []
    for name, method in METHODS.items():
        if areas[name] is None:
            continue
        area, sd = (
            level if isinstance(level, list) else close(level)
            for level in (areas[name], sds[name])
        )
        for record in tabular_records(dataset, method, close(1.0), changes=changes):
            i = record.run.seed - 1
            # Errors fall around the area; after ten epochs they do not count.
            errors = [area[i] * (1.5 - (epoch - 0.5) / 10) for epoch in range(1, 11)]
            curves = {
                "epoch": list(range(1, N_EPOCHS + 1)),
                "train MAE": errors + [0.0] * (N_EPOCHS - 10),
                # Of log10, by turns one deviation above and below.
                "gradient norm": [10 ** sd[i], 10 ** -sd[i]] * (N_EPOCHS // 2),
                "excess loss": [1.0] * N_EPOCHS,
            }
            records.append(record_of(record.run, record.outcome.metrics, curves))
    return records


@pytest.mark.parametrize(
    ("claim", "areas", "expected"),
    [
        ("K25", {}, CONFIRMED),
        ("K25", {"gauss": 3.3}, REFUTED),
        ("K25", {"gauss": scattered(3.0)}, UNDECIDED),
        ("K25", {"l2": None}, NOT_RUN),
        ("K27", {}, CONFIRMED),
        ("K27", {"gauss": 0.95}, CONFIRMED),  # no clear one
        ("K27", {"gauss": 2.0}, CONFIRMED),  # a disadvantage is no advantage
        ("K27", {"gauss": 0.8}, REFUTED),
        ("K27", {"gauss": scattered(1.0)}, UNDECIDED),
        ("K27", {"one_bin": None}, NOT_RUN),
    ],
)
def test_areas_decide(claim, areas, expected):
    assert verdict(claim, training(areas)) is expected


@pytest.mark.parametrize(
    ("claim", "sds", "expected"),
    [
        ("K26", {}, CONFIRMED),
        ("K26", {"gauss": 1.0}, REFUTED),
        ("K26", {"one_bin": 1.0}, REFUTED),
        ("K26", {"one_bin": scattered(0.9)}, UNDECIDED),
        ("K26b", {}, CONFIRMED),
        ("K26b", {"gauss": 1.0}, REFUTED),
        ("K26b", {"one_bin": scattered(0.9)}, UNDECIDED),
        ("K27", {"gauss": 0.2}, REFUTED),
        ("K27", {"gauss": scattered(0.3)}, UNDECIDED),
    ],
)
def test_steadiness_decides(claim, sds, expected):
    assert verdict(claim, training(sds=sds)) is expected


def test_k26_needs_all_three():
    assert verdict("K26", training({"one_bin": None})) is NOT_RUN


@pytest.mark.parametrize("claim", ["K25", "K26", "K27"])
def test_runs_with_dropout_are_no_evidence(claim):
    probes = {"probes": ("gradients",)}
    assert verdict(claim, training(dataset="ct", changes=TRAINING), "ct") is CONFIRMED
    assert verdict(claim, training(dataset="ct", changes=probes), "ct") is NOT_RUN


AUTHORS = {**TRAINING, "has_authors_head": True}


@pytest.mark.parametrize(
    ("zero", "authors", "expected"),
    [
        ({}, {}, CONFIRMED),
        ({"gauss": 3.3}, {}, Verdict.DEPENDS),
        ({"gauss": 3.3}, {"gauss": scattered(3.0)}, Verdict.DEPENDS),
        ({"gauss": 3.3}, {"gauss": 3.3}, REFUTED),
        ({"gauss": 3.3}, {"l2": None}, REFUTED),
    ],
)
def test_k25_is_judged_with_both_kinds_of_first_biases(zero, authors, expected):
    records = reading(zero) + reading(authors, changes=AUTHORS)
    assert verdict("K25", records) is expected
    parts = found("K25", records)
    part = "Pole: HL-Gauss below l2 (area under train MAE)"
    assert list(parts) == [f"{part}, zero biases", f"{part}, the authors' biases"]


@pytest.mark.parametrize("claim", ["K25", "K26", "K26b", "K27"])
def test_a_data_set_needs_both_kinds_of_first_biases(claim):
    assert CLAIMS[claim].judge(Evidence(training())).judged == ("pole",)
    assert CLAIMS[claim].judge(Evidence(reading())).judged == ()


ANNEALING = {
    f"{name}_{power}": (kind(2.0**power), {"dropout": 0.0}, level)
    for power in (-6, -5, -4, -3)
    for name, kind, level in (
        ("fixed", HLGauss, 2.0),
        ("annealed", HLGaussAnnealed, 1.0),
    )
}


@pytest.mark.parametrize("dataset", ["bike", "song", "song-7000"])
@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, CONFIRMED),
        ({"annealed_-6": 2.2}, REFUTED),
        ({"annealed_-3": 2.2}, REFUTED),
        ({"annealed_-4": scattered(2.0)}, UNDECIDED),
        ({"fixed_-5": None}, NOT_RUN),
    ],
)
def test_k28_compares_annealed_with_fixed(dataset, levels, expected):
    assert verdict("K28", scene(ANNEALING, dataset, **levels), dataset) is expected


def test_k28_is_about_song_and_bike_alone():
    assert found("K28", scene(ANNEALING)) == {}


def test_k28_is_without_dropout():
    usual = {
        name: (method, {}, level) for name, (method, _, level) in ANNEALING.items()
    }
    # By the protocol Song has dropout, and Bike has none.
    assert verdict("K28", scene(usual, "song"), "song") is NOT_RUN
    assert verdict("K28", scene(usual, "bike"), "bike") is CONFIRMED
