"""Replays: recorded actions as frames, rewards and episodes.

The frames of 250,000 actions take 1.8 GB. They lie in a file of the cache, are read
from there when they are needed, and are shared by all processes that read them.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from filelock import FileLock, Timeout

from histreg._files import atomic_write
from histreg.errors import InputError
from histreg.study.atari.emulators import SIDE, Arcade, Emulator, Frame
from histreg.study.datasets import Actions, Game
from histreg.study.datasets.atari import RESETS
from histreg.study.datasets.source import cache_folder

TIME_LIMIT = 108_000
"""Actions after which the players' environment began anew, the game over or not."""
N_KEPT = 4
"""Maximum number of replays in the cache; the least recently read is deleted first."""
GLANCE_S = 0.5  # between two checks of whether another process is done
FRAMES_A_REPORT = 500


class OutOfStepError(InputError):
    """The replay does not match the file."""


@dataclass(frozen=True)
class Episode:
    """The frames from a reset on.

    Parameters
    ----------
    start, stop : int
        The frames of the file that belong to it, the first that of the reset, the last
        that in which the game ended.
    is_over : bool
        Whether the game ended, rather than being cut off by the time limit or the file.
    """

    start: int
    stop: int
    is_over: bool


@dataclass(frozen=True, eq=False)
class Replay:
    """The frames, rewards and episodes of the actions of a file.

    Parameters
    ----------
    frames : array of uint8 of shape (n, 84, 84)
        The screen after each action or reset; mapped from disk.
    rewards : array of float64 of shape (n,)
        Reward of each action; 0 for a reset.
    episodes : tuple of Episode
    sha256 : str
        Of the actions.
    """

    frames: Frame
    rewards: npt.NDArray[np.float64]
    episodes: tuple[Episode, ...]
    sha256: str


def episodes_of(
    game: Game, actions: Actions, is_over: npt.NDArray[np.bool_]
) -> tuple[Episode, ...]:
    """Return the episodes of a file; raise if the replay does not match it.

    The players' environment noticed the end of a game, let one more action pass and
    began anew; or it began anew when the time limit was reached. Where the file begins
    anew at another moment, the replay shows another game than was played. The file may
    end anywhere.

    Parameters
    ----------
    game : Game
    actions : Actions
    is_over : array of bool of shape (m,)
        Whether the game is over after each frame, as far as it was played.
    """
    resets = np.flatnonzero(actions.codes[: len(is_over)] == RESETS).tolist()
    return tuple(
        _episode(game, is_over, start, stop, is_last=stop == len(is_over))
        for start, stop in pairwise([*resets, len(is_over)])
    )


def _episode(
    game: Game, is_over: npt.NDArray[np.bool_], start: int, stop: int, *, is_last: bool
) -> Episode:
    """Return the episode from a reset to the next, or to the end of the file."""
    limit = start + 1 + TIME_LIMIT
    ends = np.flatnonzero(is_over[start + 1 : stop])
    if len(ends):
        over = start + 1 + int(ends[0])
        if stop > over + 2:
            raise _lost(game, over + 2, "the game is over, and the file plays on")
        if stop < over + 2 and not is_last:
            raise _lost(game, stop, "the file does not let the game end")
        # The action after the end does not belong to the game.
        return Episode(start, over + 1, is_over=True)
    if stop > limit:
        why = f"the file plays on after {TIME_LIMIT:,} frames of one game"
        raise _lost(game, limit, why)
    if stop < limit and not is_last:
        raise _lost(game, stop, "the file starts a new game, but the game is not over")
    return Episode(start, stop, is_over=False)


def _lost(game: Game, frame: int, why: str) -> OutOfStepError:
    return OutOfStepError(
        f"the replay of {game.title} must keep step with its file, but at frame "
        f"{frame:,} {why}: the file or the emulator is another one"
    )


def replayed(
    game: Game, actions: Actions, emulator: Emulator
) -> Iterator[tuple[float, bool]]:
    """Yield the reward of each frame, and whether the game is over, while it plays."""
    most = int(actions.codes.max())
    if most >= emulator.n_actions:
        raise OutOfStepError(
            f"the file of {game.title} must have actions below {emulator.n_actions}, "
            f"got {most} at frame {int(actions.codes.argmax()):,}"
        )
    for code in actions.codes.tolist():
        if code == RESETS:
            emulator.reset()
            yield 0.0, False
        else:
            yield emulator.act(code), emulator.is_over()


