"""K36 and K37 on made-up records."""

import math

import pytest

from histreg.study.catalogue import VALUE_GAMES, VALUE_HL
from histreg.study.claims import CLAIMS, Evidence, Verdict, verdict_of
from histreg.study.methods import L2
from tests.study.claims.made_up import found, verdict
from tests.study.made_up import value_records

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN
BOTH = pytest.mark.parametrize("claim", ["K36", "K37"])

L2_MAE, L2_RMSE = 0.02, 0.05
N = len(VALUE_GAMES)
# Logs of ratios, a little different in each game, so that there is a spread.
LOWER = [-0.3 - 0.01 * i for i in range(N)]
HIGHER = [-each for each in LOWER]
SCATTERED = [(-1) ** i * (0.3 + 0.01 * i) for i in range(N)]


def scene(mae=LOWER, rmse=LOWER, games=VALUE_GAMES, n_seeds=2, **changes):
    """Return records of both losses with these log ratios, game by game."""
    records = []
    for game, log_mae, log_rmse in zip(games, mae, rmse, strict=False):
        for method, factors in (
            (L2(), (1.0, 1.0)),
            (VALUE_HL, (math.exp(log_mae), math.exp(log_rmse))),
        ):
            # A seed is worse than the other by as much with both losses.
            seeds = [1.0, 1.5][:n_seeds]
            records += value_records(
                game,
                method,
                [L2_MAE * factors[0] * worse for worse in seeds],
                test_rmse=[L2_RMSE * factors[1] * worse for worse in seeds],
                **changes,
            )
    return records


def judged(claim, records, **options):
    return verdict_of(CLAIMS[claim].find(Evidence(records, **options)))


@BOTH
@pytest.mark.parametrize(
    ("logs", "expected"),
    [(LOWER, CONFIRMED), (HIGHER, REFUTED), (SCATTERED, UNDECIDED)],
    ids=["lower", "higher", "scattered"],
)
def test_each_verdict_comes_by_its_ratios(claim, logs, expected):
    assert judged(claim, scene(logs, logs)) is expected


def test_k36_is_about_mae_and_k37_about_rmse():
    records = scene(mae=LOWER, rmse=HIGHER)
    assert (judged("K36", records), judged("K37", records)) == (CONFIRMED, REFUTED)
    records = scene(mae=SCATTERED, rmse=LOWER)
    assert (judged("K36", records), judged("K37", records)) == (UNDECIDED, CONFIRMED)


def test_k36_needs_most_games_and_the_mean():
    # Lower in 5 of 14, by so much that the mean is too (t = -2.5 of 13).
    few = [-3.0, -3.5, -2.5, -4.0, -3.0] + [0.05 + 0.01 * i for i in range(N - 5)]
    parts = {each.part: each for each in CLAIMS["K36"].find(Evidence(scene(few)))}
    most, mean = parts.values()
    assert "in most games" in most.part and "on average" in mean.part
    assert most.verdict is UNDECIDED and mean.verdict is CONFIRMED
    assert judged("K36", scene(few)) is UNDECIDED
    # Lower in 13 of 14, by so little that the mean is not.
    many = [-0.01 - 0.001 * i for i in range(N - 1)] + [0.9]
    most, mean = CLAIMS["K36"].find(Evidence(scene(many)))
    assert (most.verdict, mean.verdict) == (CONFIRMED, UNDECIDED)
    assert judged("K36", scene(many)) is UNDECIDED


def test_the_numbers_that_decided_are_told():
    # 470 of 2 ** 14 ways have 11 or more: more than one in forty, so 0.5 is inside.
    logs = [-0.3] * 11 + [0.3] * 3
    most, mean = CLAIMS["K36"].find(Evidence(scene(logs)))
    assert most.part == "HL-Gauss below l2 in most games (test MAE)"
    assert most.numbers.startswith("11 of 14 games, as a share [0.492, ")
    assert most.numbers.endswith("], claimed above 0.5")
    assert most.verdict is UNDECIDED
    # Mean -2.4 / 14; of the squares 14 * 0.09 are 0.8486 beside it: an error of 0.0683,
    # and t of 13 degrees of freedom has 2.160 of it.
    assert mean.numbers == (
        "mean log ratio -0.171 over 14 games [-0.319, -0.0239], claimed below 0"
    )
    # 106 of 2 ** 14 ways have 12 or more, fewer than one in forty.
    most, _ = CLAIMS["K36"].find(Evidence(scene([-0.3] * 12 + [0.3] * 2)))
    assert most.verdict is CONFIRMED


@BOTH
def test_as_long_as_a_game_is_missing_nothing_is_decided(claim):
    records = [each for each in scene() if each.run.dataset != "Solaris"]
    for finding in CLAIMS[claim].find(Evidence(records)):
        assert finding.verdict is NOT_RUN
        assert finding.numbers == "13 of 14 games have 2 seeds finite"


@BOTH
@pytest.mark.parametrize("method", [L2(), VALUE_HL], ids=["l2", "HL-Gauss"])
def test_as_long_as_a_seed_of_a_loss_is_missing_nothing_is_decided(claim, method):
    records = scene()
    gone = next(r for r in records if (r.run.method, r.run.seed) == (method, 2))
    records.remove(gone)
    assert judged(claim, records) is NOT_RUN
    assert judged(claim, scene(n_seeds=1)) is NOT_RUN


@BOTH
def test_other_protocols_are_not_the_papers(claim):
    assert judged(claim, scene(target="textbook")) is NOT_RUN
    assert judged(claim, scene(learning_rate=1e-3)) is NOT_RUN
    assert judged(claim, scene(epochs=3)) is NOT_RUN
    assert judged(claim, scene(epochs=3), epochs=3) is CONFIRMED


@BOTH
def test_other_games_are_judged_if_they_are_asked_for(claim):
    games = ("Pong", "Alien", "Qbert", "Hero", "Krull", "Amidar")
    records = scene(games=games)
    assert judged(claim, records) is NOT_RUN
    assert verdict(claim, records, *games) is CONFIRMED
    # Four games cannot decide.
    assert verdict(claim, records, *games[:4]) is NOT_RUN
    few = found(claim, records, *games[:4]).values()
    assert {each.numbers for each in few} == {"4 games, of at least 5"}


@BOTH
def test_nothing_is_said_of_tables_and_series(claim):
    assert found(claim, scene(), "pole", "ETTh1") == {}


@BOTH
def test_games_are_the_sample_so_that_every_finding_is_on_all(claim):
    assert {each.on for each in CLAIMS[claim].find(Evidence(scene()))} == {VALUE_GAMES}


@BOTH
def test_some_games_and_few_frames_confirm_nothing(claim):
    judgement = CLAIMS[claim].judge(Evidence(scene()))
    assert judgement.verdict is Verdict.HOLDS_SO_FAR
    assert judgement.on == (f"{N} of 55 games; 250,000 of 10,000,000 frames of each")
