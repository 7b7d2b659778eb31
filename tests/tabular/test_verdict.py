"""A verdict in words, from the scores of rows."""

import re

import numpy as np
import pytest

from histreg.tabular.scores import RowScores, row_scores_of_point
from histreg.tabular.verdict import Estimate, Verdict, bootstrap_means, verdict_on

N = 500


def rows(crps, error=None):
    y = np.random.default_rng(1).normal(size=len(crps))
    error = crps if error is None else error
    return RowScores(y, error, error, crps, np.ones(len(crps)), np.ones(len(crps)))


def draws(mean, seed):
    return np.random.default_rng(seed).gamma(4, mean / 4, size=N)


def words(model, **others):
    named = {name.replace("_", " "): rows(crps) for name, crps in others.items()}
    return str(verdict_on(rows(model), named))


def test_the_skill_and_r2_are_their_definitions():
    rng = np.random.default_rng(0)
    y = rng.normal(3, 2, size=N)
    predicted = y + rng.normal(size=N)
    model = row_scores_of_point(predicted, y, rng.normal(size=300))
    constant = row_scores_of_point(np.full(N, y.mean()), y, y - y.mean())
    verdict = verdict_on(model, {"constant": constant})
    expected = 1 - model.crps.mean() / constant.crps.mean()
    assert verdict.skill.value == pytest.approx(expected)
    r2 = 1 - np.mean((predicted - y) ** 2) / np.var(y)
    assert verdict.r2.value == pytest.approx(r2)
    assert verdict.best is None and verdict.gain is None
    means = model.means(constant)
    assert (means.skill, means.r2) == pytest.approx((expected, r2))


def test_bootstrap_intervals_of_a_mean_are_those_of_its_standard_error():
    x = np.random.default_rng(0).normal(size=(N, 1))
    drawn = bootstrap_means(x)
    low, high = np.quantile(drawn, [0.025, 0.975])
    error = x.std() / np.sqrt(N)
    # The ends are quantiles of 1,000 draws: within a tenth of the width.
    np.testing.assert_allclose(
        [low, high], x.mean() + 1.96 * error * np.array([-1, 1]), atol=0.4 * error
    )


def test_the_calibrated_distribution_is_judged_if_it_is_surely_better():
    model, others = rows(draws(1.0, 0)), {"constant": rows(draws(2.0, 1))}
    better = rows(model.crps * 0.8)
    verdict = verdict_on(model, others, calibrated=better)
    assert verdict.skill == verdict_on(better, others).skill
    assert verdict.calibration is not None
    assert verdict.calibration.value == pytest.approx(0.2)
    assert str(verdict).endswith("20 % better than the uncalibrated one (20 to 20 %).")
    noise = np.random.default_rng(2).normal(0, 0.3, size=N)
    level = rows(model.crps * np.exp(noise - noise.mean()))
    same = verdict_on(model, others, calibrated=level)
    assert same == verdict_on(model, others) and same.calibration is None


def test_groups_are_drawn_whole():
    level = np.random.default_rng(0).normal(size=20)
    x = level.repeat(25)[:, None]  # all rows of a group are the same
    drawn = bootstrap_means(x, groups=np.arange(20).repeat(25))
    assert drawn.std() == pytest.approx(level.std() / np.sqrt(20), rel=0.1)
    assert bootstrap_means(x).std() < drawn.std() / 3


def test_a_simple_model_that_is_nearly_exact_is_named_without_a_number():
    model, exact = draws(1.0, 0), draws(1e-13, 1)
    sentence = words(model, constant=draws(9.0, 2), linear_regression=exact)
    assert "linear regression is better by far" in sentence and "check" in sentence
    assert "better, by 20 %" in words(
        draws(1.2, 0), constant=draws(9.0, 2), linear_regression=draws(1.0, 0)
    )


@pytest.mark.parametrize(
    "mean, sentence",
    [
        (0.5, r"Better than a constant \(skill 5\d %, 95 % interval 4\d to 5\d\)\."),
        (1.3, "Worse than a constant"),
    ],
)
def test_the_skill_is_put_into_words(mean, sentence):
    assert re.match(sentence, words(draws(mean, 0), constant=draws(1.0, 2)))


def test_a_small_or_an_unsure_skill_is_called_so():
    noise = draws(1.0, 0)
    assert words(0.98 * noise, constant=noise).startswith(
        "Barely better than a constant (skill 2.0 %"
    )
    unsure = words(0.99 * noise[::-1], constant=noise)
    assert unsure.startswith("Not clearly better than a constant (skill ")


def test_the_best_simple_model_is_named_with_the_gain():
    noise = draws(1.0, 0)
    others = {
        "constant": 2 * noise,
        "boosting": noise,
        "linear_regression": 1.5 * noise,
    }
    better = words(0.6 * noise, **others)
    assert "40 % better than the best simple model, boosting" in better
    assert "simple model boosting is better, by 20 %" in words(1.2 * noise, **others)
    level = words(draws(1.0, 7), **others)
    assert "The simple model boosting is as good" in level


def test_fewer_than_ten_rows_allow_no_verdict():
    model, others = draws(0.5, 0), {"constant": draws(1.0, 1)}
    for n, is_enough in ((1, False), (9, False), (10, True)):
        few = {name: rows(crps[:n]) for name, crps in others.items()}
        verdict = verdict_on(rows(model[:n]), few)
        assert verdict.n_rows == n and verdict.has_few_rows != is_enough
        assert ("too few for a verdict" in str(verdict)) != is_enough
        assert is_enough or not verdict.is_useful


def test_a_model_that_is_worse_by_far_has_no_skill_of_many_digits():
    text = words(1e12 * draws(1.0, 0), constant=draws(1.0, 1))
    assert text.startswith("Worse than a constant by far: its CRPS is over ten times")


def test_an_end_that_is_nearly_zero_has_a_digit():
    gain = Estimate(0.072, 0.003, 0.141)
    skill = Estimate(0.45, 0.37, 0.53)
    text = str(Verdict(skill, skill, best="boosting", gain=gain))
    assert "7.2 % better than the best simple model, boosting (0.3 to 14.1 %)" in text


def test_simple_models_that_are_worse_than_a_constant_are_not_the_best():
    noise = draws(1.0, 0)
    text = words(0.9 * noise, constant=noise, boosting=1.2 * noise)
    assert text.endswith("No simple model has a lower CRPS than a constant.")


def test_a_target_without_variation_has_no_skill():
    nothing = np.zeros(N)
    verdict = verdict_on(rows(nothing), {"constant": rows(nothing)})
    assert verdict.skill == Estimate(0.0, 0.0, 0.0) and not verdict.is_useful
    assert "Not clearly better" in str(Verdict(verdict.skill, verdict.r2))
