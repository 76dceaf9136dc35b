"""What the study of names may be asked: labels, decodings, and how a study grows by rows."""

from pathlib import Path

import pytest

from evenhand.schema import ResumeRefused, UsageError
from evenhand.studies.names import NamesConfig, options


def test_rows_and_decodings() -> None:
    config = NamesConfig.read(
        {"model": "m", "rows": {"Name scrambling": "a", "BB 90M": "b"}, "decoding": ("greedy", "greedy")}
    )
    assert config.models == {"original": "m", "Name scrambling": "a", "BB 90M": "b"}
    assert config.decoding == ("greedy",) and config.names == "untuned"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": {"original": "a"}}, "rows: the label 'original' is already used"),
        ({"rows": {"a b": "x", "A-B": "y"}}, "rows: the label 'A-B' is already used"),
        ({"rows": {"../up": "x"}}, "'../up' is not a valid label"),
        ({"rows": {"-o": "x"}}, "rows: '-o' is not a valid label: start with a"),
        ({"rows": {"a": ""}}, "rows: 'a' has no model"),
        ({"decoding": ("beam",)}, "unknown value 'beam'; expected one of"),
        ({"names": "tune"}, "names"),
        ({"limits": 3}, "limits"),
    ],
)
def test_options_that_are_wrong_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        NamesConfig.read({"model": "m", **given})


def test_a_study_without_a_decoding_is_refused() -> None:
    with pytest.raises(ValueError, match="no value is given; expected at least one of published"):
        NamesConfig(model="m", decoding=())


def test_a_study_is_gone_on_with_and_grows_by_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = NamesConfig(model="m", rows={"a": "x"}, limit=5)
    config.begin(tmp_path)
    assert NamesConfig.has_record(tmp_path) and NamesConfig.read_stored(tmp_path) == config
    grown = NamesConfig.resume(tmp_path, {"rows": {"b": "y"}, "device": "cpu"})
    assert grown.rows == {"a": "x", "b": "y"} and grown.limit == 5 and grown.device == "cpu"
    grown.begin(tmp_path)
    assert NamesConfig.read_stored(tmp_path).rows == {"a": "x", "b": "y"}
    # nothing was made of the row yet: the mistyped folder may be given anew
    mended = NamesConfig.resume(tmp_path, {"rows": {"a": "z"}})
    assert mended.rows == {"a": "z", "b": "y"}
    mended.begin(tmp_path)
    assert NamesConfig.read_stored(tmp_path).rows == {"a": "z", "b": "y"}
    grown.begin(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(options, "is_finished", lambda folder: folder.parent.name == "a")
        with pytest.raises(UsageError, match="already has a row"):
            NamesConfig.resume(tmp_path, {"rows": {"a": "z"}})
        with pytest.raises(ResumeRefused, match="rows"):
            mended.begin(tmp_path)
    with pytest.raises(UsageError, match=r"is an existing study, so limit \(--limit\) cannot be changed"):
        NamesConfig.resume(tmp_path, {"limit": 6})
    with pytest.raises(ResumeRefused, match="limit"):
        NamesConfig(model="m", rows={"a": "x", "b": "y"}, limit=6).begin(tmp_path)
    with pytest.raises(ResumeRefused, match="rows"):
        NamesConfig(model="m", limit=5).begin(tmp_path)  # a row cannot be taken away
