"""Value runs on a toy game."""

import pytest
import torch

from histreg.study.atari import convolutions
from histreg.study.atari.replays import OutOfStepError, replay_of
from histreg.study.atari.runs import ValueRun
from histreg.study.atari.states import parts_of
from histreg.study.engine.runner import work
from histreg.study.engine.runs import Record
from histreg.study.engine.seeding import generator_for
from histreg.study.engine.store import Store
from histreg.study.methods import L2
from tests.study.atari.examples import HL, N_BYTES, run_of
from tests.study.made_up import Alone, Keeping, Memory
from tests.study.toy_game import GAME, Toy, recorded, written

BOTH = pytest.mark.parametrize("method", [L2(), HL], ids=["l2", "HL-Gauss"])

pytestmark = pytest.mark.usefixtures("toy")


def computed(run, context=None):
    (outcome,) = ValueRun.compute([run], context or Alone())
    return outcome


def toy_parts(target="arrival"):
    return parts_of("Toy", replay_of(GAME, emulator_of=Toy), target)


@BOTH
@pytest.mark.parametrize("target", ["arrival", "textbook"])
def test_a_network_is_trained_as_anybody_would(method, target):
    parts = toy_parts(target)
    network = convolutions.Convolutions(
        method.n_outputs, generator_for(1, "body"), generator_for(1, "head")
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, eps=1e-7)
    order = torch.randperm(len(parts.train), generator=generator_for(1, "order", 1))
    for index in order.split(32):
        optimizer.zero_grad()
        outputs = network(parts.train.inputs(index))
        method.loss(outputs, parts.train.y[index]).mean().backward()
        optimizer.step()
    with torch.no_grad():
        found = method.predict(network(parts.test.inputs(slice(None))))
    error = (found - parts.test.y).double()
    told = computed(run_of(method, target=target)).metrics
    assert told["test MAE"] == pytest.approx(error.abs().mean().item(), rel=1e-4)
    rmse = error.square().mean().sqrt().item()
    assert told["test RMSE"] == pytest.approx(rmse, rel=1e-4)


@BOTH
def test_a_run_that_was_stopped_anywhere_goes_on_as_if_it_had_not_been(method):
    run = run_of(method, epochs=2)
    whole = computed(run)
    n_batches = -(-len(toy_parts().train) // 32)
    # One report while it is replayed or read; then one a batch, and those of the test:
    # in the first pass, at its end, in the second, and while it is judged.
    for stop_after in (3, n_batches, n_batches + 3, 2 * n_batches):
        checkpoint = Memory()
        with pytest.raises(InterruptedError):
            computed(run, Keeping(checkpoint, stop_after))
        assert checkpoint.kept is not None
        resumed = computed(run, Keeping(checkpoint))
        assert resumed.metrics == whole.metrics
        assert resumed.curves == whole.curves


def test_training_pays():
    run = run_of(L2(), epochs=8, learning_rate=1e-3)
    told = computed(run).metrics
    assert told["test MAE"] < told["test MAE of the median"]


def test_facts_of_the_game_are_told():
    told = computed(run_of(L2())).metrics
    parts = toy_parts()
    assert told["episodes"] == 12 == parts.n_episodes
    assert told["test episodes"] == 1
    assert told["train states"] == len(parts.train)
    middle = parts.train.y.double().median()
    expected = (parts.test.y.double() - middle).abs().mean().item()
    assert told["test MAE of the median"] == pytest.approx(expected)


def test_a_histogram_has_scores_of_its_distribution():
    told = computed(run_of(HL)).metrics
    assert told["test coverage 0.9"] >= told["test coverage 0.8"] > 0.5
    assert 0 < told["test CRPS"] < told["test MAE"] + 0.2
    assert "test CRPS" not in computed(run_of(L2())).metrics


def test_divergence_is_noted():
    outcome = computed(run_of(L2(), learning_rate=1e30))
    assert outcome.diverged_at == 1
    assert outcome.metrics == {}


def test_shares_grow_to_the_whole():
    place = Alone()
    computed(run_of(L2()), place)
    assert place.shares == sorted(place.shares)
    assert place.shares[-1] == pytest.approx(1.0)


def test_a_longer_file_makes_no_difference_and_a_shorter_one_is_refused(tmp_path):
    whole = computed(run_of(L2()))
    written(tmp_path, recorded(2 * N_BYTES))
    of_longer = computed(run_of(L2()))
    assert of_longer.metrics == whole.metrics
    assert of_longer.data_sha256 == whole.data_sha256
    written(tmp_path, recorded(N_BYTES - 1))
    with pytest.raises(ValueError, match="of Toy must have 300 frames, got 299"):
        computed(run_of(L2()))


def test_a_replay_out_of_step_is_not_trained_on(tmp_path):
    content = recorded(N_BYTES + 1)
    written(tmp_path, content[:5] + content[6:])
    with pytest.raises(OutOfStepError, match="the replay of Toy"):
        computed(run_of(L2()))
    store, run = Store(tmp_path / "store"), run_of(L2())
    assert work(str(store.root), (run,), None).failed == (run.key,)
    assert "at frame 21" in store.state(run).detail


def test_a_record_is_kept_and_its_data_told(tmp_path):
    store, run = Store(tmp_path / "store"), run_of(HL)
    assert work(str(store.root), (run,), None).finished == (run.key,)
    found = store.find(run)
    assert isinstance(found, Record)
    assert found.outcome.data_sha256 == GAME.actions(n_frames=N_BYTES).sha256
