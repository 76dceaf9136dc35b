"""The engine: everything asked once, errors counted, changes refused, failures resumable."""

import errno
import json
import os
import shutil

import numpy as np
import polars as pl
import pytest

from evenhand.models.contract import Likelihoods
from evenhand.runs import PlanPart, RunDirectory, ScoreRequest, answers, execute, make_plan
from evenhand.runs.pacing import next_size
from evenhand.runs.shards import read_shards
from evenhand.schema import ModelError, ResumeRefused, UsageError, WriteError


def table(directory):
    return directory.responses().sort("request_id")


def test_every_distinct_request_is_asked_once(start):
    plan, model, directory = start(["b", "a", "b", "c", "a"])
    outcome = execute(plan, model, directory)
    assert sorted(text for batch in model.batches for text in batch) == ["a", "b", "c"]
    assert (outcome.requests, outcome.answered, outcome.errors) == (3, 3, {})
    assert outcome.tokens == table(directory)["token_count"].sum()
    assert not outcome.above_threshold
    again = execute(plan, model, directory)
    assert again.answered == 0
    assert len(model.batches) == 1


@pytest.mark.parametrize(("first", "largest"), [(1, 1), (1, 64), (7, 7), (1000, 1000)])
def test_the_answers_do_not_depend_on_the_shards(start, first, largest):
    texts = [f"text {i}" for i in range(100)]
    plan, model, directory = start(texts, request=ScoreRequest(keep_tokens=True), name="whole")
    execute(plan, model, directory)
    plan, model, other = start(texts, request=ScoreRequest(keep_tokens=True), name="pieces")
    execute(plan, model, other, first_shard=first, max_shard=largest)
    assert table(other).equals(table(directory))
    assert max(len(batch) for batch in model.batches) <= largest


def test_shards_grow_and_shrink_towards_their_time(start, fakes, monkeypatch):
    clock = fakes.Clock()
    monkeypatch.setattr("evenhand.runs.pacing.time", clock)
    slow = fakes.HashModel(lambda texts: clock.sleep(0.002 * len(texts)))
    plan, model, directory = start([f"text {i:03}" for i in range(150)], slow)
    execute(plan, model, directory, first_shard=1, shard_seconds=0.05)
    # sixteen take 0.032 s, thirty-two would take more than 0.05
    assert [len(batch) for batch in model.batches] == [1, 2, 4, 8, *[16] * 8, 7]
    size, seen = 4096, []
    for _ in range(20):
        size = next_size(size, size * 0.1, 30.0, 32768)
        seen.append(size)
    assert seen[-1] == 512
    assert next_size(1, 1e9, 30.0, 32768) == 1


def test_the_whole_question_reaches_the_model(tmp_path, fakes):
    model = fakes.HashModel()
    frame = pl.DataFrame(
        {
            "prompt_id": ["1", "2", "3"],
            "text": ["same", "same", "same"],
            "context": ["before", None, None],
            "span_start": [None, 0, None],
            "span_end": [None, 2, None],
        }
    )
    plan = make_plan([PlanPart("b", frame, ScoreRequest("word"))], model.fingerprint)
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    execute(plan, model, directory)
    found = plan.parts[0].prompts.join(directory.responses(), on="request_id", maintain_order="left")
    expected = [("before", None), (None, (0, 2)), (None, None)]
    assert found["log_likelihood"].to_list() == [
        sum(fakes.token_values("same", *q, "word")) for q in expected
    ]


def test_error_rows_are_counted_against_the_threshold(start):
    plan, model, directory = start(["", *"abcdefghi"])
    assert not execute(plan, model, directory, error_threshold=0.1).above_threshold
    outcome = execute(plan, model, directory, error_threshold=0.09)
    assert outcome.above_threshold
    assert outcome.errors == {"empty_text": 1}
    assert outcome.error_share == pytest.approx(0.1)
    assert directory.manifest.errors == {"empty_text": 1}


def test_a_model_of_nothing_but_nan_ends_above_the_threshold(start, fakes):
    class Broken(fakes.HashModel):
        def log_likelihoods(self, texts):
            n = len(texts.texts)
            nans, zeros = np.full(n, np.nan, np.float32), np.zeros(n, np.int32)
            return Likelihoods(np.arange(n + 1), nans, zeros, zeros.astype(np.uint32), [None] * n)

    plan, model, directory = start([str(i) for i in range(50)], Broken())
    outcome = execute(plan, model, directory)
    assert outcome.above_threshold
    assert outcome.errors == {"not_finite": 50}
    assert directory.responses()["log_likelihood"].null_count() == 50


