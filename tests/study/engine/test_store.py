import errno
import json
import multiprocessing
import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from histreg.errors import WriteError
from histreg.study.engine import store as store_module
from histreg.study.engine.runs import Outcome, Record
from histreg.study.engine.store import (
    DamageWarning,
    State,
    Store,
    stack_digest,
)
from histreg.study.engine.store_files import DiskFullError
from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.runs import TabularRun
from tests.study.damage import (
    CHECKPOINT_DAMAGES,
    JSON_DAMAGES,
    PROGRESS_DAMAGES,
    RECORD_DAMAGES,
    damage_checkpoint,
    damage_file,
    damage_line,
    damage_record,
)
from tests.study.descriptions import run_of
from tests.study.gated import wait_until

RUN = TabularRun("pole", HLGauss(), 1, 2, (4,))
OTHER = replace(RUN, method=L2())


def record_of(run, **changes) -> Record:
    outcome = Outcome({"test MAE": 0.1 + 0.2}, {"epoch": [1, 2], "MAE": [0.5, 0.25]})
    record = Record(run, outcome, {"torch": "2"}, 1.5, "2026-01-01T00:00:00+00:00")
    return replace(record, **changes)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_a_record_comes_back_as_it_was(store):
    assert store.find(RUN) is None
    store.save(record_of(RUN))
    assert store.find(RUN) == record_of(RUN)
    assert store.find(OTHER) is None


def test_a_record_describes_itself(store):
    store.save(record_of(RUN))
    (path,) = (store.root / "records" / "pole" / "HL-Gauss").iterdir()
    found = json.loads(path.read_text())
    assert run_of(found["run"]) == RUN
    assert found["run"]["method"] == {
        "name": "HL-Gauss",
        "sigma_in_bins": 1.0,
        "n_bins": 100,
        "padding_in_bins": 10.0,
    }
    assert path.stem == found["key"] == RUN.key


def test_looking_into_a_store_that_is_not_there_makes_none(store):
    assert store.state(RUN) == State("missing")
    assert store.records([RUN]) == []
    assert not store.root.exists()


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="the store must be a folder, got file"):
        Store(tmp_path / "file")


def test_collected_records_are_found_as_the_others_are(store, tmp_path):
    for run in (RUN, OTHER):
        store.save(record_of(run))
    path, n = store.collect("pole", [RUN, OTHER], into=tmp_path)
    assert (path, n) == (tmp_path / "pole.jsonl", 2)
    elsewhere = Store(tmp_path)
    assert elsewhere.find(RUN) == record_of(RUN)
    assert elsewhere.has(OTHER)
    assert elsewhere.state(OTHER).name == "done"


def test_collecting_again_writes_the_same(store):
    for run in (OTHER, RUN):
        store.save(record_of(run))
    path, _ = store.collect("pole", [RUN, OTHER])
    first = path.read_bytes()
    store.collect("pole", [OTHER, RUN])
    assert path.read_bytes() == first


def test_collecting_keeps_records_of_older_versions_as_they_were_written(store):
    store.save(record_of(RUN))
    path, _ = store.collect("pole", [RUN])
    written = json.loads(path.read_text())
    del written["data_sha256"]  # the first records had none
    path.write_text(f"{json.dumps(written)}\n")
    (record,) = (store.root / "records").rglob("*.json")
    record.unlink()
    Store(store.root).collect("pole", [RUN])
    assert json.loads(path.read_text()) == written


def test_a_line_stays_if_another_file_has_the_same_record(store):
    store.save(record_of(RUN))
    path, _ = store.collect("pole", [RUN])
    written = path.read_text()
    other = json.loads(written)
    other["run"]["added_later"] = None
    (store.root / "sigma.jsonl").write_text(f"{json.dumps(other)}\n")
    (record,) = (store.root / "records").rglob("*.json")
    record.unlink()
    Store(store.root).collect("pole", [RUN])
    assert path.read_text() == written


def test_collecting_less_throws_no_record_away(store, tmp_path):
    for run in (RUN, OTHER):
        store.save(record_of(run))
    store.collect("pole", [RUN, OTHER], into=tmp_path)
    kept = Store(tmp_path)
    assert kept.collect("pole", [RUN]) == (tmp_path / "pole.jsonl", 1)
    assert Store(tmp_path).has(OTHER)
    store.save(record_of(RUN, elapsed_s=9.0))
    store.collect("pole", [RUN], into=tmp_path)
    assert Store(tmp_path).find(RUN).elapsed_s == 9.0
    assert len((tmp_path / "pole.jsonl").read_text().splitlines()) == 2


