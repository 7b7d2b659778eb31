"""K5 to K12 on made-up records."""

import pytest

from histreg.study.analysis.paper import UNMATCHED, rows_of
from histreg.study.claims import CLAIMS, Evidence, Verdict
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    HLGauss,
    HLOneBin,
    L2Clipping,
    L2Noise,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
    LinearRegression,
)
from tests.study.claims.made_up import found, scattered, scene, verdict

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN

# As the paper has it on Pole.
METHODS = {
    "ols": (LinearRegression(), {}, 9.0),
    "l2": (L2(), {}, 3.0),
    "noise": (L2Noise(0.1), {}, 2.8),
    "clipping": (L2Clipping(0.1), {}, 2.8),
    "l1": (L1(), {}, 2.0),
    "mdn": (MDN(2), {}, 2.5),
    "per_bin": (L2SoftmaxPerBin(), {}, 1.2),
    "softmax": (L2SoftmaxMean(), {}, 2.0),
    "one_bin": (HLOneBin(), {}, 4.0),
    "gauss": (HLGauss(), {}, 1.0),
}
ON_BIKE = {"one_bin": 2.0}
ON_SONG = {"one_bin": 2.0, "l1": 0.9, "ols": 1.05, "l2": 1.1, "softmax": 1.05} | {
    each: 1.07 for each in ("noise", "clipping", "mdn")
}

CASES = [
    ("K5", {}, CONFIRMED),
    ("K5", {"l1": 0.9}, REFUTED),
    ("K5", {"softmax": 0.9}, REFUTED),
    ("K5", {"mdn": scattered(1.0)}, UNDECIDED),
    ("K5", {"mdn": None}, NOT_RUN),
    ("K5", {"ols": 0.1, "per_bin": 0.1}, CONFIRMED),  # neither is in the list
    ("K6", {}, CONFIRMED),
    ("K6", {"mdn": 0.9}, REFUTED),
    ("K6", {"mdn": scattered(1.0)}, UNDECIDED),
    ("K6", {"mdn": None}, NOT_RUN),
    ("K7", {}, CONFIRMED),
    ("K7", {"noise": 3.3}, REFUTED),  # on the only data set there is
    ("K7", {"clipping": 0.9}, REFUTED),
    ("K7", {"clipping": scattered(3.0)}, UNDECIDED),
    ("K7", {"noise": None, "clipping": None}, NOT_RUN),
    ("K7b", {}, CONFIRMED),
    ("K7b", {"noise": 3.3}, REFUTED),
    ("K7b", {"clipping": 0.9}, CONFIRMED),  # HL-Gauss is not its subject
    ("K7b", {"clipping": scattered(3.0)}, UNDECIDED),
    ("K7b", {"noise": None}, NOT_RUN),
    ("K8", {}, NOT_RUN),  # which loss the row has cannot be told
    ("K8b", {}, CONFIRMED),
    ("K8b", {"softmax": 0.9}, REFUTED),
    ("K8b", {"softmax": 3.3}, REFUTED),
    ("K8b", {"softmax": scattered(3.0)}, UNDECIDED),
    ("K8b", {"softmax": None}, NOT_RUN),
    ("K9", {}, NOT_RUN),
    ("K9b", {}, CONFIRMED),
    ("K9b", {"per_bin": 9.0}, REFUTED),
    ("K9b", {"softmax": 3.3}, REFUTED),
    ("K9b", {"per_bin": scattered(2.0)}, UNDECIDED),
    ("K9b", {"per_bin": None}, NOT_RUN),
    ("K10", {}, CONFIRMED),
    ("K10", {"one_bin": 2.0}, REFUTED),
    ("K10", {"one_bin": scattered(3.0)}, UNDECIDED),
    ("K10", {"one_bin": None}, NOT_RUN),
    ("K12", {}, CONFIRMED),
    ("K12", {"ols": 5.5}, REFUTED),  # worse, but not far worse
    ("K12", {"ols": scattered(6.0)}, UNDECIDED),
    ("K12", {"ols": None}, NOT_RUN),
]


@pytest.mark.parametrize(("claim", "levels", "expected"), CASES)
def test_test_mae_decides_on_pole(claim, levels, expected):
    assert verdict(claim, scene(METHODS, **levels)) is expected


@pytest.mark.parametrize(
    ("claim", "levels", "expected"),
    [
        ("K10", {}, CONFIRMED),
        ("K10", {"one_bin": 3.3}, REFUTED),
        ("K11", {}, CONFIRMED),
        ("K11", {"one_bin": 3.3}, REFUTED),
        ("K11", {"noise": scattered(3.0)}, UNDECIDED),
        ("K11", {"clipping": None}, NOT_RUN),
    ],
)
def test_test_mae_decides_on_bike(claim, levels, expected):
    records = scene(METHODS, "bike", **(ON_BIKE | levels))
    assert verdict(claim, records, "bike") is expected


