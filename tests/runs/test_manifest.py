"""The manifest: what goes in comes out, and what cannot be read is explained."""

import json
from pathlib import Path

import numpy as np
import pytest

from evenhand.runs.manifest import (
    VERSION,
    Manifest,
    ModelRecord,
    PromptSetRecord,
    refuse_differences,
)
from evenhand.schema import DataError, ResumeRefused
from evenhand.schema.files import as_json


def test_it_survives_a_round_trip(tmp_path, fakes):
    manifest = Manifest(
        created="2026-11-20T18:05:12+00:00",
        arguments_given={"limit": 10},
        arguments_resolved={"limit": 10, "axis": ["age"], "nested": {"seed": 0}},
        model=ModelRecord.from_model(fakes.HashModel()),
        prompt_sets={"b": PromptSetRecord(content_hash="ff", rows=3, card={"name": "b"})},
        seeds={"sample": 0},
    )
    manifest.write(tmp_path / "manifest.json")
    assert Manifest.read(tmp_path / "manifest.json") == manifest
    assert manifest.model.device == "cpu"
    assert manifest.model.dtype == "float32"
    assert manifest.model.tokenizer_hash == "none"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a manifest"),
        ("[]", "is not a manifest"),
        ("{}", "is not a manifest: 'version'"),
        (
            json.dumps({"version": VERSION + 1}),
            f"has format version {VERSION + 1}, but this evenhand reads versions up to {VERSION}",
        ),
        (json.dumps({"version": "x"}), "has format version x"),
        (json.dumps({"version": VERSION}), "not a valid manifest: created: Field required"),
        (json.dumps({"version": VERSION, "created": "", "odd": 1}), "not a valid manifest: odd"),
    ],
)
def test_what_cannot_be_read_is_explained(tmp_path, content, message):
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        Manifest.read(path)
    assert caught.value.hint


def test_an_absent_manifest_is_a_data_error(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        Manifest.read(tmp_path / "manifest.json")


def test_every_difference_is_listed_with_both_values():
    stored = {"limit": 200, "same": 1, "data": {"folder": "/a", "seed": 0}, "gone": True}
    now = {"limit": 500, "same": 1, "data": {"folder": "/a", "seed": 1}, "new": None}
    with pytest.raises(ResumeRefused) as caught:
        refuse_differences("The run", stored, now, "hint")
    assert caught.value.message.splitlines()[1:] == [
        "  data.seed: stored 0, given now 1",
        "  gone: stored true, given now nothing",
        "  limit: stored 200, given now 500",
        "  new: stored nothing, given now null",
    ]
    assert caught.value.exit_code == 2


def test_a_value_equals_itself_after_a_trip_through_json():
    now = {"axis": ("age",), "folder": Path("/data"), "n": np.int64(3), "kinds": {"b", "a"}}
    assert as_json(now) == {"axis": ["age"], "folder": "/data", "n": 3, "kinds": ["a", "b"]}
    refuse_differences("The run", as_json(now), now, "hint")


def test_a_manifest_of_the_first_version_is_read_and_becomes_one_of_this(tmp_path):
    first = {"version": 1, "created": "2026-11-20", "asked": {"b": {"prompts": 3, "keep_tokens": True}}}
    (tmp_path / "manifest.json").write_text(json.dumps(first))
    manifest = Manifest.read(tmp_path / "manifest.json")
    assert manifest.asked["b"].decoding is None
    assert (manifest.labels, manifest.judged, manifest.judged_before) == ({}, {}, [])
    manifest.write(tmp_path / "manifest.json")
    assert json.loads((tmp_path / "manifest.json").read_text())["version"] == VERSION == 2


@pytest.mark.parametrize("version", [-1, 0, True, 1.0, "2"])
def test_a_version_that_is_none_is_refused(tmp_path, version):
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"version": version, "created": "2024-01-01"}))
    with pytest.raises(DataError, match="but this evenhand reads versions up to"):
        Manifest.read(path)


JUDGED = {"classifier": "vader@1", "rule": {"part": "continuation"}}
LABELS = {"fingerprint": {}, "description": {}, "labels": ["a"]}


def read_with(folder, **fields):
    path = folder / "manifest.json"
    path.write_text(json.dumps({"version": VERSION, "created": "2026-11-20", **fields}))
    return Manifest.read(path)


@pytest.mark.parametrize("key", ["..", "../../other", "/etc", "a/b", "a\\b", "", ".", "a\0b"])
def test_labels_under_a_name_that_is_a_path_are_refused(tmp_path, key):
    """Whatever reads the run: a name is that of a folder to be read, written and swept."""
    with pytest.raises(DataError, match="not a valid folder name"):
        read_with(tmp_path, labels={key: LABELS})


def test_judgements_that_nothing_stands_behind_are_refused(tmp_path):
    labels = {"vader@1": LABELS}
    assert read_with(tmp_path, labels=labels, judged={"regard": {"toxicity": JUDGED}}).judged
    earlier = {"benchmark": "regard", "role": "toxicity", **JUDGED, "classifier": "../x"}
    for told, wrong in (
        ("classification by 'vader@1', but contains no", {"judged": {"regard": {"toxicity": JUDGED}}}),
        (r"classification by '\.\./x', but contains no", {"labels": labels, "judged_before": [earlier]}),
        (
            "classified text made by 'eval', which is unknown",
            {"labels": labels, "judged": {"regard": {"toxicity": JUDGED | {"rule": {"eval": "x"}}}}},
        ),
    ):
        with pytest.raises(DataError, match=rf"manifest\.json lists a {told}"):
            read_with(tmp_path, **wrong)


@pytest.mark.parametrize("value", [None, "x", "0.05", True, 0, 1, -1, [], {}])
def test_a_level_that_is_no_probability_is_refused(tmp_path, value):
    with pytest.raises(DataError, match=r"not a valid manifest: arguments_resolved\.alpha: "):
        read_with(tmp_path, arguments_resolved={"alpha": value})


@pytest.mark.parametrize("name", ["model", "prompts", "reference", "mitigate"])
@pytest.mark.parametrize("value", [5, {"a": 1}, [1]])
def test_stored_arguments_of_another_type_are_refused(tmp_path, name, value):
    with pytest.raises(DataError, match=rf"not a valid manifest: arguments_resolved\.{name}"):
        read_with(tmp_path, arguments_resolved={name: value})


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *(("part", value) for value in (None, "x", 5, ["prompt"], {"a": 1})),
        *(("masked", value) for value in (-1, True, ["x"], {"a": 1})),
        *(("first_sentence", value) for value in (None, "x", 1, {"a": 1})),
        *(("mask", value) for value in (None, 5, {"a": 1})),
        *(("removed", 5), ("behind", ["x"]), ("everywhere", "no")),
    ],
)
def test_a_rule_for_texts_with_a_value_of_another_type_is_refused(tmp_path, part, value):
    judged = {"regard": {"toxicity": JUDGED | {"rule": {part: value}}}}
    with pytest.raises(DataError, match=rf"not a valid manifest: judged\.regard\.toxicity\.rule\.{part}: "):
        read_with(tmp_path, labels={"vader@1": LABELS}, judged=judged)


def test_arguments_of_other_studies_and_versions_are_read(tmp_path):
    stored = {"study": "consistency", "model": None, "prompts": None, "alpha": 0.01, "not known yet": [1]}
    assert read_with(tmp_path, arguments_resolved=stored).arguments_resolved == stored
