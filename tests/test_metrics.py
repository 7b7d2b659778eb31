"""Metrics: how good a predicted distribution is."""

import math
import pickle

import numpy as np
import pytest
import scipy.stats
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from histreg import Bins, Histogram, InputError, metrics
from histreg.metrics import SCORERS, Scorer


def spread(y: np.ndarray, n: int) -> Histogram:
    """Return n copies of the histogram of y."""
    bins = Bins.of(y, n_bins=40)
    counts = torch.bincount(bins.index_of(torch.tensor(y)), minlength=40).double()
    return Histogram(bins, probs=counts / counts.sum()).expand((n,))


class Marginal(BaseEstimator, RegressorMixin):
    """Predicts the training targets' own histogram, whatever X."""

    def fit(self, X, y):  # noqa: ARG002
        self.y_ = np.asarray(y)
        return self

    def predict_dist(self, X):
        return spread(self.y_, len(X))

    def predict(self, X):
        return np.full(len(X), self.y_.mean())


class Own(Marginal):
    """The same on bins that end with the training targets."""

    def predict_dist(self, X):
        borders = np.linspace(self.y_.min(), self.y_.max(), 16)
        mass, _ = np.histogram(self.y_, borders)
        probs = torch.tensor(mass / mass.sum()).expand(len(X), -1)
        return Histogram(Bins(borders), probs=probs)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 2)), rng.gamma(2.0, size=200)


def test_values_by_hand():
    d = Histogram(
        Bins([0.0, 1.0, 3.0]), probs=torch.tensor([[0.25, 0.75]] * 3).double()
    )
    y = [0.5, 2.0, 9.0]
    assert metrics.pit(d, y).tolist() == [0.125, 0.625, 1.0]
    expected = [-math.log(0.25), -math.log(0.375), math.inf]
    torch.testing.assert_close(
        metrics.log_score(d, y), torch.tensor(expected, dtype=torch.float64)
    )
    torch.testing.assert_close(metrics.crps(d, y), d.crps(torch.tensor(y)))


def test_a_density_not_a_probability_is_scored():
    # A pdf that forgets the bin width does not change when y changes its unit.
    here = Histogram(Bins.uniform(0.0, 1.0, 10), logits=torch.zeros(1, 10))
    there = Histogram(Bins.uniform(0.0, 1000.0, 10), logits=torch.zeros(1, 10))
    gain = metrics.log_score(there, [500.0]) - metrics.log_score(here, [0.5])
    assert gain.item() == pytest.approx(math.log(1000), rel=1e-6)


def test_pinball_is_scikit_learns(data):
    _, y = data
    quantile = np.full_like(y, 1.3)
    for level in (0.1, 0.5, 0.9):
        ours = metrics.pinball(quantile, y, level=level).mean().item()
        assert ours == pytest.approx(mean_pinball_loss(y, quantile, alpha=level))


def test_the_mean_pinball_over_all_levels_is_half_the_crps():
    # CRPS = 2 x the integral of the pinball loss over levels (midpoint rule, 4,000).
    d = Histogram(Bins([0.0, 1.0, 3.0]), probs=torch.tensor([0.25, 0.75]).double())
    levels = (torch.arange(4000, dtype=torch.float64) + 0.5) / 4000
    y = torch.full((4000,), 1.7, dtype=torch.float64)
    quantiles = d.icdf(levels)
    losses = [
        metrics.pinball(q, z, level=level.item()).item()
        for q, z, level in zip(quantiles, y, levels, strict=True)
    ]
    assert 2 * np.mean(losses) == pytest.approx(d.crps(1.7).item(), rel=1e-5)


def test_interval_score_coverage_and_width_by_hand():
    lower, upper, y = [0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.5, 1.0, 3.0, 0.0]
    score = metrics.interval_score(lower, upper, y, coverage=0.9)
    torch.testing.assert_close(score, torch.tensor([1.0, 1.0, 41.0, 20.0]).double())
    assert metrics.covered(lower, upper, y).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert metrics.width(lower, upper).tolist() == [1.0, 1.0, 1.0, 0.0]


def test_the_interval_score_is_the_sum_of_two_pinballs():
    y = torch.linspace(-2, 3, 11).double()
    lower, upper = torch.zeros(11).double(), torch.ones(11).double()
    pinballs = metrics.pinball(lower, y, level=0.05) + metrics.pinball(
        upper, y, level=0.95
    )
    score = metrics.interval_score(lower, upper, y, coverage=0.9)
    torch.testing.assert_close(score, pinballs * 20)