def collect_own(root: str, out: str, seed: int, go: str) -> None:
    """Collect the run of a store of one's own, at the same time as others."""
    own, run = Store(root), replace(RUN, seed=seed)
    own.save(record_of(run))
    Path(f"{go}.{seed}").touch()
    wait_until(Path(go).exists)
    own.collect("pole", [run], into=Path(out))


def test_processes_that_collect_into_one_file_at_once_lose_no_record(tmp_path):
    out, seeds = tmp_path / "out", range(1, 4)
    out.mkdir()
    # Long to read and to write, so that they are at it at the same time.
    others = [record_of(replace(RUN, seed=seed)) for seed in range(1000, 3000)]
    lines = "".join(f"{json.dumps(each.to_json())}\n" for each in others)
    (out / "pole.jsonl").write_text(lines)
    go = str(tmp_path / "go")
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(
            target=collect_own, args=(str(tmp_path / str(seed)), str(out), seed, go)
        )
        for seed in seeds
    ]
    for process in processes:
        process.start()
    wait_until(lambda: all(Path(f"{go}.{seed}").exists() for seed in seeds))
    Path(go).touch()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * len(seeds)
    collected = Store(out)
    for seed in seeds:
        run = replace(RUN, seed=seed)
        assert collected.find(run) == record_of(run)
    assert len((out / "pole.jsonl").read_text().splitlines()) == 2000 + len(seeds)
    assert [path.name for path in out.iterdir()] == ["pole.jsonl"]  # no lock is left


def test_a_lock_that_a_killed_collection_left_stops_no_other(store):
    store.save(record_of(RUN))
    (store.root / ".pole.jsonl.lock").touch()
    assert store.collect("pole", [RUN])[1] == 1
    assert not (store.root / ".pole.jsonl.lock").exists()


def test_collecting_where_nothing_can_be_written_is_one_sentence(store, tmp_path):
    store.save(record_of(RUN))
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match=r"pole\.jsonl cannot be written: Not a dir"):
        store.collect("pole", [RUN], into=tmp_path / "file" / "out")


def test_what_a_killed_collection_left_is_not_read(store):
    store.save(record_of(RUN))
    (store.root / ".4242.partial.pole.jsonl").write_text('{"cut sho')
    assert store.find(OTHER) is None
    assert Store(store.root).has(RUN)


def test_two_processes_do_not_take_a_stack_apart(store):
    other_process = Store(store.root)
    with store.claim([RUN]), other_process.claim([RUN, OTHER]) as theirs:
        assert theirs == []
    with store.claim([OTHER]), other_process.claim([RUN, OTHER]) as theirs:
        assert theirs == [RUN]  # held apart already


@pytest.mark.parametrize("name", RECORD_DAMAGES)
def test_a_damaged_line_is_named_and_its_run_is_missing(store, name):
    for run in (RUN, OTHER):
        store.save(record_of(run))
    store.collect("pole", [RUN, OTHER])
    shutil.rmtree(store.root / "records")
    path = store.root / "pole.jsonl"
    damaged = damage_line(path, RUN, name)
    before = path.read_bytes()
    reading = Store(store.root)
    with pytest.warns(DamageWarning, match=re.escape(f"{path} is damaged (line ")):
        assert reading.find(RUN) is None
    assert reading.find(OTHER) == record_of(OTHER)
    assert path.read_bytes() == before
    # What collects moves the line away, so that none is lost and none is read again.
    with pytest.warns(DamageWarning, match=r"moved to pole\.jsonl\.damaged"):
        Store(store.root).collect("pole", [RUN, OTHER])
    aside = store.root / "pole.jsonl.damaged"
    assert aside.read_bytes() == damaged + b"\n"
    again = Store(store.root)
    assert (again.find(RUN), again.find(OTHER)) == (None, record_of(OTHER))
    assert again.collect("pole", [RUN, OTHER]) == (path, 1)
    assert aside.read_bytes() == damaged + b"\n"


