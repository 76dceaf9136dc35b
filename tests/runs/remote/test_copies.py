"""Runs on stores: equal to those in a folder, whole after every kill, one driver at a time."""

import json
import re
import shutil

import polars as pl
import pytest

import evenhand as eh
from evenhand.runs import RunDirectory, execute
from evenhand.runs.remote import copies as module, lease, store as stores, working_copy
from evenhand.schema import DataError, UsageError, WriteError
from evenhand.studies.audit.result import resume

TEXTS = [f"A person came in {i} times." for i in range(40)]
SHARD = 8


class Killed(BaseException):
    """The process ends here: nothing behind it is done."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(stores, "WAIT", 0.0)
    monkeypatch.setattr(lease, "SETTLED", 0.0)


@pytest.fixture
def asked(fakes):
    """A function that runs, or goes on with, an engine's run at an address; gives what was answered in the session."""
    from evenhand.runs import PlanPart, ScoreRequest, make_plan

    prompts = pl.DataFrame({"prompt_id": [f"p{i}" for i in range(len(TEXTS))], "text": TEXTS})

    def ask(place, progress=None):
        model = fakes.HashModel()
        plan = make_plan([PlanPart("texts", prompts, ScoreRequest())], model.fingerprint)
        with working_copy(place) as copy:
            if RunDirectory.is_run(copy.folder):
                directory = RunDirectory.open(copy.folder)
            else:
                directory = RunDirectory.create(copy.folder, model=model, given={}, resolved={})
            told = copy.report_after_upload(progress)
            return execute(plan, model, directory, progress=told, first_shard=SHARD, max_shard=SHARD).answered

    return ask


def answers_at(place):
    with working_copy(place, writes=False) as copy:
        return RunDirectory.open(copy.folder).responses().sort("request_id")


def names(files, address):
    root = address.split("://")[1].strip("/")
    return sorted(path.strip("/").removeprefix(f"{root}/") for path in files.find(address))


@pytest.mark.parametrize("kind", ["memory", "s3", "file"])
def test_a_run_on_a_store_is_the_run_of_a_folder_and_another_machine_reads_it(
    kind, request, asked, copies, tmp_path
):
    if kind == "file":
        import fsspec

        address, files = f"file://{tmp_path}/store/run", fsspec.filesystem("file")
    else:
        address, files = request.getfixturevalue(kind)
    assert asked(address) == len(TEXTS)
    asked(tmp_path / "plain")
    expected = answers_at(tmp_path / "plain")
    shutil.rmtree(copies)  # as on another machine
    assert answers_at(address).equals(expected)
    assert names(files, address) == [
        "manifest.json",
        "prompts/texts.parquet",
        *(f"responses/part-{i:06d}.parquet" for i in range(1, 6)),
    ]
    assert asked(address) == 0


