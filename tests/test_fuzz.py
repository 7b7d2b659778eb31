"""A few cases of each campaign of `make fuzz`, always the same ones."""

import pytest

from tests.fuzz.campaign import Campaign, Tally, attempt, fuzz
from tests.fuzz.campaigns import CAMPAIGNS

SEVERAL = pytest.param(3, marks=pytest.mark.slow)


@pytest.mark.parametrize("n_cases", [1, SEVERAL])
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_what_is_promised_holds_in_random_cases(name, n_cases):
    (tally,) = fuzz([CAMPAIGNS[name]], seed=0, seconds=60, most_cases=n_cases)
    assert not tally.broken, tally.broken[0]
    assert tally.n_tried == n_cases


def test_a_broken_promise_is_counted_with_the_seed_that_repeats_it():
    drawn = []

    def case(rng, folder):
        assert folder.is_dir() and not any(folder.iterdir())
        drawn.append(rng.random())
        assert drawn[-1] < 0.5
        return "held"

    campaign = Campaign("coins", "below a half", case)
    (tally,) = fuzz([campaign], seed=7, seconds=60, most_cases=20)
    assert tally.n_tried == 20 == tally.outcomes["held"] + len(tally.broken)
    assert 0 < len(tally.broken) < 20
    again = Tally(campaign)
    seed, _ = tally.broken[0]
    attempt(campaign, seed, again)
    assert drawn[-1] in drawn[:20] and len(again.broken) == 1