def replay_of(
    game: Game,
    data_dir: str | Path | None = None,
    *,
    n_frames: int | None = None,
    emulator_of: Callable[[Game], Emulator] = Arcade,
    report: Callable[[], None] = lambda: None,
) -> Replay:
    """Return the replay of a game, from the cache or played now.

    Parameters
    ----------
    game : Game
    data_dir : path, optional
        Folder in which the file of its actions is looked for first.
    n_frames : int, optional
        Number of frames, from the start of the file; all by default.
    emulator_of : callable
    report : callable
        Called repeatedly; an exception that it raises ends the replay.

    Raises
    ------
    OutOfStepError
        In one sentence, with the game and the frame. Nothing is kept then.
    ValueError
        In one sentence, if the file, the emulator or room on the disk is missing, or
        the file is too short.
    """
    actions = game.actions(data_dir, n_frames)
    emulator = emulator_of(game)
    folder = _folder()
    content = f"{actions.sha256} {emulator.settings}"
    key = hashlib.sha256(content.encode()).hexdigest()[:16]
    frames = folder / f"{game.name}-{key}.frames.npy"
    with _alone(_lock(frames), report):
        if not _outcomes(frames).exists():
            _make_room(folder, len(actions) * SIDE * SIDE, game)
            _play(game, actions, emulator, frames, report)
        return _read(game, actions, frames)


def forget(folder: Path | None = None, *, but: int = 0) -> None:
    """Delete replays from the cache, except those that were read last.

    Processes that have one open can continue to read it; replays that are being made
    are left alone.
    """
    folder = folder or _folder()
    paths = [path for path in folder.glob("*.frames.npy") if path.name[0] != "."]
    paths.sort(key=lambda path: path.stat().st_mtime)
    for path in paths[: max(0, len(paths) - but)]:
        with suppress(Timeout), FileLock(_lock(path), timeout=0):
            _outcomes(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def _folder() -> Path:
    cache = cache_folder()
    if cache is None:
        raise InputError("replays need a cache folder: pip install 'histreg[atari]'")
    folder = cache / "replays"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _lock(frames: Path) -> Path:
    return frames.with_name(frames.name.replace(".frames.npy", ".lock"))


def _outcomes(frames: Path) -> Path:
    """Return the path of the rewards; written last, they mark a complete replay."""
    return frames.with_name(frames.name.replace(".frames.", ".outcomes."))


@contextmanager
def _alone(path: Path, report: Callable[[], None]) -> Iterator[None]:
    """Hold a lock, which a killed process releases; report while waiting for it."""
    lock = FileLock(path)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=GLANCE_S)
        except Timeout:
            report()
    try:
        yield
    finally:
        lock.release()


def _make_room(folder: Path, n_bytes: int, game: Game) -> None:
    forget(folder, but=N_KEPT - 1)
    free = shutil.disk_usage(folder).free
    if free < 1.05 * n_bytes:
        raise InputError(
            f"the frames of {game.title} need {n_bytes / 1e9:.1f} GB in {folder}, "
            f"which has {free / 1e9:.1f} GB: HISTREG_CACHE may name another folder"
        )


def _play(
    game: Game,
    actions: Actions,
    emulator: Emulator,
    path: Path,
    report: Callable[[], None],
) -> None:
    """Write the frames, then the rewards and ends."""
    rewards = np.zeros(len(actions))
    is_over = np.zeros(len(actions), np.bool_)
    start = 0
    for left_behind in path.parent.glob(f".*.partial.{path.name}"):
        left_behind.unlink()  # left by a process that was killed: this one has the lock
    with atomic_write(path) as partial:
        # Not into mapped memory: a full disk would kill the process.
        with partial.open("wb") as file:
            _write_header(file, len(actions))
            for i, outcome in enumerate(replayed(game, actions, emulator)):
                rewards[i], is_over[i] = outcome
                if i and actions.codes[i] == RESETS:
                    _episode(game, is_over, start, i, is_last=False)
                    start = i
                file.write(emulator.frame().data)
                if i % FRAMES_A_REPORT == 0:
                    report()
        episodes_of(game, actions, is_over)
    with atomic_write(_outcomes(path)) as partial, partial.open("wb") as file:
        np.save(file, np.stack([rewards, is_over]), allow_pickle=False)


def _write_header(file: BinaryIO, n: int) -> None:
    header = {"descr": "|u1", "fortran_order": False, "shape": (n, SIDE, SIDE)}
    np.lib.format.write_array_header_1_0(file, header)


def _read(game: Game, actions: Actions, path: Path) -> Replay:
    path.touch()  # marks it as recently read
    # Nothing is written to, so that all processes share the pages.
    frames = np.load(path, mmap_mode="c", allow_pickle=False)
    rewards, is_over = np.load(_outcomes(path), allow_pickle=False)
    episodes = episodes_of(game, actions, is_over != 0)
    return Replay(frames, rewards, episodes, actions.sha256)
