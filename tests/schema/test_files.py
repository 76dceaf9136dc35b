"""Whole or not at all: every writer of the product on a disk that is full, and what a file then holds."""

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import evenhand
from evenhand.schema import DataError, UsageError, WriteError, parse_yaml
from evenhand.schema.files import (
    as_json,
    describe_occupied,
    missing_file,
    read_json,
    table_bytes,
    write_json,
    write_table,
    write_text,
)

NOISE = [os.urandom(16).hex() for _ in range(3000)]  # does not compress below the limit
TABLE = pl.DataFrame({"text": NOISE, "n": range(len(NOISE))})
LONE = "a\ud800b"


@contextmanager
def full_disk(free: int = 4096) -> Iterator[None]:
    """Files cannot grow past `free` bytes, as if the disk had no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def a_shard(folder: Path) -> None:
    from evenhand.runs.shards import GrowingTable, write_shard

    write_shard(folder, 1, TABLE, GrowingTable({"text": pl.String, "n": pl.Int64}, ("n",)))


def a_detail_of_a_run(folder: Path) -> None:
    from evenhand.runs.directory import RunDirectory
    from evenhand.runs.manifest import Manifest

    RunDirectory(folder, Manifest(created="now")).write_details("toxigen", {"groups": TABLE})


def a_stage(folder: Path) -> None:
    from evenhand.prompts.stages import Stages

    Stages(folder).frame("pieces.parquet", "key", lambda: TABLE)


def a_stage_for_people(folder: Path) -> None:
    from evenhand.prompts.stages import Stages

    Stages(folder).write_csv("terms.csv", "key", TABLE)


def the_stages(folder: Path) -> None:
    from evenhand.prompts.stages import Stages

    (folder / "x.csv").write_text("x")
    Stages(folder).record("x.csv", "".join(NOISE))


def vectors(folder: Path) -> None:
    from evenhand.prompts.advpromptset.vectors import StoredVectors

    class Drawn:
        fingerprint = "drawn"

        def encode(self, texts: Sequence[str]) -> Any:
            return np.random.default_rng(0).normal(size=(len(texts), 8)).astype(np.float32)

    StoredVectors(folder, Drawn()).prepare(NOISE)


def own_sentences(kind: str) -> Any:
    def own(folder: Path) -> None:
        from evenhand.catalogue import build_sentences

        build_sentences("evenhand", folder / "own", style=kind)

    own.__name__ = f"own_sentences_as_{kind}"
    return own


def an_instruction(folder: Path) -> None:
    from evenhand.mitigations.prompting.instructions import FoundInstruction
    from evenhand.schema import Card

    FoundInstruction(" ".join(NOISE), Card("c", "d")).write(folder / "instruction.json")


def a_trigger(folder: Path) -> None:
    from evenhand.mitigations.triggers.trigger import TriggerFile

    TriggerFile(ids=(1,), text="".join(NOISE), mode="mitigate", tokenizer="t", model={}).write(
        folder / "t.json"
    )


def the_state_of_a_search_for_triggers(folder: Path) -> None:
    from evenhand.mitigations.triggers.search import SearchState

    SearchState("".join(NOISE)).write(folder / "state.json")


def a_manifest(folder: Path) -> None:
    from evenhand.runs.manifest import Manifest

    Manifest(created="now", arguments_given={"x": NOISE}).write(folder / "manifest.json")


def a_search_for_an_instruction(folder: Path) -> None:
    from evenhand.studies.search_instruction.record import begin

    begin(folder / "search", {"seeds": NOISE})


def a_built_set(folder: Path) -> None:
    from evenhand.prompts.advpromptset.built import COLUMNS, write_built

    write_built(TABLE.select(*(pl.col("text").alias(name) for name in COLUMNS)), folder / "set.jsonl", {})


def a_view() -> Any:
    from evenhand.reports.view import ReportView
    from evenhand.schema import FINDINGS, MEASUREMENTS

    empty = pl.DataFrame(schema=MEASUREMENTS), pl.DataFrame(schema=FINDINGS)
    return ReportView("m", {}, {"seed": NOISE}, *empty, ())


def measurements(folder: Path) -> None:
    from evenhand.reports.numbers import measurement_numbers

    write_json(folder / "measurements.json", measurement_numbers(a_view()))


def a_report(folder: Path) -> None:
    from evenhand.studies.audit.page import render_html

    write_text(folder / "report.html", render_html(a_view()))


def an_agreement(folder: Path) -> None:
    from evenhand.studies.agreement.result import AgreementStudy

    AgreementStudy(folder, (), tuple(NOISE)).report()


WRITERS = [
    a_shard, a_detail_of_a_run, a_stage, a_stage_for_people, the_stages, vectors, own_sentences("csv"),
    own_sentences("parquet"), an_instruction, a_trigger, the_state_of_a_search_for_triggers, a_manifest,
    a_search_for_an_instruction, a_built_set, measurements, a_report, an_agreement,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_every_writer_names_the_file_that_a_full_disk_does_not_hold(write: Any, tmp_path: Path) -> None:
    with full_disk(), pytest.raises(WriteError) as caught:
        write(tmp_path)
    named = Path(caught.value.message.split(": ")[0].removeprefix("Could not write "))
    assert tmp_path in named.parents and "too large" in caught.value.message.lower()
    assert not [path for path in tmp_path.rglob("*.tmp")]


def test_no_other_file_of_the_source_writes_tables_by_itself() -> None:
    source = Path(evenhand.__file__).parent
    found = [
        f"{path.relative_to(source)}: {line.strip()}"
        for path in source.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if path != source / "schema" / "files.py"
        and re.search(r"(?<!stages)\.(write_(parquet|csv|ndjson|json|ipc)|sink_\w+)\(", line)
    ]
    assert found == []


def test_no_other_file_of_the_source_reads_parquet_by_itself() -> None:
    """One changed byte makes polars panic, which no except clause meets, or ends the process."""
    source = Path(evenhand.__file__).parent
    found = [
        f"{path.relative_to(source)}: {line.strip()}"
        for path in source.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if path != source / "schema" / "parquet.py" and re.search(r"pl\.(read|scan)_parquet", line)
    ]
    assert found == []


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_table_that_does_not_fit_leaves_the_earlier_one(kind: str, tmp_path: Path) -> None:
    path = write_table(tmp_path / f"t.{kind}", TABLE.head(2))
    before = path.read_bytes()
    with full_disk(), pytest.raises(WriteError, match=rf"t\.{kind}"):
        write_table(path, TABLE)
    assert path.read_bytes() == before and [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("style", ["csv", "parquet"])
def test_a_full_disk_on_the_command_line_is_one_message(style: str, tmp_path: Path) -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "from evenhand.cli.app import main\nmain()"
    )
    to = tmp_path / "own.data"
    ended = subprocess.run(
        [sys.executable, "-c", program, "data", "build", "evenhand", "--format", style, "-o", str(to)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "Could not write" in ended.stderr and "own.data" in ended.stderr.replace("\n", "")
    assert "Traceback" not in ended.stderr and not list(tmp_path.iterdir())


def test_tables_are_what_polars_reads(tmp_path: Path) -> None:
    assert pl.read_parquet(write_table(tmp_path / "t.parquet", TABLE)).equals(TABLE)
    assert pl.read_csv(write_table(str(tmp_path / "t.csv"), TABLE)).equals(TABLE)
    assert pl.read_ndjson(write_table(tmp_path / "t.json", TABLE, "jsonl")).equals(TABLE)
    assert bytes(table_bytes(TABLE.head(1), "csv", include_header=False)) == f"{NOISE[0]},0\n".encode()
    with pytest.raises(ValueError, match="parquet, csv, jsonl"):
        write_table(tmp_path / "t.txt", TABLE)


def test_json_is_what_any_reader_takes_and_keeps_lone_surrogates(tmp_path: Path) -> None:
    content = {"text": LONE, "é": [1, 2.5, None, True], "p": float("nan"), 3: {"b", "a"}, "path": tmp_path}
    path = write_json(tmp_path / "deep" / "a.json", content)

    def refused(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    back = json.loads(path.read_bytes().decode("utf-8"), parse_constant=refused)
    assert back == {
        "text": LONE, "é": [1, 2.5, None, True], "p": None, "3": ["a", "b"], "path": str(tmp_path),
    }  # fmt: skip
    assert "é".encode() in path.read_bytes() and read_json(path, "hint") == back
    path.write_bytes(b"\xff{")
    with pytest.raises(DataError, match=r"a\.json cannot be read") as caught:
        read_json(path, "Restore it.")
    assert caught.value.hint == "Restore it."


def test_text_with_a_lone_surrogate_is_utf_8(tmp_path: Path) -> None:
    assert write_text(tmp_path / "a.txt", LONE + "é").read_text(encoding="utf-8") == "a\\ud800bé"


def test_data_is_as_a_json_file_gives_it_back() -> None:
    given = {
        "b": np.int64(3),
        "a": (np.float32(0.5), np.bool_(True)),
        True: None,
        "none": {None: 1, 2.5: "x"},
    }
    back = as_json(given)
    assert back == {"b": 3, "a": [0.5, True], "true": None, "none": {"null": 1, "2.5": "x"}}
    assert json.loads(json.dumps(back)) == back
    assert list(as_json({"b": {"z": 1, "y": 2}, "a": 1}, ordered=True)) == ["a", "b"]
    assert as_json(np.zeros(3)) == "[0. 0. 0.]"


DEEP = "[" * 100_000


def test_json_nested_too_deeply_is_damaged_json(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text(DEEP)
    with pytest.raises(DataError, match=r"cannot be read: nested too deeply: line 1 column 1 \(char 0\)\."):
        read_json(path, "Mend it.")


@pytest.mark.parametrize(
    "name", ["manifest", "instruction", "trigger", "scores", "prompts", "outputs", "labels", "yaml"]
)
def test_every_file_of_a_user_may_be_nested_too_deeply(tmp_path, name):
    from evenhand.classifiers import existing_scores, text_classification_options
    from evenhand.mitigations import load_mitigation
    from evenhand.prompts.own_files.prompts import read_prompts
    from evenhand.runs.manifest import Manifest
    from evenhand.studies.audit.options import read_config
    from evenhand.studies.compare.outputs import read_outputs

    path = tmp_path / ("deep.jsonl" if name == "prompts" else "deep.json")
    path.write_text('{"a":' * 100_000 if name == "instruction" else DEEP)
    readers = {
        "manifest": Manifest.read,
        "instruction": lambda path: load_mitigation(f"instruction-file={path}"),
        "trigger": lambda path: load_mitigation(f"trigger={path}"),
        "scores": existing_scores.read_score_file,
        "prompts": read_prompts,
        "outputs": read_outputs,
        "labels": text_classification_options.read_labels,
        "yaml": lambda path: read_config(path, (), {"model": "m"}),
    }
    with pytest.raises(DataError, match=f"{path.name}.*[Nn]ested too deeply"):
        readers[name](path)


def test_an_answer_nested_too_deeply_is_a_bad_answer():
    from evenhand.services.answers import read_response

    answer = read_response(200, {}, DEEP.encode(), 1, 0.1).answer
    assert answer.error is not None and answer.reason == "broken JSON"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(WriteError, match="it is a device or a pipe"):
        write_text(pipe, "x")
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    "text", ["a: " + "1" * 5000, "a: 2020-13-45", "a: !!bool x", "a: !!int ''", "a: !!timestamp x"]
)
def test_yaml_whose_values_cannot_be_read_is_invalid_yaml(tmp_path: Path, text: str) -> None:
    from evenhand.annotation.analysis.rules import rule_set
    from evenhand.studies.audit.options import read_config
    from evenhand.study.sources import assign

    with pytest.raises(yaml.YAMLError):
        parse_yaml(text)
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=r"a\.yaml"):
        read_config(path, (), {"model": "m"})
    with pytest.raises(DataError, match=r"a\.yaml"):
        rule_set(str(path), {})
    with pytest.raises(UsageError, match="is not a valid YAML value"):
        assign({}, text.replace("a: ", "a="))


def test_a_missing_file_suggests_its_neighbour_and_names_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("a")
    (tmp_path / "loop").symlink_to("loop")
    assert "Did you mean" in missing_file(tmp_path / "anwers.csv", None).message
    assert "symbolic link to loop" in missing_file(tmp_path / "loop", None).message
    assert describe_occupied(tmp_path / "loop") == "is a symbolic link without a target"
    assert describe_occupied(tmp_path / "answers.csv").startswith("is a file")
