"""Settings are searched by cross-validated CRPS, and a search goes on."""

import inspect
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from histreg import HistogramRegressor
from histreg.errors import InputError
from histreg.tabular import tuning
from histreg.tabular.tuning import DEFAULT_SETTINGS, Tuning, _arguments, tune
from histreg.tabular.verdict import Estimate

QUICK = {"n_estimators": 1, "max_iter": 1, "blend_with": ()}


def table(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=n), "kind": rng.choice(["a", "b"], n)})
    return X, X["x"].to_numpy() + rng.normal(size=n)


def test_the_first_settings_are_the_defaults_of_the_regressor():
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(HistogramRegressor).parameters.items()
    }
    for name, value in _arguments(DEFAULT_SETTINGS).items():
        if name == "n_waves":
            assert defaults[name] == "auto" and value == 4  # of tables not too wide
        else:
            assert list(np.atleast_1d(defaults[name])) == list(np.atleast_1d(value))


def test_a_search_stops_goes_on_and_knows_its_table(tmp_path):
    X, y = table()
    path = tmp_path / "search.journal"
    options = {"time_budget_s": 600, "folds": 2, "fixed": QUICK, "storage": path}
    seen = []
    first = tune(
        X, y, n_trials=1, on_trial=lambda *trial: seen.append(trial), **options
    )
    assert first.n_trials == 1 and first.gain is None
    assert first.settings == _arguments(DEFAULT_SETTINGS)
    assert seen == [(1, first.crps, first.crps)]
    assert first.crps == first.crps_of_defaults
    assert str(first).startswith("Only the defaults were tried")
    assert str(replace(first, n_trials=9)) == "The defaults are the best of 9 settings."
    more = tune(X, y, n_trials=3, on_trial=lambda *trial: seen.append(trial), **options)
    assert [number for number, _, _ in seen] == [1, 2, 3]
    assert more.n_trials == 3 and more.crps == min(crps for _, crps, _ in seen)
    assert more.crps_of_defaults == first.crps
    HistogramRegressor(**QUICK, **more.settings).fit(X, y)
    for other in ({"folds": 3}, {"fixed": {**QUICK, "max_iter": 2}}):
        with pytest.raises(InputError, match="holds trials of another table"):
            tune(X, y, **{**options, **other})
    with pytest.raises(InputError, match="holds trials of another table"):
        tune(X.assign(x=0.0), y, **options)


def test_a_search_that_was_stopped_tries_the_defaults_again(tmp_path, monkeypatch):
    X, y = table()
    options = {"time_budget_s": 600, "folds": 2, "fixed": QUICK, "n_trials": 1}
    options["storage"] = tmp_path / "search.journal"

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tuning, "compare", stop)
        with pytest.raises(KeyboardInterrupt):
            tune(X, y, **options)
    again = tune(X, y, **options)
    assert again.n_trials == 1 and again.settings == _arguments(DEFAULT_SETTINGS)


def test_a_budget_that_is_over_ends_after_the_defaults():
    X, y = table()
    assert tune(X, y, time_budget_s=1e-9, folds=2, fixed=QUICK).n_trials == 1


@pytest.mark.parametrize(
    "low, high, words",
    [
        (0.01, 0.03, "more than noise."),
        (-0.01, 0.03, "not more than noise, so keep the defaults."),
        (-0.03, -0.01, "worse on fresh folds, so keep the defaults."),
    ],
)
def test_a_gain_is_put_into_words(low, high, words):
    gain = Estimate((low + high) / 2, low, high)
    text = str(Tuning({}, 9, 1.0, 1.1, gain))
    assert text.startswith("The best of 9 settings lowers the CRPS") and words in text


def test_wrong_options_are_refused(tmp_path):
    X, y = table()
    with pytest.raises(InputError, match="time_budget_s must be finite and positive"):
        tune(X, y, time_budget_s=0)
    with pytest.raises(InputError, match="folds must be a whole number"):
        tune(X, y, time_budget_s=1, folds=1)
    (tmp_path / "bad").write_text("no journal\n")
    with pytest.raises(InputError, match="bad cannot be used as the file of a search"):
        tune(X, y, time_budget_s=1, storage=tmp_path / "bad")