@pytest.mark.parametrize("same_machine", [True, False])
def test_killed_at_every_put_a_run_loses_the_shard_in_flight_at_most(
    memory, asked, copies, monkeypatch, same_machine, tmp_path
):
    address, files = memory
    asked(tmp_path / "plain")
    expected = answers_at(tmp_path / "plain")
    put, release, pushed = stores.ObjectStore.upload, lease.Lease.release, module.WorkingCopy.push
    total = 0
    for number in range(1, 30):
        left = [number % 4 + 1]

        def put_or_die(self, path, name, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return put(self, path, name)

        def push(self, left=left):
            if left[0] >= 0:  # a process that is dead puts nothing
                pushed(self)

        monkeypatch.setattr(stores.ObjectStore, "upload", put_or_die)
        monkeypatch.setattr(module.WorkingCopy, "push", push)
        monkeypatch.setattr(
            lease.Lease, "release", lambda self: self._ended.set()
        )  # nor lets it go of the lock
        before = len([name for name in names(files, address) if "part-" in name])
        try:
            total += asked(address)
            break
        except Killed:
            now = len([name for name in names(files, address) if "part-" in name])
            assert now - before in (0, 1, 2, 3, 4)
        if not same_machine:
            shutil.rmtree(copies)
            monkeypatch.setattr(
                lease.time, "time", lambda now=number: 2e9 + 1000 * now
            )  # the lease has run out
    else:
        pytest.fail("never finished")
    monkeypatch.setattr(lease.Lease, "release", release)
    assert number > 3
    assert answers_at(address).equals(expected)
    every = answers_at(address)
    assert every.height == every["request_id"].n_unique() == len(TEXTS)


def test_a_second_driver_is_refused_and_told_who_is_there(memory, monkeypatch, tmp_path):
    address, files = memory
    with working_copy(address):
        with (
            pytest.raises(UsageError, match=f"The run {address} is already in use by process"),
            working_copy(address),
        ):
            pytest.fail("two on one machine")
        monkeypatch.setenv("EVENHAND_COPIES", str(tmp_path / "another machine"))
        refused = pytest.raises(
            UsageError, match=rf"{address} is already in use by process \d+ on .* since 20"
        )
        with refused as told, working_copy(address):
            pytest.fail("two drivers")
        assert "may resume after 20" in told.value.hint
    with working_copy(address):
        assert files.exists(f"{address}/.driver.json")
    assert not files.exists(f"{address}/.driver.json")


def test_the_lease_of_a_dead_driver_runs_out_and_who_was_followed_stops(memory, monkeypatch, tmp_path, asked):
    address, files = memory
    stopped = pytest.raises(WriteError, match="This process can no longer write to")
    with stopped as told, working_copy(address) as copy:
        (copy.folder / "responses").mkdir(parents=True)
        monkeypatch.setattr(lease.time, "time", lambda: 3e9)
        monkeypatch.setenv("EVENHAND_COPIES", str(tmp_path / "another machine"))
        assert asked(address) == len(TEXTS)
        with working_copy(address):
            (copy.folder / "responses" / "part-000009.parquet").write_bytes(b"late")
            copy.push()
    assert "not uploaded are kept on this machine" in told.value.hint
    assert "part-000009" not in " ".join(names(files, address))


def test_the_lock_is_renewed_while_work_goes_on(memory, monkeypatch):
    address, files = memory
    monkeypatch.setattr(lease, "BEAT", 0.02)
    with working_copy(address):
        first = json.loads(files.cat_file(f"{address}/.driver.json"))["until"]
        for _ in range(200):
            if json.loads(files.cat_file(f"{address}/.driver.json"))["until"] > first:
                break
            lease.time.sleep(0.01)
        else:
            pytest.fail("never renewed")


def test_a_part_that_differs_is_the_stores_and_one_it_lacks_is_put_there(memory, asked, copies):
    address, files = memory
    asked(address)
    whole = answers_at(address)
    folder = next(copies.glob("*/run/responses"))
    stored = files.cat_file(f"{address}/responses/part-000002.parquet")
    (folder / "part-000002.parquet").write_bytes(b"changed here")
    shutil.copy(
        folder / "part-000003.parquet", folder / "part-000077.parquet"
    )  # never put: its driver was killed
    files.rm_file(f"{address}/responses/part-000004.parquet")  # somebody wants it asked anew
    notes = []
    with working_copy(address) as copy:
        copy.report_after_upload(_Told(notes))
    assert (folder / "part-000002.parquet").read_bytes() == stored
    assert files.exists(f"{address}/responses/part-000077.parquet")
    assert notes[0].startswith("1 of the local files differed from those of")
    assert (
        re.fullmatch(r"Files that were not yet in \S+ and are now uploaded: 1\.", notes[1])
        and len(notes) == 2
    )
    assert asked(address) == SHARD
    assert answers_at(address).drop("seconds", strict=False).equals(whole.drop("seconds", strict=False))


def test_a_damaged_object_is_set_aside_and_asked_again(memory, asked, copies):
    address, files = memory
    asked(address)
    whole = answers_at(address)
    name = f"{address}/responses/part-000003.parquet"
    files.pipe_file(
        name, files.cat_file(name)[:100]
    )  # half of it, as a store without whole writes may leave it
    shutil.rmtree(copies)
    with pytest.raises(DataError, match=f"{address}/responses/part-000003.parquet cannot be read"):
        answers_at(address)
    assert asked(address) == SHARD
    assert answers_at(address).equals(whole)
    assert "responses/part-000003.parquet.corrupt" in names(files, address)
    assert "responses/part-000003.parquet" not in names(files, address)


def test_what_the_store_lost_begins_anew_and_answers_kept_here_are_set_aside(memory, asked, copies):
    address, files = memory
    asked(address)
    files.rm(address, recursive=True)
    assert asked(address) == len(TEXTS)
    assert [path.name for path in copies.glob("*/aside-*")] == ["aside-1"]


def test_a_network_that_breaks_stops_the_run_with_nothing_lost(memory, asked, monkeypatch):
    address, files = memory
    put = type(files).put_file
    asks = []

    def broken(self, here, there, **more):
        asks.append(there)
        if "part-000003" in there:
            raise ConnectionError("the network is down")
        return put(self, here, there, **more)

    monkeypatch.setattr(type(files), "put_file", broken)
    with pytest.raises(WriteError, match=r"part-000003.parquet in 5 tries: the network is down") as told:
        asked(address)
    assert "Results stored earlier are intact, and results that" in told.value.hint
    assert sum("part-000003" in name for name in asks) >= stores.TRIES
    monkeypatch.setattr(type(files), "put_file", put)
    assert asked(address) == len(TEXTS) - 3 * SHARD  # the third shard was kept on this machine
    assert answers_at(address).height == len(TEXTS)


def test_a_try_that_fails_once_is_tried_again(memory, asked, monkeypatch):
    address, files = memory
    put, failed = type(files).put_file, []

    def flaky(self, here, there, **more):
        if there not in failed:
            failed.append(there)
            raise TimeoutError("slow")
        return put(self, here, there, **more)

    monkeypatch.setattr(type(files), "put_file", flaky)
    assert asked(address) == len(TEXTS)


def test_no_bucket_no_keys_no_server_no_package_and_no_kind_are_said(s3, monkeypatch, asked):
    address, files = s3
    with pytest.raises(WriteError, match="bucket does not exist") as told:
        asked("s3://no-such-bucket-here/run")
    assert "Folders in it need not be created" in told.value.hint
    with pytest.raises(UsageError, match="nowhere://a/b: unknown kind of object storage, nowhere://"):
        asked("nowhere://a/b")
    with pytest.raises(UsageError, match="is not the URL of a folder"):
        asked("s3://")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    files.clear_instance_cache()
    with pytest.raises(WriteError, match="no credentials found") as told:
        asked(address)
    assert "AWS_ACCESS_KEY_ID" in told.value.hint

    def missing(*_, **__):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(UsageError, match="the package for this kind of object storage is not") as told:
        asked(address)
    assert told.value.hint == "Install it: pip install 'evenhand[s3]'"


def test_permission_refused_is_said(memory, asked, monkeypatch):
    address, files = memory

    def refused(*_, **__):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(type(files), "pipe_file", refused)
    with pytest.raises(WriteError, match=f"Could not write {address}/.driver.json: permission denied"):
        asked(address)


def test_a_name_that_leads_out_of_the_run_is_refused(memory, monkeypatch):
    address, files = memory
    found = {f"{address.split(':/')[1]}/../../evil": {"size": 1, "created": 1, "type": "file"}}
    monkeypatch.setattr(type(files), "find", lambda *_, **__: found)
    with pytest.raises(DataError, match="points outside of it"), working_copy(address):
        pytest.fail("entered")


def test_who_only_reads_takes_no_lock_and_changes_nothing(memory, asked, tmp_path, monkeypatch):
    address, files = memory
    asked(address)
    before = {name: files.info(f"{address}/{name}")["created"] for name in names(files, address)}
    with working_copy(address):  # another driver is at work: on this machine, then elsewhere
        assert answers_at(address).height == len(TEXTS)
        monkeypatch.setenv("EVENHAND_COPIES", str(tmp_path / "another machine"))
        assert answers_at(address).height == len(TEXTS)
    assert before == {name: files.info(f"{address}/{name}")["created"] for name in names(files, address)}


@pytest.mark.slow
def test_an_audit_on_s3_is_shown_compared_and_gone_on_with(s3, tmp_path):
    address, files = s3
    plain = eh.audit("puppet/random", suite="quick", axes=["age"], limit=30, output=tmp_path / "plain")
    run = eh.audit("puppet/random", suite="quick", axes=["age"], limit=30, output=address)
    run.report()
    assert run.address == address
    assert run.findings.equals(plain.findings)
    assert {"report.html", "measurements.json", "findings.parquet"} <= set(names(files, address))
    again = eh.open_run(address)
    assert again.measurements.equals(plain.measurements)
    gone_on = eh.audit("puppet/random", suite="quick", axes=["age"], limit=30, output=address)
    assert gone_on.outcome.answered == 0
    with pytest.raises(UsageError, match=f"The run {address} was"):
        eh.audit("puppet/random", suite="quick", axes=["age"], limit=31, output=address)
    with pytest.raises(DataError, match=r"s3://.*/nothing does not exist"):
        eh.open_run(f"{address}/nothing")
    report = eh.compare(address, tmp_path / "plain", names=["a", "b"])
    assert set(report.names) == {"a", "b"}


class _Told:
    def __init__(self, notes):
        self.notes = notes

    def note(self, message):
        self.notes.append(message)


def test_where_copies_lie_is_said_by_a_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_COPIES", str(tmp_path / "x"))
    assert module.copies_folder() == tmp_path / "x"
    monkeypatch.delenv("EVENHAND_COPIES")
    assert module.copies_folder().parts[-2:] == ("evenhand", "copies")


@pytest.mark.parametrize(
    "content", ['{"until": "soon"}', "[1]", '{"until": 1e300}', '{"until": NaN}', '{"until": true}']
)
def test_a_lock_that_no_driver_wrote_is_passed_over(memory, content):
    address, files = memory
    files.pipe_file(f"{address}/.driver.json", content.encode())
    with working_copy(address):
        assert json.loads(files.cat_file(f"{address}/.driver.json"))["pid"]


def test_a_lock_that_holds_too_long_names_its_file(memory):
    address, files = memory
    files.pipe_file(f"{address}/.driver.json", b'{"until": 9e9, "pid": 1}')
    with pytest.raises(UsageError) as told, working_copy(address):
        pytest.fail("two drivers")
    assert f"delete {address}/.driver.json" in told.value.hint
    files.rm_file(f"{address}/.driver.json")
    with working_copy(address):
        pass


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["manifest.json", "/abs"], "no file can have: '/?/?abs'|points outside of it"),
        (["manifest.json", "a//b"], "not a valid file name: 'a//b'"),
        (["manifest.json", "x" * 300], "not a valid file name: 'xxx"),
        (["manifest.json", "a", "a/b"], "an object 'a' that is also the folder of 'a/b'"),
        (
            ["holiday.jpg", "films/one.mov"],
            "does not contain a run, but 2 other objects, such as 'films/one.mov'",
        ),
    ],
)
def test_what_no_run_has_is_refused_before_anything_is_fetched(memory, monkeypatch, names, told):
    address, files = memory
    root = address.split(":/")[1]
    found = {f"{root}/{name}": {"size": 1 << 40, "created": 1, "type": "file"} for name in names}
    monkeypatch.setattr(type(files), "find", lambda *_, **__: found)
    monkeypatch.setattr(stores.ObjectStore, "fetch", lambda *_: pytest.fail("fetched"))
    with pytest.raises(DataError, match=told), working_copy(address):
        pytest.fail("entered")


def test_a_driver_that_was_killed_before_its_first_file_had_begun_nothing(memory):
    address, files = memory
    files.pipe_file(f"{address}/.driver.json", b"{}")
    with pytest.raises(DataError, match=f"{address} does not contain a run"):
        resume(address, None, [], {})
