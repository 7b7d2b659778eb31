"""Atari: the recorded actions of good players in 58 games, to be replayed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from histreg.errors import InputError
from histreg.study.datasets.source import Source, names, sha256_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RESET, FIRST = ord("R"), ord("a")
RESETS = -1  # the code of a reset among those of actions


@dataclass(frozen=True, eq=False)
class Actions:
    """The actions at each frame of a game.

    Parameters
    ----------
    codes : array of int16 of shape (n,)
        The index of each action among those of the game; `RESETS` where a new game
        starts, as in the first frame.
    sha256 : str
        SHA-256 of the actions in the unpacked file, without the line end.
    """

    codes: npt.NDArray[np.int16]
    sha256: str

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Game(Source):
    """The facts of a game.

    Parameters
    ----------
    rom : str
        The emulator's name of the game.
    """

    rom: str

    def actions(
        self, data_dir: str | Path | None = None, n_frames: int | None = None
    ) -> Actions:
        """Return the recorded actions.

        Parameters
        ----------
        data_dir : path, optional
            See `Source.content` for where else the file is looked for.
        n_frames : int, optional
            Number of frames from the start, so that files of any sufficient length give
            the same; all by default.
        """
        import numpy as np

        content = self.content(data_dir).rstrip(b"\n")
        if n_frames is not None and len(content) < n_frames:
            raise InputError(
                f"the file of {self.title} must have {n_frames:,} frames, got "
                f"{len(content):,}"
            )
        content = content[:n_frames]
        codes = np.frombuffer(content, np.uint8).astype(np.int16) - FIRST
        is_reset = codes == RESET - FIRST
        wrong = np.flatnonzero(~is_reset & ((codes < 0) | (codes >= 26)))
        if len(wrong) or not len(codes) or not is_reset[0]:
            place = wrong[0] if len(wrong) else 0
            raise InputError(
                f"the file of {self.title} must begin with R and have a letter from a "
                f"or R for each frame, got {content[place : place + 1]!r} at {place:,}"
            )
        codes[is_reset] = RESETS
        return Actions(codes, sha256_of(content))


def game_of(name: str) -> Game:
    """Return a game by the benchmark's name.

    >>> game_of("MsPacman").rom
    'ms_pacman'
    """
    file = f"{name}NoFrameskip-v4.txt"
    return Game(
        name=name,
        title=name,
        homepage="https://github.com/khurramjaved96/atari-prediction-benchmark",
        licence="not stated",
        url=None,  # one archive of all games, not accessible to programs
        files=names("atari", file, f"{file}.gz"),
        member=file,
        sha256=None,  # files may have any length
        quirks=(
            "The first episodes are the test: of a short file one or two, and 43 % of "
            "its frames where a game goes on until the time limit."
        ),
        rom=re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower(),
    )


NAMES = """
AirRaid Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider
Berzerk Bowling Boxing Breakout Carnival Centipede ChopperCommand CrazyClimber
DemonAttack DoubleDunk Enduro FishingDerby Freeway Frostbite Gopher Gravitar Hero
IceHockey Jamesbond JourneyEscape Kangaroo Krull KungFuMaster MontezumaRevenge MsPacman
Phoenix Pitfall Pong Pooyan PrivateEye Qbert Riverraid RoadRunner Robotank Seaquest
Skiing Solaris SpaceInvaders StarGunner Tennis TimePilot Tutankham UpNDown Venture
VideoPinball WizardOfWor YarsRevenge Zaxxon
"""
ATARI = tuple(game_of(name) for name in NAMES.split())
