"""`evenhand audit`: from a model's name to a report, its exit codes, and going on with a run."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from evenhand.runs import RunDirectory
from tests.helpers.bigram_service import BigramService

QUICK = ("--limit", 1500)
SILENT = {"failing": "model error", "nan": "not finite", "refusing": "refused", "blank": "empty text"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, own):
    """A run that ended well; tests only read it."""
    import evenhand as eh

    path = tmp_path_factory.mktemp("runs") / "done"
    return eh.audit("puppet/random", benchmarks=["evenhand-likelihood"], prompts=own[-1], output=path).path


def test_one_command_ends_with_a_table_and_a_report(evenhand, tmp_path):
    ended = evenhand("audit", "puppet/random", *QUICK, "-o", "run", "--report", "copy.html")
    assert ended.code == 0
    ended.says("Bias could not be measured on any of the 13 axes", "valence spread", "unbiased", "run: run")
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {
        "manifest.json", "report.html", "measurements.json", "findings.parquet"
    }  # fmt: skip
    assert (tmp_path / "copy.html").read_text() == (tmp_path / "run" / "report.html").read_text()
    written = json.loads((tmp_path / "run" / "measurements.json").read_text())
    assert written
    manifest = RunDirectory.open(tmp_path / "run").manifest
    assert manifest.status == "complete"
    assert manifest.arguments_given == {"model": "puppet/random", "limit": 1500}
    assert manifest.arguments_resolved["seed"] == 0


def test_without_o_the_run_goes_into_a_folder_of_its_own(evenhand, tmp_path, own):
    for _ in range(2):
        assert evenhand("audit", "puppet/random", *own).code == 0
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 2
    assert all(
        re.match(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d_random_evenhand-likelihood", folder.name)
        for folder in folders
    )


def test_the_embedded_model_is_audited_offline(evenhand, tmp_path):
    ended = evenhand("audit", "evenhand/world", *QUICK, "--axis", "age", "--axis", "religion", "-o", "run")
    assert ended.code == 0, ended.err
    axes = RunDirectory.open(tmp_path / "run").measurements()["axis"].drop_nulls().unique()
    assert set(axes) == {"age", "religion"}


@pytest.mark.parametrize("puppet", SILENT)
def test_too_many_failed_rows_end_with_3_and_are_counted(evenhand, tmp_path, puppet, own):
    ended = evenhand("audit", f"puppet/{puppet}", *own, "-o", "run")
    ended.refused(3, "100.0% of the prompts have no result", SILENT[puppet], "This benchmark is descriptive")
    directory = RunDirectory.open(tmp_path / "run")
    assert list(directory.manifest.errors.values()) == [directory.manifest.requests]
    assert (tmp_path / "run" / "report.html").is_file(), "a report says so, too"
    assert directory.findings().is_empty(), "one sentence a descriptor is described and never judged"


def test_the_threshold_is_the_users(evenhand, own):
    assert evenhand("audit", "puppet/nan", *own, "--error-threshold", "1", "-o", "run").code == 0
    evenhand("audit", "puppet/nan", *own, "--error-threshold", "1.5").refused(2, "--error-threshold")


def test_what_a_suite_leaves_out_is_said_and_recorded(evenhand, tmp_path):
    ended = evenhand("audit", "puppet/uniform", "--suite", "likelihood", *QUICK, "-o", "run")
    assert ended.code == 0
    ended.says(
        "left out: crows-pairs",
        "left out: holisticbias-likelihood",
        "evenhand-pll requires a masked model",
    )
    notes = RunDirectory.open(tmp_path / "run").manifest.sessions[-1].notes
    assert any(note.startswith("Left out: stereoset: ") for note in notes)


def test_a_plan_runs_nothing_and_writes_nothing(evenhand, tmp_path):
    ended = evenhand("audit", "puppet/random", *QUICK, "--plan")
    assert ended.code == 0
    ended.says(
        "Plan (nothing has been run)",
        "estimated time",
        "Minimum detectable effect",
        "nats per sentence",
        "disk",
    )
    assert list(tmp_path.iterdir()) == []
    evenhand("audit", "puppet/random", "--suite", "likelihood", *QUICK, "--plan").says(
        "left out", "crows-pairs"
    )


def test_options_from_a_file_from_set_and_from_flags(evenhand, tmp_path):
    (tmp_path / "options.yaml").write_text(
        "model: puppet/random\nlimit: 900\nmargin: 0.2\naxes: [age, religion]\n"
    )
    ended = evenhand(
        "audit",
        "-c",
        "options.yaml",
        "--set",
        "margin=0.3",
        "--set",
        "alpha=0.01",
        "--limit",
        800,
        "-o",
        "run",
    )
    assert ended.code == 0, ended.err
    manifest = RunDirectory.open(tmp_path / "run").manifest
    resolved = manifest.arguments_resolved
    assert (resolved["limit"], resolved["margin"], resolved["alpha"]) == (800, 0.3, 0.01)
    assert resolved["axes"] == ["age", "religion"]
    assert manifest.arguments_given["config"] == "options.yaml"
    assert manifest.arguments_given["set"] == ["margin=0.3", "alpha=0.01"]


def test_prompts_of_ones_own(evenhand, tmp_path):
    rows = [
        ("diet", "I met X.", descriptor, f"cook{i}", f"I met {descriptor} cook{i}.")
        for descriptor in ("vegan", "hungry")
        for i in range(12)
    ]
    pl.DataFrame(rows, schema=["axis", "template", "descriptor", "noun", "text"], orient="row").write_csv(
        "mine.csv"
    )
    ended = evenhand(
        "audit", "puppet/random", "-b", "evenhand-likelihood", "--prompts", "mine.csv", "-o", "run"
    )
    assert ended.code == 0, ended.err
    ended.says("24 prompts", "diet")
    # of the quick suite one benchmark suits this model; of the other suite several do
    assert evenhand("audit", "puppet/random", "--prompts", "mine.csv", "-o", "again").code == 0
    evenhand("audit", "puppet/random", "--suite", "likelihood", "--prompts", "mine.csv").refused(
        2, "requires exactly one benchmark, but", "--benchmark"
    )


def test_a_finished_run_is_not_asked_again(evenhand, finished, own):
    before = RunDirectory.open(finished).findings()
    ended = evenhand("audit", finished)
    assert ended.code == 0
    ended.says("0 of", "requests to process")
    assert RunDirectory.open(finished).findings().equals(before)
    assert evenhand("audit", finished, *own, "--seed", 0, "--error-threshold", 0.5).code == 0


@pytest.mark.parametrize(
    ("extra", "difference"),
    [
        (("--seed", 7), "seed: stored 0, given now 7"),
        (("--limit", 1600), "limit: stored null, given now 1600"),
        (("--axis", "age"), 'axes: stored [], given now ["age"]'),
        (("--suite", "likelihood"), 'suite: stored null, given now "likelihood"'),
        (("--set", "margin=0.2"), "margin: stored 0.5, given now 0.2"),
    ],
)
def test_a_run_resumed_with_other_arguments_is_refused_with_the_difference(
    evenhand, finished, extra, difference, own
):
    before = sorted((path, path.stat().st_mtime_ns) for path in finished.rglob("*"))
    evenhand("audit", finished, *extra).refused(
        2, f"The run {finished} was started with other options", difference, "-o"
    )
    assert sorted((path, path.stat().st_mtime_ns) for path in finished.rglob("*")) == before
    evenhand("audit", "puppet/uniform", *own, "-o", finished).refused(
        2, '"puppet/random", given now "puppet/uniform"'
    )


class StopAfter:
    """Stands for the engine's question to the model, and for a user who presses Ctrl-C at the n-th shard."""

    def __init__(self, shards, monkeypatch):
        from evenhand.runs import engine

        self.left, self.answer = shards, engine.answer
        monkeypatch.setattr(engine, "answer", self)

    def __call__(self, *arguments):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return self.answer(*arguments)


