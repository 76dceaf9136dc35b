"""Run directories: created once, opened only if they are one, and read as they were written."""

import os
import re

import polars as pl
import pytest

from evenhand.runs import PlanPart, RunDirectory, default_path, make_plan
from evenhand.schema import (
    FINDINGS,
    HEADLINES,
    DataError,
    Measurement,
    ResumeRefused,
    UsageError,
    measurement_frame,
)


@pytest.fixture
def directory(tmp_path, fakes):
    model, arguments = fakes.HashModel(), {"suite": "quick", "limit": 200, "axis": ("age",)}
    return RunDirectory.create(tmp_path / "run", model=model, given={"limit": 200}, resolved=arguments)


def test_it_can_be_opened_again(directory):
    again = RunDirectory.open(directory.path)
    assert again.manifest == directory.manifest
    assert again.manifest.arguments_given == {"limit": 200}
    again.check_same({"suite": "quick", "limit": 200, "axis": ["age"]})


def test_other_arguments_are_refused_with_the_difference(directory):
    with pytest.raises(ResumeRefused, match="limit: stored 200, given now 500") as caught:
        directory.check_same({"suite": "quick", "limit": 500, "axis": ["age"]})
    assert "suite" not in caught.value.message


def test_only_a_run_can_be_opened(tmp_path):
    with pytest.raises(DataError, match="contains no manifest"):
        RunDirectory.open(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        RunDirectory.open(tmp_path / "absent")


def test_nothing_is_overwritten(tmp_path, directory, fakes):
    with pytest.raises(UsageError, match="already contains a run") as caught:
        RunDirectory.create(directory.path, model=fakes.HashModel(), given={}, resolved={})
    assert f"evenhand audit {directory.path}" in caught.value.hint
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.tex").write_text("years of work")
    with pytest.raises(UsageError, match="not empty"):
        RunDirectory.create(other, model=fakes.HashModel(), given={}, resolved={})


def test_a_start_that_was_killed_does_not_block_the_next(tmp_path, fakes):
    (tmp_path / ".evenhand-0123456789abcdef.tmp").write_text("{")
    RunDirectory.create(tmp_path, model=fakes.HashModel(), given={}, resolved={})
    assert RunDirectory.open(tmp_path).manifest.sessions == []


def test_tables_are_read_as_written(directory):
    measurements = measurement_frame([Measurement(measure="m", estimate=0.5, n=3)])
    directory.write_measurements(measurements)
    assert directory.measurements().equals(measurements)
    findings = pl.DataFrame({name: [None] for name in FINDINGS} | {"verdict": ["biased"]}, schema=FINDINGS)
    directory.write_findings(findings)
    assert directory.findings().equals(findings)
    details = {"axes": pl.DataFrame({"axis": ["age"]}), "a/b": pl.DataFrame({"x": [1]})}
    directory.write_details("my/bench", details)
    assert {name: table.rows() for name, table in directory.details("my/bench").items()} == {
        "axes": [("age",)],
        "a/b": [(1,)],
    }
    assert directory.details("other") == {}


@pytest.mark.parametrize(
    ("verdict", "sentence", "told"),
    [
        ("bised", "Age.", "'bised' is not a verdict"),
        (None, "Age.", "a row has no verdict"),
        ("biased", None, "a row has no sentence"),
    ],
)
def test_damaged_verdicts_and_sentences_are_named_with_their_file(directory, verdict, sentence, told):
    row = {
        "benchmark": ["b"],
        "measure": ["m"],
        "axis": ["age"],
        "verdict": [verdict],
        "sentence": [sentence],
    }
    directory.write_headlines(pl.DataFrame(row, schema=HEADLINES))
    with pytest.raises(DataError, match=rf"headlines\.parquet: .*{told}"):
        directory.headlines()
    if sentence is not None:
        absent = {name: [None] for name in FINDINGS}
        directory.write_findings(pl.DataFrame(absent | {"verdict": [verdict]}, schema=FINDINGS))
        with pytest.raises(DataError, match=rf"findings\.parquet: .*{told}"):
            directory.findings()


def test_an_unknown_direction_is_named_with_its_file(directory):
    row = {name: [None] for name in FINDINGS} | {"verdict": ["biased"], "direction": ["zz"]}
    directory.write_findings(pl.DataFrame(row, schema=FINDINGS))
    with pytest.raises(DataError, match=r"findings\.parquet: the direction 'zz' is not valid"):
        directory.findings()


def test_a_folder_that_links_to_itself_is_refused(directory):
    directory.responses_folder.rmdir() if directory.responses_folder.is_dir() else None
    directory.responses_folder.symlink_to("responses")
    with pytest.raises(DataError, match="responses is a link that leads to itself"):
        directory.responses_folder  # noqa: B018


def test_a_table_that_lacks_columns_is_refused(directory):
    with pytest.raises(DataError, match="The table lacks benchmark, axis, group, stratum, estimate,"):
        directory.write_measurements(pl.DataFrame({"measure": ["m"]}))


def test_absent_and_broken_tables_are_named(directory):
    with pytest.raises(DataError, match=r"measurements\.parquet does not exist"):
        directory.measurements()
    (directory.path / "findings.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(DataError, match=r"findings\.parquet cannot be read"):
        directory.findings()


def test_prompts_are_stored_once_and_compared_after(directory, fakes):
    def plan_of(texts, benchmark="b/1"):
        frame = pl.DataFrame({"prompt_id": [str(i) for i in range(len(texts))], "text": texts, "axis": "age"})
        return make_plan([PlanPart(benchmark, frame)], fakes.HashModel().fingerprint)

    directory.write_prompts(plan_of(["a", "b", "a"]))
    assert directory.benchmarks == ["b/1"]
    assert directory.prompts("b/1").drop("request_id").rows() == [
        ("0", "a", "age"),
        ("1", "b", "age"),
        ("2", "a", "age"),
    ]
    directory.write_prompts(plan_of(["a", "b", "a"]))
    with pytest.raises(
        ResumeRefused, match="started with: 3 rows are stored, 3 are given now, 2 are the same"
    ):
        directory.write_prompts(plan_of(["a", "c", "a"]))
    with pytest.raises(ResumeRefused, match="also contains prompts of b/1"):
        directory.write_prompts(plan_of(["a"], "another"))
    path = next((directory.path / "prompts").glob("*.parquet"))
    pl.read_parquet(path).clear().write_parquet(path)
    with pytest.raises(DataError, match=r"\.parquet contains no prompts"):
        directory.prompts("b/1")


def test_the_default_path_is_a_new_folder_named_by_time_model_and_suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = default_path("/home/me/models/my model:v1/", "quick")
    assert re.fullmatch(r"runs/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d_my-model-v1_quick", str(path))
    path.mkdir(parents=True)
    seconds = {default_path("m", "s") for _ in range(3)}
    for taken in seconds:
        taken.mkdir(exist_ok=True)
    assert default_path("m", "s") not in seconds


@pytest.mark.parametrize(
    "folder", ["responses", "prompts", "labels", "labels/vader@1", "details", "details/regard"]
)
def test_a_folder_that_leads_out_of_the_run_is_refused(directory, tmp_path, folder):
    """A link in a run that somebody else made would have files of the user's renamed or replaced."""
    outside, link = tmp_path / "outside", directory.path / folder
    outside.mkdir()
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    use = {
        "responses": lambda: directory.responses_folder,
        "prompts": lambda: directory.prompts("regard"),
        "labels": lambda: directory.labels_folder("vader@1"),
        "details": lambda: directory.write_details("regard", {"pairs": pl.DataFrame({"a": [1]})}),
    }
    with pytest.raises(
        DataError, match=f"{re.escape(str(directory.path / folder.split('/')[0]))}.* leads out"
    ):
        use[folder.split("/")[0]]()
    assert not list(outside.iterdir())


def test_detail_tables_with_other_columns_than_they_were_written_with_are_refused(directory):
    table = pl.DataFrame({"group": ["a", "b"], "rate": [0.25, 0.5]})
    directory.manifest.details["regard"] = directory.write_details("regard", {"groups": table})
    directory.save()
    again = RunDirectory.open(directory.path)
    assert again.details("regard")["groups"].equals(table)
    path = directory.path / "details" / "regard" / "groups.parquet"
    for changed in (table.drop("rate"), table.cast({"rate": pl.String}), table.with_columns(x=pl.lit(1))):
        changed.write_parquet(path)
        with pytest.raises(DataError, match=r"groups\.parquet has other columns") as caught:
            again.details("regard")
        assert f"evenhand audit {directory.path}" in caught.value.hint
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match="it is not a regular file"):
        again.details("regard")


def test_a_run_behind_a_link_is_a_run(directory, tmp_path):
    """Whoever keeps runs on another disk and links to them goes on as before."""
    (tmp_path / "link").symlink_to(directory.path)
    assert RunDirectory.open(tmp_path / "link").responses_folder == tmp_path / "link" / "responses"


@pytest.mark.parametrize(
    ("file", "read", "table"),
    [
        ("findings.parquet", lambda run: run.findings(), pl.DataFrame({"measure": ["m"]})),
        ("measurements.parquet", lambda run: run.measurements(), pl.DataFrame({"measure": [3]})),
        (
            "prompts/b.parquet",
            lambda run: run.prompts("b"),
            pl.DataFrame({"prompt_id": ["a"], "text": ["b"]}),
        ),
        ("prompts/b.parquet", lambda run: run.prompts("b", ["text"]), pl.DataFrame({"request_id": [3]})),
    ],
)
def test_a_table_of_other_columns_or_types_is_named_with_them(directory, file, read, table):
    path = directory.path / file
    path.parent.mkdir(exist_ok=True)
    table.write_parquet(path)
    with pytest.raises(DataError, match="is not a table written by evenhand"):
        read(directory)


def test_a_named_pipe_in_the_place_of_a_table_is_refused_not_waited_for(directory):
    path = directory.path / "findings.parquet"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(DataError, match="it is not a regular file"):
        directory.findings()
