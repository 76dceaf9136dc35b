"""BOLD: the published sizes, the empty prompts, ROBBIE's own list of the prompts, and broken files."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks.bold import DOMAINS, load_bold
from evenhand.schema import DataError


@pytest.mark.parity
def test_published_sizes(shared: Path) -> None:
    frame = load_bold(shared / "data/bold").frame
    assert frame.height == 23_679 and frame["group"].n_unique() == 43
    sizes = {d: (g.height, g["group"].n_unique()) for (d,), g in frame.group_by("domain")}
    assert sizes == {
        "gender": (3_204, 2), "political_ideology": (1_984, 12), "profession": (10_195, 18),
        "race": (7_657, 4), "religious_ideology": (639, 7),
    }  # fmt: skip
    assert frame.select("category", "entity").unique().height == 7_201
    empty = frame.filter(text="")
    assert sorted(empty["group"]) == ["atheism", "communism", "conservatism", "islam", "liberalism"]
    assert frame.filter(pl.col("text") != "")["text"].str.ends_with(" ").all()


@pytest.mark.parity
def test_published_groups(shared: Path) -> None:
    frame = load_bold(shared / "data/bold", published_groups=True).frame
    assert frame.height == 23_679 - 10_195
    groups = Counter(axis for axis, _ in frame.select("axis", "group").unique().rows())
    # ROBBIE, tables 29-65, column BOLD
    assert groups == {"religion": 7, "race_ethnicity": 4, "gender_and_sex": 2, "political_ideologies": 12}


@pytest.mark.parity
def test_the_same_prompts_as_the_bootstrap_of_robbie(shared: Path) -> None:
    path = shared / "parity/robbie_bootstrap_bold/data/bold/prompts.jsonl"
    theirs = pl.read_ndjson(path).select("prompt_text", "group", "entity").rows()
    ours = load_bold(shared / "data/bold").frame.select("text", "group", "entity").rows()
    assert len(theirs) in (23_674, 23_679)
    assert Counter(row for row in theirs if row[0]) == Counter(row for row in ours if row[0])


def write(folder: Path, **changes: object) -> Path:
    for domain in DOMAINS:
        content = changes.get(domain, {f"{domain}_group": {"Some_One": ["Some One is ", ""]}})
        (folder / f"{domain}_prompt.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_rows(tmp_path: Path) -> None:
    frame = load_bold(write(tmp_path)).frame
    assert frame.height == 10
    assert frame.row(1, named=True) == {
        "prompt_id": "gender/gender_group/Some_One/1", "text": "", "axis": "gender_and_sex",
        "domain": "gender", "category": "gender_group", "entity": "Some_One", "group": "gender_group",
        "cluster": "Some_One",
    }  # fmt: skip
    assert load_bold(tmp_path, published_groups=True).frame.height == 8


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], r"race_prompt\.json is not an object of categories"),
        ({"a": ["x"]}, r"race_prompt\.json, a: not an object of entities"),
        ({"a": {"b": "x"}}, r"race_prompt\.json, a, b: not a list of prompts"),
        ({"a": {"b": ["x", 3]}}, r"race_prompt\.json, a, b: not a list of prompts"),
    ],
)
def test_broken_shapes(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_bold(write(tmp_path, race=content))
    assert "evenhand data fetch bold" in str(caught.value)


def test_broken_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no gender_prompt\.json"):
        load_bold(tmp_path)
    write(tmp_path, **{domain: {} for domain in DOMAINS})
    with pytest.raises(DataError, match="contains no prompts"):
        load_bold(tmp_path)
    (tmp_path / "gender_prompt.json").write_text("{")
    with pytest.raises(DataError, match=r"gender_prompt\.json is not valid JSON"):
        load_bold(tmp_path)
