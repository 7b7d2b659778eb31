"""Emulators: play the actions of a game and return its frames."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from histreg.errors import InputError
from histreg.study.datasets import Game

Frame = npt.NDArray[np.uint8]
SIDE = 84  # of a frame, in pixels
SEED = 1731038949
"""With this version the games stay in sync with the benchmark's files."""


class Emulator(Protocol):
    """A game that can be played."""

    settings: str
    """Everything besides the actions that frames and rewards depend on."""
    n_actions: int

    def reset(self) -> None:
        """Start a new game."""

    def act(self, action: int) -> float:
        """Do the action of this index for one frame; return its reward."""

    def is_over(self) -> bool:
        """Return whether the game has ended."""

    def frame(self) -> Frame:
        """Return the screen in grey: (84, 84)."""


class Arcade:
    """The Arcade Learning Environment, without frame skip, sticky actions or chance."""

    def __init__(self, game: Game) -> None:
        try:
            import ale_py
            import cv2
            from ale_py import roms
        except ImportError as error:
            raise InputError(
                f"replaying {game.title} needs ale-py and OpenCV, "
                f"pip install 'histreg[atari]': {error}"
            ) from error
        self.settings = (
            f"ale-py {version('ale-py')}, seed {SEED}, grey, area {SIDE}x{SIDE}"
        )
        cv2.setNumThreads(0)  # one process per core
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._cv2: Any = cv2
        self._game = ale_py.ALEInterface()
        self._game.setInt("random_seed", SEED)
        self._game.setFloat("repeat_action_probability", 0.0)
        self._game.setInt("frame_skip", 1)
        rom: Any = roms.get_rom_path(game.rom)
        self._game.loadROM(rom)
        self._actions = self._game.getMinimalActionSet()
        self.n_actions = len(self._actions)
        self._screen: Frame = np.empty(self._game.getScreenDims(), np.uint8)

    def reset(self) -> None:
        """Start a new game."""
        self._game.reset_game()

    def act(self, action: int) -> float:
        """Do an action for one frame."""
        return float(self._game.act(self._actions[action]))

    def is_over(self) -> bool:
        """Return whether the game has ended; there is no time limit here."""
        return bool(self._game.game_over())

    def frame(self) -> Frame:
        """Return the screen, each pixel the mean over its area."""
        self._game.getScreenGrayscale(self._screen)
        # Gym's own way, and to rounding the exact means; Pillow's box is 29 grey levels
        # off at thin lines, since it counts a pixel wholly or not at all.
        return self._cv2.resize(
            self._screen, (SIDE, SIDE), interpolation=self._cv2.INTER_AREA
        )
