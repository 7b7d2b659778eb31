"""Descriptions of networks that are trained by themselves."""

from dataclasses import dataclass
from typing import ClassVar

from histreg.study.engine.runs import Outcome
from histreg.study.methods import L2, Method
from histreg.study.networks.runs import NetworkRun
from tests.study.made_up import Alone, Memory

N = 10


@dataclass(frozen=True)
class LineRun(NetworkRun):
    kind: ClassVar[str] = "line"
    numbers: ClassVar[tuple[str, ...]] = ("n_points", "epochs", "learning_rate")

    method: Method
    seed: int
    epochs: int = 2
    n_points: int = N
    learning_rate: float = 0.1

    folder = label = stack_key = expected_s = None

    def outcome(self, context, checkpoint):  # noqa: ARG002
        return Outcome({"seed": self.seed, "kept": float(checkpoint is not None)})


def test_each_run_is_trained_with_its_own_checkpoint():
    runs = [LineRun(L2(), seed) for seed in (3, 5)]
    outcomes = LineRun.compute(runs, Alone())
    assert [each.metrics for each in outcomes] == [
        {"seed": 3, "kept": 0},
        {"seed": 5, "kept": 0},
    ]
    place = Alone()
    place.checkpoints = [Memory(), Memory()]
    assert all(each.metrics["kept"] for each in LineRun.compute(runs, place))


def test_numbers_of_the_protocol_are_replaced_and_others_ignored():
    run = LineRun(L2(), 1)
    changed = run.with_numbers(learning_rate=0.5, n_frames=3)
    assert changed == LineRun(L2(), 1, learning_rate=0.5)
    assert changed.key != run.key
    assert run.with_numbers() == run


def test_what_differs_from_the_protocol_is_told_in_words():
    assert LineRun(L2(), 1).changed_numbers == []
    run = LineRun(L2(), 1, n_points=20_000, learning_rate=3e-5).for_epochs(3)
    told = ["points 20,000", "epochs 3", "learning rate 3e-05"]
    assert run.changed_numbers == told