def test_lines_that_are_set_aside_join_those_of_before(store):
    store.save(record_of(RUN))
    path, aside = store.root / "pole.jsonl", store.root / "pole.jsonl.damaged"
    for line in ("one", "two", "one"):
        path.write_text(line + "\n")
        with pytest.warns(DamageWarning, match="line 1: it is no JSON"):
            Store(store.root).collect("pole", [RUN])
    assert aside.read_text() == "one\ntwo\n"


@pytest.mark.parametrize("name", RECORD_DAMAGES)
def test_a_damaged_record_is_named_once_and_left_where_it_is(store, name):
    store.save(record_of(RUN))
    path = damage_record(store, RUN, name)
    with pytest.warns(DamageWarning, match=re.escape(f"{path} is damaged (")) as told:
        assert store.find(RUN) is None
        assert not store.has(RUN)
        assert store.state(RUN) == State("missing")
    assert len(told) == 1
    assert str(told[0].message).count("\n") == 0
    assert path.exists()


@pytest.mark.parametrize("name", RECORD_DAMAGES)
def test_a_claim_sets_a_damaged_record_aside(store, name):
    store.save(record_of(RUN))
    path = damage_record(store, RUN, name)
    content = path.read_bytes() if path.is_file() else None
    with store.claim([RUN]) as mine:
        assert mine == [RUN]
        assert not path.exists()
        store.save(record_of(RUN))
    assert Store(store.root).find(RUN) == record_of(RUN)
    aside = path.with_name(f"{path.name}.damaged")
    assert aside.is_dir() if content is None else aside.read_bytes() == content


def test_what_was_set_aside_before_is_not_overwritten(store):
    for content in ("first", "second", "third"):
        store.save(record_of(RUN))
        (path,) = store.root.rglob(f"{RUN.key}.json")
        path.write_text(content)
        with store.claim([RUN]):
            pass
    kept = sorted(path.parent.glob("*.damaged*"))
    assert [each.read_text() for each in kept] == ["first", "second", "third"]


def test_a_collected_record_stands_in_for_a_damaged_one(store):
    store.save(record_of(RUN))
    store.collect("pole", [RUN])
    damage_record(store, RUN, "null")
    with pytest.warns(DamageWarning, match="is damaged"):
        assert Store(store.root).find(RUN) == record_of(RUN)


def test_a_record_of_another_run_is_damaged(store):
    for run in (RUN, OTHER):
        store.save(record_of(run))
    one, other = (next(store.root.rglob(f"{each.key}.json")) for each in (RUN, OTHER))
    one.write_bytes(other.read_bytes())
    with pytest.warns(DamageWarning, match=f"its key is {OTHER.key} instead of"):
        assert store.find(RUN) is None


@pytest.mark.parametrize("name", JSON_DAMAGES)
def test_a_damaged_failure_is_named_and_set_aside(store, name):
    store.fail(RUN, MemoryError("too large"))
    path = store.root / "failures" / f"{RUN.key}.json"
    damage_file(path, JSON_DAMAGES[name])
    with pytest.warns(DamageWarning, match=re.escape(f"{path} is damaged (")):
        assert store.state(RUN) == State("missing")
    with store.claim([RUN]) as mine:
        assert mine == [RUN]
    assert path.with_name(f"{path.name}.damaged").exists()
    assert not path.exists()


@pytest.mark.parametrize("name", PROGRESS_DAMAGES)
def test_damaged_progress_is_named_and_no_share_is_shown(store, name):
    with store.claim([RUN]) as mine:
        store.report(mine, 0.42)
        (path,) = (store.root / "progress").iterdir()
        damage_file(path, PROGRESS_DAMAGES[name])
        with pytest.warns(DamageWarning, match=re.escape(f"{path} is damaged (")):
            assert store.state(RUN) == State("running", "")
        assert store.progress([RUN]) is None


def test_a_record_of_a_newer_format_is_refused(store):
    store.save(record_of(RUN))
    (path,) = store.root.rglob(f"{RUN.key}.json")
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(ValueError, match="must be of format 1 or older, got 2"):
        store.find(RUN)


def test_a_diverged_run_is_a_fact_with_its_epoch(store):
    store.save(record_of(RUN, outcome=Outcome(diverged_at=7)))
    assert store.state(RUN) == State("diverged", "not finite after step 7")


def test_a_failure_is_told_until_a_record_comes(store):
    store.fail(RUN, MemoryError("too large"))
    assert store.state(RUN) == State("failed", "MemoryError: too large")
    store.save(record_of(RUN))
    assert store.state(RUN) == State("done")
    assert list((store.root / "failures").iterdir()) == []