def test_the_true_distribution_is_calibrated(generator):
    d = Histogram(Bins.uniform(0.0, 1.0, 8), logits=torch.randn(4000, 8).double())
    y = d.sample(generator=generator)
    # Binomial with n = 4,000: 0.9 +- 0.024 has P(fails) < 1e-6.
    covered = metrics.covered(*d.interval(0.9), y).mean().item()
    assert covered == pytest.approx(0.9, abs=0.024)
    assert metrics.pit(d, y).mean().item() == pytest.approx(0.5, abs=0.024)


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_work_in_cross_validation(name, data):
    scores = cross_val_score(Marginal(), *data, scoring=SCORERS[name], cv=4)
    assert scores.shape == (4,) and not np.isnan(scores).any()
    if name.startswith("neg_"):
        assert (scores < 0).all()
    else:
        assert ((scores > 0.7) & (scores <= 1)).all()


def test_several_scorers_at_once(data):
    finite = {name: SCORERS[name] for name in SCORERS if name != "neg_log_score"}
    result = cross_validate(Marginal(), *data, scoring=finite, cv=2)
    assert {f"test_{name}" for name in finite} <= set(result)


def test_a_scorer_is_minus_the_mean_of_its_metric(data):
    X, y = data
    estimator = Marginal().fit(X, y)
    values = metrics.crps(estimator.predict_dist(X), y)
    assert SCORERS["neg_crps"](estimator, X, y) == pytest.approx(-values.mean().item())
    weight = np.arange(200.0)
    expected = -np.average(values.numpy(), weights=weight)
    scored = SCORERS["neg_crps"](estimator, X, y, sample_weight=weight)
    assert scored == pytest.approx(expected)


def test_a_better_forecast_scores_higher(data):
    X, y = data
    estimator = Marginal().fit(X, y)
    shifted = Marginal().fit(X, y + 3)
    for name in ("neg_crps", "neg_pinball_90", "neg_interval_score_90"):
        scorer = SCORERS[name]
        assert scorer(estimator, X, y) > scorer(shifted, X, y)


def test_scorers_see_through_pipelines_and_searches(data):
    X, y = data
    scorer = SCORERS["neg_crps"]
    plain = cross_val_score(Marginal(), X, y, scoring=scorer, cv=2)
    pipeline = make_pipeline(StandardScaler(), Marginal())
    piped = cross_val_score(pipeline, X, y, scoring=scorer, cv=2)
    assert piped.tolist() == plain.tolist()
    search = GridSearchCV(pipeline, {"standardscaler__with_mean": [True, False]}, cv=2)
    assert scorer(search.fit(X, y), X, y) < 0
    with pytest.raises(TypeError, match=r"predict_dist.* LinearRegression"):
        SCORERS["neg_log_score"](LinearRegression(), X, y)


def test_the_crps_of_one_number_is_its_absolute_error(data):
    X, y = data
    plain = LinearRegression().fit(X, y)
    expected = -np.abs(plain.predict(X) - y).mean()
    for estimator in (plain, make_pipeline(LinearRegression()).fit(X, y)):
        assert SCORERS["neg_crps"](estimator, X, y) == pytest.approx(expected)


def test_a_number_is_scored_as_a_distribution_without_spread(data):
    X, y = data
    plain = LinearRegression().fit(X, y)
    error = y - plain.predict(X)
    expected = {
        "neg_pinball_90": -np.where(error > 0, 0.9 * error, -0.1 * error).mean(),
        "neg_interval_score_90": -20 * np.abs(error).mean(),  # 2 / (1 - 0.9)
        "neg_width_90": 0.0,
        "coverage_90": (error == 0).mean(),
    }
    board = {name: SCORERS[name] for name in expected}
    found = {name: scorer(plain, X, y) for name, scorer in board.items()}
    assert found == pytest.approx(expected)
    scored = cross_validate(plain, X, y, scoring=board, cv=2)
    assert all(np.isfinite(scored[f"test_{name}"]).all() for name in board)


@pytest.mark.parametrize(
    "func, inverse",
    [(np.log, np.exp), (np.negative, np.negative), (np.reciprocal, np.reciprocal)],
)
def test_a_transformed_target_is_transformed_back(data, func, inverse):
    X, y = data
    wrapped = TransformedTargetRegressor(Own(), func=func, inverse_func=inverse)
    wrapped.fit(X, y)
    d = metrics.predicted_distribution(make_pipeline(wrapped), X)
    inner = wrapped.regressor_.predict_dist(X)
    levels = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    # Borders go to borders, and so do their probabilities.
    at = inner.bins.borders[[3, 7, 11]].numpy()
    falls = inverse(at[0]) > inverse(at[1])
    for border in at:
        below = inner.cdf(float(border))[0].item()
        found = d.cdf(float(inverse(border)))[0].item()
        assert found == pytest.approx(1 - below if falls else below)
    assert bool((d.quantiles(levels).diff(dim=0) > 0).all())
    assert SCORERS["neg_crps"](wrapped, X, y) < 0