@pytest.mark.parametrize("song", ["song", "song-7000"])
@pytest.mark.parametrize(
    ("claim", "levels", "expected"),
    [
        ("K5", {}, CONFIRMED),
        ("K5", {"l1": 1.1}, REFUTED),  # HL-Gauss is to be the second
        ("K5", {"mdn": 0.95}, REFUTED),
        ("K5", {"l1": scattered(1.0)}, UNDECIDED),
        ("K5", {"l1": None}, NOT_RUN),
        ("K10", {"one_bin": 1.0}, CONFIRMED),
        ("K10", {"one_bin": 1.2}, REFUTED),
        ("K12", {}, CONFIRMED),
        ("K12", {"ols": 0.5}, CONFIRMED),
        ("K12", {"ols": 1.2}, REFUTED),  # a third above the best, l1
        ("K12", {"ols": scattered(1.08)}, UNDECIDED),
        ("K12", {"mdn": None}, NOT_RUN),  # could be the best
    ],
)
def test_test_mae_decides_on_song(song, claim, levels, expected):
    records = scene(METHODS, song, **(ON_SONG | levels))
    assert verdict(claim, records, song) is expected


def test_k11_is_about_bike_alone():
    assert found("K11", scene(METHODS)) == {}
    assert verdict("K11", scene(METHODS)) is NOT_RUN


@pytest.mark.parametrize(
    ("softmax_on_ct", "expected"),
    [
        (1.2, CONFIRMED),  # a tenth of the way, on Pole a half
        (2.4, REFUTED),
        (scattered(2.0), UNDECIDED),
        (None, NOT_RUN),
    ],
)
def test_k8b_compares_shares_of_the_way_to_l2(softmax_on_ct, expected):
    records = scene(METHODS) + scene(METHODS, "ct", softmax=softmax_on_ct)
    part = "l2+Softmax+Mean closer to HL-Gauss on CT Position than on Pole"
    assert found("K8b", records, "ct", "pole")[part].verdict is expected


def test_k8b_measures_the_way_from_hl_gauss():
    on_ct = scene(METHODS, "ct", l2=11.0, gauss=10.0, softmax=10.1)
    part = "l2+Softmax+Mean closer to HL-Gauss on CT Position than on Pole"
    told = found("K8b", scene(METHODS) + on_ct, "ct", "pole")[part]
    assert told.verdict is CONFIRMED
    assert told.numbers.startswith("0.1 against 0.5,")


def test_k8b_says_nothing_of_distances_without_ct():
    records = scene(METHODS) + scene(METHODS, "bike")
    assert len(found("K8b", records, "bike", "pole")) == 4


def test_k8b_stands_where_l2_and_hl_gauss_are_equal():
    records = scene(METHODS, l2=1.0) + scene(METHODS, "ct")
    part = "l2+Softmax+Mean closer to HL-Gauss on CT Position than on Pole"
    assert found("K8b", records, "ct", "pole")[part].verdict is NOT_RUN


@pytest.mark.parametrize("claim", ["K8", "K9"])
def test_what_has_the_row_of_no_method_is_not_judged(claim):
    told = found(claim, scene(METHODS))["the paper's row l2+Softmax"]
    assert told.verdict is NOT_RUN
    assert "cannot be told" in told.numbers


def test_tuned_methods_without_validation_rows_are_not_run():
    records = [each for each in scene(METHODS) if each.run.part == "test"]
    assert verdict("K6", records) is NOT_RUN
    assert verdict("K8b", records) is CONFIRMED


def test_each_data_set_that_was_not_run_is_named():
    told = found("K6", scene(METHODS), "bike", "pole")
    assert {part: each.verdict for part, each in told.items()} == {
        "Bike Sharing: HL-Gauss below MDN": NOT_RUN,
        "Pole: HL-Gauss below MDN": CONFIRMED,
    }


def test_a_reduced_study_is_evidence_only_where_it_is_asked_for():
    epochs = {"epochs": 3}
    conditions = {
        name: (method, epochs, level)
        for name, (method, _, level) in METHODS.items()
        if name in ("l2", "softmax", "gauss")
    }
    records = scene(conditions)
    assert verdict("K8b", records) is NOT_RUN
    assert verdict("K8b", records, epochs=3) is CONFIRMED


def test_noise_and_clipping_may_each_help_on_a_data_set_of_its_own():
    records = [
        *scene(METHODS, noise=3.3),
        *scene(METHODS, "bike", **(ON_BIKE | {"clipping": 3.3})),
    ]
    assert verdict("K7", records, "bike", "pole") is CONFIRMED
    assert verdict("K7b", records, "bike", "pole") is REFUTED
    noise = found("K7", records, "bike", "pole")["l2+Noise below l2 on some data set"]
    assert noise.on == ("bike", "pole")
    assert noise.numbers.startswith("Bike Sharing confirmed: 2.8 against 3,")
    assert "; Pole refuted: 3.3 against 3," in noise.numbers


def test_networks_are_the_papers_rows_that_have_a_method_of_ours():
    told = found("K5", scene(METHODS))
    others = {part.removeprefix("Pole: HL-Gauss below ") for part in told}
    assert others == {
        row
        for row in rows_of("overall")
        if row not in ("Linear Regression", "HL-Gauss", *UNMATCHED)
    }


def test_where_the_paper_chooses_settings_otherwise_nothing_is_confirmed():
    records = scene(METHODS, "bike", **ON_BIKE)
    judgement = CLAIMS["K11"].judge(Evidence(records))
    assert judgement.verdict is Verdict.HOLDS_SO_FAR
    assert judgement.on == (
        "bike (1 of 1 data set); settings chosen on validation rows; without l2+Softmax"
    )