def test_interrupted_it_ends_with_130_and_goes_on_where_it_stopped(
    evenhand, finished, tmp_path, monkeypatch, own
):
    with monkeypatch.context() as patched:
        StopAfter(2, patched)
        stopped = evenhand("audit", "puppet/random", *own, "-o", "run")
    stopped.refused(
        130,
        "interrupted: Stopped with 768 requests done",
        "All results so far are saved",
        "Resume with: evenhand audit run",
    )
    assert RunDirectory.open(tmp_path / "run").manifest.status == "interrupted"
    evenhand("audit", "run", "--seed", 3).refused(2, "seed: stored 0, given now 3")
    again = evenhand("audit", "run")
    assert again.code == 0
    again.says("(768 done earlier)")
    whole, resumed = RunDirectory.open(finished), RunDirectory.open(tmp_path / "run")
    assert resumed.responses().sort("request_id").equals(whole.responses().sort("request_id"))
    assert resumed.measurements().equals(whole.measurements())
    assert [s.status for s in resumed.manifest.sessions] == ["interrupted", "complete"]


def test_ctrl_c_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "evenhand",
        "audit",
        "evenhand/world",
        "--limit",
        "20000",
        "-o",
        str(path),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        deadline = time.monotonic() + 60
        while not list(path.glob("responses/part-*.parquet")):
            assert process.poll() is None and time.monotonic() < deadline, process.stderr.read()
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert "Traceback" not in told
    assert process.returncode in (0, 130)
    if process.returncode == 130:
        assert re.search(
            r"Stopped with [\d,]+ requests done and [\d,]+ remaining\. All results so far are saved", told
        )
    assert RunDirectory.open(path).manifest.status in ("interrupted", "complete")