def test_a_transformation_that_turns_is_refused(data):
    X, y = data
    wrapped = TransformedTargetRegressor(
        Own(), func=np.negative, inverse_func=np.square, check_inverse=False
    ).fit(X, y - 1)
    with pytest.raises(InputError, match="must rise or fall strictly over all bins"):
        metrics.predicted_distribution(wrapped, X)


def test_a_pipeline_may_have_one_step(data):
    X, y = data
    single = make_pipeline(Marginal()).fit(X, y)
    expected = SCORERS["neg_crps"](Marginal().fit(X, y), X, y)
    assert SCORERS["neg_crps"](single, X, y) == expected


def test_weights_without_a_mean_are_refused(data):
    X, y = data
    estimator = Marginal().fit(X, y)
    for weight in (np.zeros(200), -np.ones(200)):
        with pytest.raises(ValueError, match="sample_weight must be finite, non-neg"):
            SCORERS["neg_crps"](estimator, X, y, sample_weight=weight)


def test_an_end_rounded_to_float32_is_inside_for_the_log_score():
    d = Histogram(Bins.uniform(0, 0.1, 10), logits=torch.zeros(1, 10))
    for y in (torch.tensor([0.1]), np.array([0.1], dtype=np.float32), [0.1]):
        assert metrics.log_score(d, y).item() == pytest.approx(-math.log(10), rel=1e-6)


def test_the_distributions_of_several_targets_are_scored_one_by_one():
    d = Histogram(Bins.uniform(0, 1, 4), logits=torch.zeros(3, 4))
    with pytest.raises(
        TypeError, match=r"distribution must be a Histogram .* got tuple"
    ):
        metrics.crps((d, d), torch.zeros(3, 2))


def test_metrics_are_float64_without_gradients():
    d = Histogram(Bins.uniform(0, 1, 4), logits=torch.zeros(3, 4, requires_grad=True))
    y = torch.rand(3)
    for metric in (metrics.crps, metrics.log_score, metrics.pit):
        values = metric(d, y)
        assert values.dtype == torch.float64 and not values.requires_grad


def test_a_scorer_survives_pickling_to_other_processes():
    for scorer in SCORERS.values():
        assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_own_metrics_become_scorers(data):
    X, y = data
    absolute = Scorer(lambda d, y: (d.median - y).abs())
    assert absolute(Marginal().fit(X, y), X, y) < 0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda d: metrics.crps(d, torch.zeros(3, 1)),
            r"y must have shape \(3,\) like the distribution, got shape \(3, 1\)",
        ),
        (lambda d: metrics.log_score(d, 0.0), "y must have shape"),
        (lambda d: metrics.pit(d, [0.0, 1.0]), r"got shape \(2,\)"),
        (lambda d: metrics.pinball([0, 1], [0], level=0.5), "y must have shape"),
        (lambda d: metrics.pinball([0], [0], level=1.0), "level must lie between"),
        (
            lambda d: metrics.interval_score([0], [1], [0, 1], coverage=0.5),
            "y must have shape",
        ),
        (lambda d: metrics.covered([0], [1, 2], [0]), "upper must have shape"),
    ],
)
def test_nothing_is_broadcast(make, sentence):
    d = Histogram(Bins.uniform(0, 1, 4), logits=torch.zeros(3, 4))
    with pytest.raises(ValueError, match=sentence):
        make(d)


def test_the_log_score_of_an_interval_is_that_of_its_probability():
    probs = torch.tensor([[0.25, 0.75]] * 5, dtype=torch.float64)
    d = Histogram(Bins([0.0, 1.0, 3.0]), probs=probs)
    inf = math.inf
    lower, upper = [1.0, -inf, 0.5, 2.0, 4.0], [inf, 1.0, 2.0, 2.0, inf]
    found = metrics.interval_log_score(d, lower, upper)
    expected = [0.75, 0.25, 0.125 + 0.375, 0.375, 0.0]  # the fourth is a density
    np.testing.assert_allclose(found.neg().exp(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="lower must not exceed upper"):
        metrics.interval_log_score(d, [2.0] * 5, [1.0] * 5)
    with pytest.raises(ValueError, match="lower must have shape"):
        metrics.interval_log_score(d, [1.0], [2.0])


def test_the_true_distribution_has_the_lowest_log_score_of_intervals():
    y = np.random.default_rng(0).normal(size=4000)
    borders = np.linspace(-8, 8, 321)
    scores = []
    for mean, scale in ((0, 1), (0.2, 1), (-0.2, 1), (0, 1.3), (0, 0.75)):
        probs = np.diff(scipy.stats.norm.cdf(borders, mean, scale))
        d = Histogram(Bins(borders), probs=torch.tensor(probs).expand(4000, -1))
        found = metrics.interval_log_score(d, np.floor(y), np.ceil(y))  # brackets
        scores.append(found.mean().item())
    assert min(scores) == scores[0]