def test_what_is_claimed_is_not_claimed_again(store):
    other_process = Store(store.root)
    with store.claim([RUN]) as mine:
        assert mine == [RUN]
        assert other_process.state(RUN).name == "running"
        with other_process.claim([OTHER, RUN]) as theirs:
            assert theirs == [OTHER]
    assert other_process.state(RUN) == State("missing")


def test_what_has_a_record_is_not_claimed(store):
    store.save(record_of(RUN))
    with store.claim([RUN]) as mine:
        assert mine == []


def test_progress_is_told_to_other_processes(store):
    with store.claim([RUN, OTHER]) as mine:
        store.report(mine, 0.42)
        assert Store(store.root).state(RUN) == State("running", "42%")
        assert Store(store.root).progress([OTHER, RUN]) == 0.42
        assert Store(store.root).progress([RUN]) is None


def hold(root: str, ready: str) -> None:
    store = Store(root)
    with store.claim([RUN]):
        Path(ready).touch()
        signal.pause()


def test_a_process_that_is_killed_gives_up_its_claim(store, tmp_path):
    ready = tmp_path / "ready"
    process = multiprocessing.get_context("spawn").Process(
        target=hold, args=(str(store.root), str(ready))
    )
    process.start()
    wait_until(ready.exists)
    assert store.is_claimed(RUN)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert not store.is_claimed(RUN)


def test_forgetting_leaves_the_records(store):
    with store.claim([RUN]) as mine:
        store.save(record_of(RUN))
        store.report(mine, 1.0)
        store.forget(mine)
    files = [path for path in store.root.rglob("*") if path.is_file()]
    assert [path.name for path in files] == [f"{RUN.key}.json"]


def test_a_checkpoint_comes_back_as_it_was(store):
    tensors = {"weights": torch.arange(5.0), "n_steps": torch.tensor(3.0)}
    store.checkpoint(RUN).save(tensors, {"epoch": 3})
    found, notes = store.checkpoint(RUN).load()
    assert notes == {"epoch": 3}
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert store.checkpoint(RUN).epoch == 3
    assert store.checkpoint(OTHER).epoch == 0


@pytest.mark.parametrize("name", CHECKPOINT_DAMAGES)
def test_a_damaged_checkpoint_is_none_and_is_named_and_set_aside(store, name):
    store.checkpoint(RUN).save({"weights": torch.zeros(100)}, {"epoch": 1})
    path = damage_checkpoint(store, RUN, name)
    assert store.checkpoint(RUN).load() is None
    assert store.checkpoint(RUN).epoch == 0
    with pytest.warns(DamageWarning, match=re.escape(f"{path} is damaged (")):
        assert store.epoch(RUN) == 0
        assert store.state(RUN) == State("missing")
    with store.claim([RUN]) as mine:
        assert mine == [RUN]
    assert path.with_name(f"{path.name}.damaged").exists()
    assert not path.exists()


def test_a_checkpoint_is_forgotten_with_the_record_and_not_before(store):
    for run in (RUN, OTHER):
        store.checkpoint(run).save({"weights": torch.zeros(1)}, {"epoch": 1})
    store.save(record_of(RUN))
    store.forget([RUN, OTHER])
    assert (store.checkpoint(RUN).epoch, store.checkpoint(OTHER).epoch) == (0, 1)


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_one_sentence_and_leaves_no_half_record(store, monkeypatch):
    store.save(record_of(OTHER))
    monkeypatch.setattr(store_module.Path, "write_text", full)
    with pytest.raises(DiskFullError, match=r"^the disk of the store is full; fin"):
        store.save(record_of(RUN))
    monkeypatch.undo()
    assert store.find(OTHER) is not None
    assert not list(store.root.rglob("*.partial*"))
    assert store.find(RUN) is None


def test_a_disk_that_is_full_for_a_checkpoint_says_so_too(store, monkeypatch):
    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(DiskFullError):
        store.checkpoint(RUN).save({"weights": torch.zeros(1)}, {})


def test_the_key_of_a_stack_does_not_depend_on_the_order():
    assert stack_digest([RUN, OTHER]) == stack_digest([OTHER, RUN])
    assert stack_digest([RUN]) != stack_digest([OTHER])