def test_a_model_that_breaks_fails_the_run_and_a_mended_one_finishes_it(start, fakes):
    def break_late(texts):
        if any(text >= "text 050" for text in texts):
            raise RuntimeError("device is gone")

    texts = [f"text {i:03}" for i in range(100)]
    plan, model, directory = start(texts, fakes.HashModel(break_late))
    with pytest.raises(ModelError, match="device is gone"):
        execute(plan, model, directory, first_shard=25, max_shard=25)
    assert directory.responses().height == 50
    stored = RunDirectory.open(directory.path).manifest
    assert stored.status == "failed"
    assert "device is gone" in stored.sessions[0].notes[0]
    outcome = execute(plan, fakes.HashModel(), directory)
    assert (outcome.answered, outcome.errors) == (50, {})
    stored = RunDirectory.open(directory.path).manifest
    assert stored.status == "complete"
    assert [session.status for session in stored.sessions] == ["failed", "complete"]
    assert [session.requests_before for session in stored.sessions] == [0, 50]


def test_what_the_model_failed_on_is_asked_again_only_on_request(start, fakes):
    def choke(texts):
        if "b" in texts:
            raise RuntimeError("not now")

    plan, model, directory = start(["", "a", "b"], fakes.HashModel(choke))
    assert execute(plan, model, directory).errors == {"empty_text": 1, "model_error": 1}
    mended = fakes.HashModel()
    assert execute(plan, mended, directory).answered == 0
    assert execute(plan, mended, directory, retry_errors=True).errors == {"empty_text": 1}
    assert mended.batches == [["b"]]
    assert directory.responses().height == 3


def test_a_full_disk_ends_the_run_and_leaves_it_resumable(start, fakes, monkeypatch):
    texts = [f"text {i}" for i in range(40)]
    plan, model, reference = start(texts, name="reference")
    execute(plan, model, reference)
    plan, model, directory = start(texts)
    sync, shards = os.fsync, []

    def fill_up(descriptor):
        if len(model.batches) >= 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        shards.append(descriptor)
        sync(descriptor)

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fill_up)
        with pytest.raises(WriteError, match="No space left"):
            execute(plan, model, directory, first_shard=10, max_shard=10)
    assert directory.responses().height == 10
    outcome = execute(plan, model, RunDirectory.open(directory.path))
    assert outcome.answered == 30
    assert table(directory).equals(table(reference))


def test_a_corrupted_shard_is_named_and_its_requests_asked_again(start):
    class Notes:
        def __init__(self):
            self.told = []

        def start(self, total, done, unit="requests"):
            self.told.append((total, done))

        def advance(self, requests, tokens, errors):
            self.told.append(requests)

        def note(self, message):
            self.told.append(message)

        def stop(self):
            self.told.append("stop")

    plan, model, directory = start([f"text {i}" for i in range(30)])
    execute(plan, model, directory, first_shard=10, max_shard=10)
    whole = table(directory)
    broken = directory.responses_folder / "part-000002.parquet"
    broken.write_bytes(broken.read_bytes()[:-20])
    progress = Notes()
    outcome = execute(plan, model, directory, progress=progress)
    assert outcome.answered == 10
    assert "part-000002.parquet" in outcome.notes[0]
    assert progress.told == [(30, 20), outcome.notes[0], 10, "stop"]
    assert directory.manifest.sessions[-1].notes == list(outcome.notes)
    assert table(directory).equals(whole)
    assert (directory.responses_folder / "part-000002.parquet.corrupt").exists()


def test_another_model_or_other_prompts_are_refused(start, fakes):
    plan, model, directory = start(["a", "b"])
    execute(plan, model, directory)
    other = fakes.HashModel(name="other")
    with pytest.raises(ResumeRefused, match=r'model\.name: stored "hash", given now "other"'):
        execute(plan, other, directory)
    frame = pl.DataFrame({"prompt_id": ["p0", "p1"], "text": ["a", "changed"]})
    with pytest.raises(ResumeRefused, match="1 are the same"):
        execute(make_plan([PlanPart("texts", frame)], model.fingerprint), model, directory)
    foreign = make_plan([PlanPart("texts", frame)], other.fingerprint)
    with pytest.raises(ResumeRefused, match=r"model\.name"):
        execute(foreign, model, directory)
    assert directory.responses().height == 2


def test_a_run_of_the_first_version_goes_on(start):
    """Its manifest knows no decodings, and its shards have no column `finish`."""
    texts = [f"text {i}" for i in range(30)]
    plan, model, reference = start(texts, name="reference")
    execute(plan, model, reference)
    plan, model, directory = start(texts)
    execute(plan, model, directory, first_shard=10, max_shard=10)
    for part in sorted(directory.responses_folder.glob("part-*"))[:2]:
        pl.read_parquet(part).drop("finish").write_parquet(part)
    (directory.responses_folder / "part-000003.parquet").unlink()
    path = directory.path / "manifest.json"
    manifest = json.loads(path.read_text())
    first = {
        key: value for key, value in manifest.items() if key not in ("labels", "judged", "judged_before")
    }
    for asked in first["asked"].values():
        del asked["decoding"]
    path.write_text(json.dumps(first | {"version": 1, "status": "interrupted"}))

    directory = RunDirectory.open(directory.path)
    outcome = execute(plan, model, directory)
    assert (outcome.answered, outcome.notes) == (10, ())
    assert table(directory).equals(table(reference))
    assert answers(directory, "texts").equals(answers(reference, "texts"))


