"""``python -m tests.fuzz``: all campaigns for some minutes, then a table."""

from __future__ import annotations

import argparse
import secrets
import sys

import torch

from tests.fuzz.campaign import HEADER, RULE, Tally, attempt, fuzz
from tests.fuzz.campaigns import CAMPAIGNS


def main() -> int:
    """Run the campaigns; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--only", choices=sorted(CAMPAIGNS), nargs="+")
    parser.add_argument("--repeat", metavar="SEED", help="one case, as it was printed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.repeat:
        name = options.repeat.split("-", 1)[1].rsplit("-", 1)[0]
        tally = Tally(CAMPAIGNS[name])
        attempt(tally.campaign, options.repeat, tally)
        tallies = [tally]
    else:
        print(f"seed {options.seed}, {options.minutes:g} minutes", flush=True)
        chosen = [CAMPAIGNS[name] for name in options.only or CAMPAIGNS]
        tallies = fuzz(
            chosen, seed=options.seed, seconds=60 * options.minutes, on_case=_show
        )
    for tally in tallies:
        for seed, how in tally.broken:
            print(f"\nbroken by --repeat {seed}:\n{how}")
    print("\n".join(["", HEADER, RULE, *(tally.row() for tally in tallies)]))
    return int(any(tally.broken for tally in tallies))


def _show(tally: Tally) -> None:
    if sys.stderr.isatty():
        told = (
            f"{tally.campaign.name}: {tally.n_tried} cases, {len(tally.broken)} broken"
        )
        print(f"\r{told:<78}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
