"""ToxiGen v2: published counts, a selection that is balanced, benign and seeded, and broken files."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks.toxigen import AXES, load_toxigen
from evenhand.schema import DataError, UsageError


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data/toxigen_v2"


@pytest.mark.parity
def test_the_selection_is_balanced_and_benign(folder: Path) -> None:
    frame = load_toxigen(folder).frame
    raw = {item["id"]: item for item in json.loads((folder / "toxiGen.json").read_text(encoding="utf-8"))}
    assert (len(raw), Counter(item["label"] for item in raw.values())) == (
        6_514,
        Counter(neutral=3_747, hate=2_767),
    )
    assert Counter(frame["group"]) == dict.fromkeys(AXES, 40)
    for group, number, text, score in frame.select("group", "id", "text", "annotated_toxicity").rows():
        item = raw[number]
        assert group in item["target_groups"] and item["label"] == "neutral"
        assert (text, score) == (item["text"], item["toxicity_score"])
    assert frame.select("group", "text").is_unique().all()


@pytest.mark.parity
def test_the_largest_balanced_selection(folder: Path) -> None:
    raw = json.loads((folder / "toxiGen.json").read_text(encoding="utf-8"))
    available = {
        group: len({i["text"] for i in raw if i["label"] != "hate" and group in i["target_groups"]})
        for group in AXES
    }
    smallest = min(available.values())
    assert Counter(load_toxigen(folder, None).frame["group"]) == dict.fromkeys(AXES, smallest)
    with pytest.raises(UsageError, match=f"from 1 to {smallest}, .* about 'mexican', got {smallest + 1}"):
        load_toxigen(folder, smallest + 1)
    with pytest.raises(UsageError, match=r"per_group must be .* got 0"):
        load_toxigen(folder, 0)


@pytest.mark.parity
def test_seeds(folder: Path) -> None:
    few, more = load_toxigen(folder, 10, seed=5).frame, load_toxigen(folder, 30, seed=5).frame
    assert set(few["prompt_id"]) < set(more["prompt_id"])
    assert few.equals(load_toxigen(folder, 10, seed=5).frame)
    assert set(few["prompt_id"]) != set(load_toxigen(folder, 10, seed=6).frame["prompt_id"])


@pytest.mark.parity
def test_given_ids(folder: Path) -> None:
    some = load_toxigen(folder, 3).frame["id"].unique().to_list()
    prompts = load_toxigen(folder, ids=some)
    raw = {item["id"]: item for item in json.loads((folder / "toxiGen.json").read_text(encoding="utf-8"))}
    assert Counter(prompts.frame["id"]) == {number: len(raw[number]["target_groups"]) for number in some}
    assert f"{len(some)} given sentences" in prompts.card.details
    with pytest.raises(UsageError, match=r"1 of the given ids are not ids of benign sentences.* first: 0"):
        load_toxigen(folder, ids=[0, *some])  # number 0 is hateful
    with pytest.raises(UsageError, match="ids is empty"):
        load_toxigen(folder, ids=[])


def test_groups_per_axis() -> None:
    """ROBBIE, tables 29-65, column ToxiGen: 14 in all, since lgbtq counts twice."""
    counts = Counter(axis for axes in AXES.values() for axis in axes)
    assert counts == {
        "religion": 2, "race_ethnicity": 5, "ability": 2, "sexual_orientation": 1, "gender_and_sex": 2,
        "nationality": 2,
    }  # fmt: skip


def item(number: int, **changes: object) -> dict[str, object]:
    made = {"id": number, "text": f"Text {number}.", "toxicity_score": 1, "label": "neutral"}
    return {**made, "target_groups": list(AXES), **changes}


def write(folder: Path, content: object) -> Path:
    (folder / "toxiGen.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_small_file(tmp_path: Path) -> None:
    items = [
        item(3),
        item(5, text="Text 3."),
        item(7, label="hate"),
        item(8, target_groups=["women", "women"]),
    ]
    frame = load_toxigen(write(tmp_path, items), None).frame
    assert frame.height == 13  # equal texts count once, hateful ones not, and asian has one only
    assert set(frame["id"]) <= {3, 8} and frame.schema["annotated_toxicity"] == pl.Float64
    assert frame.filter(group="black").row(0, named=True) == {
        "prompt_id": "black/3", "text": "Text 3.", "axis": "race_ethnicity", "group": "black", "id": 3,
        "annotated_toxicity": 1.0, "label": "neutral", "cluster": "3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "is not a list of sentences"),
        ([], "is not a list of sentences"),
        ([item(0), 3], "entry 1: 'id' is missing or of the wrong type"),
        ([item(0, text=None)], "entry 0: 'text' is missing or of the wrong type"),
        ([item(0, label="good")], "entry 0: the label is 'good'; expected neutral or hate"),
        ([item(0, target_groups=["martians"])], "entry 0: unknown target group 'martians'"),
    ],
)
def test_broken_content(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_toxigen(write(tmp_path, content))
    assert "evenhand data fetch toxigen-v2" in str(caught.value)


def test_broken_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no toxiGen\.json"):
        load_toxigen(tmp_path)
    (tmp_path / "toxiGen.json").write_text("[")
    with pytest.raises(DataError, match="is not valid JSON"):
        load_toxigen(tmp_path)
    with pytest.raises(UsageError, match="sentences about 'asian', got 40"):
        load_toxigen(write(tmp_path, [item(0, label="hate")]))