def test_a_directory_in_use_is_refused(start):
    plan, model, directory = start(["a"])
    with directory.lock(), pytest.raises(UsageError, match="in use by process"):
        execute(plan, model, RunDirectory.open(directory.path))


def test_the_manifest_tells_the_session(start):
    plan, model, directory = start(["a", "b", ""])
    execute(plan, model, directory)
    stored = RunDirectory.open(directory.path).manifest
    session = stored.sessions[0]
    assert (stored.status, stored.requests, session.requests_after, session.shards) == ("complete", 3, 3, 1)
    assert session.ended >= session.started
    assert stored.timings["responses"] == pytest.approx(session.seconds)
    assert stored.model.description["batch_history"] == [3]
    assert stored.asked["texts"].prompts == 3
    assert session.environment.versions["polars"] == pl.__version__


def test_a_hundred_thousand_requests_go_through(tmp_path):
    class Idle:
        architecture = "causal"
        fingerprint = {"name": "idle"}

        def describe(self):
            return {}

        def log_likelihoods(self, texts):
            n = len(texts.texts)
            ones, zeros = np.full(10 * n, -1, np.float32), np.zeros(10 * n, np.int32)
            return Likelihoods(np.arange(n + 1) * 10, ones, zeros, zeros.astype(np.uint32), [None] * n)

    numbers = pl.select(i=pl.int_range(100_000))
    frame = numbers.select(prompt_id=pl.col("i").cast(pl.String), text=pl.format("I think {} is nice.", "i"))
    plan = make_plan([PlanPart("idle", frame)], Idle.fingerprint)
    directory = RunDirectory.create(tmp_path / "run", model=Idle(), given={}, resolved={})
    assert execute(plan, Idle(), directory).tokens == 1_000_000


def test_counts_of_a_model_add_up_over_sessions(start, fakes):
    class Counting(fakes.HashModel):
        def describe(self):
            counts = {
                "batches": len(self.batches),
                "tokens_run": 3 * sum(map(len, self.batches)),
                "halvings": [9],
            }
            return {"device": "cpu", "work": counts}

    def break_late(texts):
        if any(text >= "text 050" for text in texts):
            raise RuntimeError("device is gone")

    texts = [f"text {i:03}" for i in range(100)]
    second = Counting()
    second.log_likelihoods(["asked for another run"] * 7)
    plan, model, directory = start(texts, Counting(break_late))
    with pytest.raises(ModelError):
        execute(plan, model, directory, first_shard=25, max_shard=25)
    assert directory.manifest.model.description["work"]["tokens_run"] == 3 * 50
    execute(plan, second, directory, first_shard=25, max_shard=25)
    work = RunDirectory.open(directory.path).manifest.model.description["work"]
    assert (work["batches"], work["tokens_run"]) == (4, 3 * 100)
    assert "requests_not_counted" not in directory.manifest.model.description


@pytest.mark.parametrize("is_counted", [True, False])
def test_counts_of_a_killed_session_are_kept_and_what_they_lack_is_stated(
    start, fakes, tmp_path, monkeypatch, is_counted
):
    class Counting(fakes.HashModel):
        def describe(self):
            return {"work": {"rows": sum(map(len, self.batches))}}

    def copy_folder(texts):
        if len(model.batches) == 2 and not killed.exists():
            shutil.copytree(directory.path, killed)  # as it is when the process is killed now

    killed = tmp_path / "killed"
    plan, model, directory = start([f"text {i:03}" for i in range(100)], Counting(copy_folder))
    save = RunDirectory.save
    if not is_counted:  # the process is killed between a shard and its counts
        monkeypatch.setattr(RunDirectory, "save", lambda self: None if model.batches else save(self))
    execute(plan, model, directory, first_shard=25, max_shard=25)
    monkeypatch.undo()
    answered = len(read_shards(killed / "responses", []))
    assert 0 < answered < 100
    resumed = RunDirectory.open(killed)
    execute(plan, Counting(), resumed, first_shard=25, max_shard=25)
    manifest = RunDirectory.open(killed).manifest
    first, second = manifest.sessions
    assert (first.status, first.ended, first.requests_after) == ("failed", None, answered)
    assert (second.requests_before, second.requests_after) == (answered, 100)
    work, lacking = (
        manifest.model.description["work"],
        manifest.model.description.get("requests_not_counted", 0),
    )
    assert work["rows"] + lacking == 100
    assert (lacking, first.requests_not_counted) == ((0, 0) if is_counted else (answered, answered))
    assert (first.tokens + second.tokens == directory.manifest.sessions[0].tokens) == is_counted
