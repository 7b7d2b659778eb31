"""Value runs: two losses on a network that predicts returns in an Atari game."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from histreg._checks import check_choice, check_count, check_positive
from histreg.study.datasets import game
from histreg.study.engine.checkpoints import Checkpoint
from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.methods import L1, L2, HLGauss
from histreg.study.networks.runs import NetworkRun

TARGETS = ("arrival", "textbook")
"""With the reward of the action that led to a state, as the authors do; without it."""

N_FRAMES, N_FRAMES_OF_PAPER = 250_000, 10_000_000
"""Frames of each game here, and at least in the paper."""
CODE_RATE, TEXT_RATE = 1e-4, 1e-3
"""Learning rates of the authors' code and of the paper's text."""
MOST_EPOCHS = 3  # in the paper's appendix
S_A_FRAME = 1.3e-3
"""Seconds of one busy core to train on a frame, with its part of replay and test."""


@dataclass(frozen=True)
class ValueRun(NetworkRun):
    """A network that sees the latest frames of a game, and predicts the return.

    Returns are scaled to [0, 1] by the least and the largest of the game.

    Parameters
    ----------
    dataset : str
        The game.
    method : L2, L1 or HLGauss
    seed : int
        Seed of the first weights and the batches, which are the same for all losses.
    target : {"arrival", "textbook"}
        Whether the return of a state begins with the reward of the action that led to
        it, as the authors have it, or with that of the action after it.
    n_frames : int
        Number of frames, from the start of the file. It is part of the run, so that a
        record of few frames is never mistaken for one of many.
    epochs : int
        Passes over the states, each in a new random order.
    learning_rate : float
        Of Adam.
    batch_size : int
    """

    kind: ClassVar[str] = "value"
    numbers: ClassVar[tuple[str, ...]] = (
        *("n_frames", "epochs", "learning_rate", "batch_size"),
    )

    dataset: str
    method: L2 | L1 | HLGauss
    seed: int
    target: str = "arrival"
    n_frames: int = N_FRAMES
    epochs: int = 1
    learning_rate: float = CODE_RATE
    batch_size: int = 32

    def __post_init__(self) -> None:
        check_choice("target", self.target, TARGETS)
        for name in ("n_frames", "epochs", "batch_size"):
            check_count(name, getattr(self, name), at_least=1)
        check_positive("learning_rate", self.learning_rate)

    def moved_to(self, dataset: str) -> ValueRun:
        """Return the same on another game."""
        return replace(self, dataset=game(dataset).name)

    @property
    def folder(self) -> tuple[str, ...]:
        """The game, then the method."""
        return (self.dataset, self.method.name)

    @property
    def label(self) -> str:
        """Game, method, seed, and deviations from the protocol."""
        parts = [self.dataset, self.method.name, f"seed {self.seed}"]
        return ", ".join([*parts, *self.changes])

    @property
    def is_of_paper(self) -> bool:
        """Whether it follows the authors' code or the paper's text, on enough frames.

        The code has the reward of arrival and the lower rate, the text neither; the
        number of epochs is one or, in the appendix, up to three. The paper's own
        numbers do not say which of them they are of.
        """
        sources = {("arrival", CODE_RATE), ("textbook", TEXT_RATE)}
        return (
            (self.target, self.learning_rate) in sources
            and self.n_frames >= N_FRAMES
            and self.epochs <= MOST_EPOCHS
            and self.batch_size == ValueRun.batch_size
        )

    @property
    def changes(self) -> list[str]:
        """Deviations from the protocol, in words."""
        target = [] if self.target == "arrival" else [f"{self.target} target"]
        return target + self.changed_numbers

    @property
    def stack_key(self) -> tuple[object, ...]:
        """Computed one by one, in sequence for a game: they read the same frames."""
        return (self.kind, self.dataset, self.key)

    @property
    def expected_s(self) -> float:
        """Estimated from the number of frames, so that games stay in order."""
        return self.epochs * self.n_frames * S_A_FRAME

    def outcome(self, context: RunContext, checkpoint: Checkpoint | None) -> Outcome:
        """Train and evaluate the network."""
        from histreg.study.atari.execution import outcome_of

        return outcome_of(self, context, checkpoint)
