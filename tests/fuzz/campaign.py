"""Campaigns: random cases against one promise, from seeds that repeat them."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class BrokenPromiseError(AssertionError):
    """A case did not end as it must."""


@dataclass(frozen=True)
class Campaign:
    """Random cases against one promise.

    Parameters
    ----------
    name : str
    promise : str
        What must hold in every case, in words.
    case : callable
        (random.Random, an empty folder) -> how the case ended, in a word or two.
        Raises if the promise is broken.
    """

    name: str
    promise: str
    case: Callable[[random.Random, Path], str]


@dataclass
class Tally:
    """How the cases of a campaign ended."""

    campaign: Campaign
    outcomes: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, str]] = field(default_factory=list)
    """The seed of each case that broke the promise, and how."""

    @property
    def n_tried(self) -> int:
        """The number of cases."""
        return self.outcomes.total() + len(self.broken)

    def row(self) -> str:
        """Return a row of a Markdown table."""
        ended = ", ".join(f"{n} {how}" for how, n in sorted(self.outcomes.items()))
        return (
            f"| {self.campaign.name} | {self.campaign.promise} | {self.n_tried} | "
            f"{ended} | {len(self.broken)} |"
        )


HEADER = "| what was tried | what must hold | cases | how they ended | broken |"
RULE = "|---|---|---|---|---|"


def attempt(campaign: Campaign, seed: str, tally: Tally) -> None:
    """Run the case of a seed and note how it ended."""
    folder = Path(tempfile.mkdtemp(prefix="histreg-fuzz-"))
    try:
        tally.outcomes[campaign.case(random.Random(seed), folder)] += 1
    except Exception:
        tally.broken.append((seed, traceback.format_exc()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fuzz(
    campaigns: Sequence[Campaign],
    *,
    seed: int,
    seconds: float,
    most_cases: int | None = None,
    on_case: Callable[[Tally], None] = lambda _: None,
) -> list[Tally]:
    """Give each campaign an equal share of the time, or a number of cases.

    The i-th case of a campaign has the seed ``"<seed>-<campaign>-<i>"`` and depends on
    nothing else.
    """
    tallies = []
    for campaign in campaigns:
        tally = Tally(campaign)
        deadline = time.monotonic() + seconds / len(campaigns)
        while time.monotonic() < deadline and tally.n_tried != most_cases:
            attempt(campaign, f"{seed}-{campaign.name}-{tally.n_tried}", tally)
            on_case(tally)
        tallies.append(tally)
    return tallies