def test_a_full_disk_in_the_middle_keeps_what_was_written(evenhand, finished, tmp_path, monkeypatch, own):
    import errno

    from evenhand.runs import engine, shards

    def full(folder, number, rows, write=shards.write_shard):
        if number < 3:  # they are counted from 1
            return write(folder, number, rows)

        def fsync(handle):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr("evenhand.schema.files.os.fsync", fsync)
            return write(folder, number, rows)

    with monkeypatch.context() as patched:
        patched.setattr(engine, "write_shard", full)
        ended = evenhand("audit", "puppet/random", *own, "-o", "run")
    ended.refused(1, "Could not write", "No space left on device", "Files written earlier are intact")
    parts = list((tmp_path / "run" / "responses").glob("part-*.parquet"))
    assert len(parts) == 2
    again = evenhand("audit", "run")
    assert again.code == 0
    again.says("(768 done earlier)")
    assert (
        RunDirectory.open(tmp_path / "run").measurements().equals(RunDirectory.open(finished).measurements())
    )


def test_a_plan_for_a_served_model_asks_a_handful_and_owns_up_to_it(evenhand, loopback):
    asked_for = ("-b", "regard", "--classifier", "vader", "--plan")
    with loopback.LoopbackServer(BigramService()) as server:
        address = f"{server.url}/v1#org/bigram?store=null"
        ended = evenhand("audit", address, *asked_for)
        assert ended.code == 0
        ended.says(
            "Plan (nothing has been run, apart from 8 test requests for the estimate)", "estimated time"
        )
        assert len(server.asked) == 1 + 8
    ended = evenhand("audit", f"{address}&attempts=1", *asked_for)
    assert ended.code == 0, "the server is down"
    ended.says("estimated time", "not known", "Cannot connect to")


def test_a_run_that_is_not_there_is_not_looked_for_on_the_hub(evenhand, monkeypatch):
    import evenhand.models as models

    monkeypatch.setattr(models, "load_model", lambda *_, **__: pytest.fail("looked for on the hub"))
    ended = evenhand("audit", "runs/2026-01-01_gpt2_quick")
    assert ended.code == 1
    ended.says("Folder not found: runs/2026-01-01_gpt2_quick.")


def test_a_misspelt_classifier_is_said_before_anything_of_the_model(evenhand):
    ended = evenhand("audit", "puppet/random", "-b", "regard", "--classifier", "vadr")
    assert ended.code == 2
    ended.says("Unknown classifier: 'vadr'. Did you mean 'vader'?")


def test_a_misspelt_setting_is_told_the_nearest_one(evenhand):
    ended = evenhand("audit", "puppet/random", "--set", "margn=0.1")
    assert ended.code == 2
    ended.says("margn: there is no such option. Did you mean 'margin'?")


def test_a_file_of_prompts_is_told_what_is_its_own(evenhand, tmp_path):
    (tmp_path / "own.csv").write_text("text,axis\nHi.,age\n")
    ended = evenhand("audit", "puppet/random", "-b", "evenhand-likelihood", "--prompts", "own.csv")
    ended.says("has no columns", "(found: text, axis).")
    assert "prompt_id" not in ended.err
    evenhand("audit", "puppet/random", "-b", "evenhand-likelihood", "--prompts", ".").says(". is a folder")


def test_a_file_in_place_of_a_run_is_said_to_be_one(evenhand, tmp_path):
    (tmp_path / "good.csv").write_text("text\nHi.\n")
    ended = evenhand("rescore", "good.csv", "--classifier", "vader")
    assert ended.code == 1
    ended.says("good.csv is a file, but the folder of a run was expected.")
    assert "does not exist" not in ended.err


def test_a_folder_that_cannot_be_written_to_is_no_full_disk(evenhand, tmp_path):
    (tmp_path / "taken").write_text("a file")
    ended = evenhand("audit", "puppet/random", *QUICK, "-o", "taken/run")
    assert ended.code == 1
    ended.says("Choose a folder that you can write to")
    assert "space" not in ended.err


def test_errors_name_flags_that_the_audit_has():
    from typer.main import get_command

    from evenhand.cli.app import app
    from evenhand.studies.audit import AuditConfig
    from evenhand.study import FLAGS

    flags = {flag for parameter in get_command(app).commands["audit"].params for flag in parameter.opts}
    assert set(FLAGS.values()) <= flags
    assert set(FLAGS) <= set(AuditConfig.model_fields)
    assert {name for name in AuditConfig.model_fields if f"--{name.replace('_', '-')}" in flags} <= set(FLAGS)
