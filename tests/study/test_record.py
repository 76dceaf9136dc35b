"""The record of every kind of study: the same rules for versions, damage and folders of something else."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.schema import DataError, ResumeRefused, UsageError
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.before_after import record as before_after_record
from evenhand.studies.consistency.options import CheckOptions
from evenhand.studies.search_instruction import record as revision_record
from evenhand.studies.search_instruction.options import RevisionConfig
from evenhand.study.record import StudyRecord

AUDIT = {"model": "gpt2", "seed": 3, "benchmarks": ["toxigen"]}
CHECK = {"method": "prefix=Be kind.", "model": "gpt2", "seed": 3}
SEARCH = {"config": {"reviser": "rules", "iterations": 2}, "audit": AUDIT, "seeds": ["Be kind."]}


KINDS: list[tuple[StudyRecord, str, dict[str, Any], Callable[[Path], Any], Any]] = [
    (
        CheckOptions.RECORD, "study.json", CHECK, CheckOptions.read_stored,
        CheckOptions.model_validate({**CheckOptions.EARLIER, **CHECK}),
    ),
    (
        before_after_record.RECORD, "before-after-options.json", AUDIT, before_after_record.stored_study,
        AuditConfig.model_validate(AUDIT),
    ),
    (
        revision_record.RECORD, "revision.json", SEARCH, revision_record.stored_search,
        RevisionConfig.model_validate({"reviser": "rules", "iterations": 2, "audit": AUDIT}),
    ),
]  # fmt: skip
kinds = pytest.mark.parametrize(
    ("record", "name", "options", "read", "known"), KINDS, ids=["consistency", "before-after", "revision"]
)


def written(folder: Path, record: StudyRecord, options: Any, **changes: Any) -> Path:
    """As the first version of evenhand laid it out."""
    content = {"version": 1, record.part: options, "given": {}} | changes
    (folder / record.file).write_text(json.dumps(content), encoding="utf-8")
    return folder


@kinds
def test_what_the_first_version_wrote_is_read(
    record: StudyRecord, name: str, options: Any, read: Any, known: Any, tmp_path: Path
) -> None:
    assert not record.is_in(tmp_path) and not record.is_in(tmp_path / "absent")
    assert written(tmp_path, record, options) / name == tmp_path / record.file
    assert record.is_in(tmp_path) and record.stored(tmp_path) == options
    assert read(tmp_path) == known


@kinds
@pytest.mark.parametrize("version", [2, 0, -1, "1", 1.0, True, None, [1]])
def test_another_version_is_named(
    record: StudyRecord, name: str, options: Any, read: Any, known: Any, version: Any, tmp_path: Path
) -> None:
    written(tmp_path, record, options, version=version)
    with pytest.raises(
        DataError, match=f"{name} has format version .*, but this evenhand reads versions up to 1"
    ) as caught:
        read(tmp_path)
    assert "newer evenhand" in str(caught.value) and "changed by hand" in str(caught.value)


@kinds
@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\ufeff{}", '{"version": 1}'])
def test_a_damaged_record_is_named(
    record: StudyRecord, name: str, options: Any, read: Any, known: Any, content: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=name):
        read(tmp_path)
    (tmp_path / name).write_bytes(b'{"version": 1, "x": "\xff"}')
    with pytest.raises(DataError, match=name):
        read(tmp_path)
    written(tmp_path, record, "all of them")
    with pytest.raises(DataError, match=f"{name} does not contain the {record.part}"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("record", "options", "read"), [(*kind[:1], *kind[2:4]) for kind in (KINDS[0], KINDS[2])]
)
def test_options_of_a_later_version_are_named(record: Any, options: Any, read: Any, tmp_path: Path) -> None:
    part = options.get("config", options)
    part = {**part, "moon_phase": "full"}
    written(tmp_path, record, {**options, "config": part} if "config" in options else part)
    with pytest.raises(DataError, match="moon_phase") as caught:
        read(tmp_path)
    assert "Resume with the version that started it, or start" in str(caught.value)


@kinds
def test_a_folder_of_something_else_is_refused_and_left_alone(
    record: StudyRecord, name: str, options: Any, read: Any, known: Any, tmp_path: Path
) -> None:
    def begin(folder: Path) -> None:
        record.begin(folder, {record.part: options}, lambda stored: (stored, options))

    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="exists and is not the folder of"):
        begin(tmp_path)
    with pytest.raises(UsageError, match=r"thesis\.txt is a file, but a folder was expected"):
        begin(tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    for i, folder in enumerate((tmp_path / "new" / "deep", tmp_path / "empty", tmp_path / "killed")):
        if i:
            folder.mkdir()
        if i == 2:
            (folder / ".evenhand-0123456789abcdef.tmp").write_text('{"vers')
        begin(folder)
        assert read(folder) == known
        begin(folder)


@kinds
def test_it_goes_on_only_with_the_same(
    record: StudyRecord, name: str, options: Any, read: Any, known: Any, tmp_path: Path
) -> None:
    written(tmp_path, record, options)
    before = (tmp_path / name).read_bytes()

    def begin(now: Any, **how: bool) -> None:
        record.begin(tmp_path, {record.part: now, "note": 1}, lambda stored: (stored, now), **how)

    noun = "search" if name == "revision.json" else "study"
    with pytest.raises(ResumeRefused, match=rf"(?s)The {noun} .*: stored .*, given now") as caught:
        begin({**options, "seed": 4, "seeds": []}, renewed=True)
    assert f"another {noun} with -o" in str(caught.value)
    begin(options)
    assert (tmp_path / name).read_bytes() == before, "what goes on is not written again unless told"
    begin(options, renewed=True)
    assert json.loads((tmp_path / name).read_text())["note"] == 1


def test_the_article_goes_with_the_noun(tmp_path):
    (tmp_path / "s.json").write_text('{"version": 1}')
    with pytest.raises(DataError, match="does not contain the options of an instruction search"):
        StudyRecord("s.json", "instruction search", "options").stored(tmp_path)
    with pytest.raises(DataError, match="does not contain the options of a survey"):
        StudyRecord("s.json", "survey", "options").stored(tmp_path)


def test_a_study_whose_folders_lead_out_of_it_is_not_gone_on_with(tmp_path: Path) -> None:
    record = StudyRecord("survey.json", "survey", "options")
    outside, study = tmp_path / "outside", tmp_path / "study"
    outside.mkdir()
    record.begin(study, {"options": {"seed": 0}}, lambda stored: (stored, {"seed": 0}))
    (study / "before").symlink_to(outside)
    with pytest.raises(DataError, match="is a link that leads out of"):
        record.stored(study)
    (study / "before").unlink()
    (study / "levels").mkdir()
    (study / "levels" / "one").symlink_to(outside)
    with pytest.raises(DataError, match="is a link that leads out of"):
        record.stored(study)
    deep = study / "levels" / "two" / "three"
    (study / "levels" / "one").unlink()
    deep.mkdir(parents=True)
    (deep / "four").symlink_to(tmp_path / "nothing")
    with pytest.raises(DataError, match="is a link that leads out of"):
        record.stored(study)
    (deep / "four").unlink()
    if hasattr(os, "mkfifo"):  # reading it would wait for ever
        os.mkfifo(deep / "pipe")
        with pytest.raises(DataError, match="pipe is a device, a pipe or a socket"):
            record.stored(study)
        (deep / "pipe").unlink()
    (tmp_path / "link").symlink_to(study)
    assert record.stored(tmp_path / "link") == {"seed": 0}
