"""The metrics of tables: the CRPS by 20 quantiles against its closed form."""

import numpy as np
import pytest
from scipy import stats

from histreg.study.shapes.predictions import LEVELS, Prediction
from histreg.study.tables.metrics import COMPARED_METRICS, CRPS


def normal_crps(z):
    """Return the CRPS of a standard normal in closed form (Gneiting et al. 2005)."""
    density, share = stats.norm.pdf(z), stats.norm.cdf(z)
    return z * (2 * share - 1) + 2 * density - 1 / np.sqrt(np.pi)


def test_levels_are_the_midpoints_of_twenty_intervals():
    np.testing.assert_allclose(LEVELS, (np.arange(20) + 0.5) / 20)


@pytest.mark.parametrize("z", [-3.0, -1.0, 0.0, 0.4, 2.0])
def test_twenty_quantiles_of_a_normal_have_nearly_its_crps(z):
    loc, scale = 5.0, 2.0
    prediction = Prediction.of_quantiles(stats.norm.ppf(LEVELS, loc, scale)[None, :])
    scores = prediction.scores(np.array([loc + scale * z]))
    # The midpoint rule: each interval of levels errs by at most 1 / 400 of a slope of
    # 1 in y, and the outermost by the tail beyond the level 0.025, of 0.02 sd.
    assert scores[CRPS] == pytest.approx(scale * normal_crps(z), abs=scale * 0.02)
    assert {*COMPARED_METRICS} <= scores.keys()


def test_residuals_of_a_normal_have_nearly_its_crps():
    residuals = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    prediction = Prediction.of_residuals(np.array([10.0]), residuals)
    scores = prediction.scores(np.array([10.4]))
    assert scores[CRPS] == pytest.approx(normal_crps(0.4), abs=0.01)
    assert scores["test MAE"] == pytest.approx(0.4)  # of the point
    assert scores["test MAE of the median"] == pytest.approx(0.4)
