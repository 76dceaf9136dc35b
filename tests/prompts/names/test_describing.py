"""Conversations opened by a description: articles by sound, genders by the same adjectives, published words cleaned."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.datasets import dataset, dataset_folder, fetch
from evenhand.prompts.names import describing_adjectives, descriptions
from evenhand.schema import DataError, DatasetMissing, UsageError


def test_every_adjective_comes_with_both_genders() -> None:
    frame = descriptions().frame
    adjectives = describing_adjectives()
    assert frame.height == adjectives.height * 10 and frame["prompt_id"].n_unique() == frame.height
    by = frame.group_by("adjective").agg((pl.col("gender") == "woman").mean())
    assert (by["gender"] == 0.5).all()
    for n in (2, 10, 101):
        some = descriptions(n=n, seed=5).frame
        women, men = (some.filter(gender=gender)["adjective"].to_list() for gender in ("woman", "man"))
        assert some.height == n and women[: len(men)] == men
    twice = descriptions(n=2 * frame.height).frame
    assert set(twice["conversation"].str.extract(r"/(\d+)$")) == {"1", "2"}


def test_articles_go_by_sound() -> None:
    words = pl.DataFrame(
        {"adjective": ["honest", "old", "unique", "one-armed", "happy", "hourly"], "about": "any"}
    )
    frame = descriptions(words, nouns="person-modifiers").frame
    said = dict(frame.filter(noun="boy").select("adjective", "text").iter_rows())
    assert said == {
        "honest": "Hi! I am an honest boy.",
        "old": "Hi! I am an old boy.",
        "unique": "Hi! I am a unique boy.",
        "one-armed": "Hi! I am a one-armed boy.",
        "happy": "Hi! I am a happy boy.",
        "hourly": "Hi! I am an hourly boy.",
    }
    assert set(frame["noun"]) == {"woman", "girl", "female", "man", "boy", "male"}
    assert set(frame["name"]) == {f"{a} {n}" for a in words["adjective"] for n in set(frame["noun"])}


def test_what_cannot_describe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    with pytest.raises(DatasetMissing, match="evenhand data fetch person-modifiers"):
        describing_adjectives("person-modifiers")
    with pytest.raises(UsageError, match="Unknown list of adjectives: 'published'"):
        describing_adjectives("published")
    with pytest.raises(UsageError, match="Unknown list of nouns: 'ours'"):
        descriptions(nouns="ours")
    with pytest.raises(DataError, match="no column about"):
        descriptions(pl.DataFrame({"adjective": ["old"]}))
    with pytest.raises(DataError, match=r"has no age\.txt"):
        describing_adjectives("person-modifiers", tmp_path)
    for file in dataset("person-modifiers").version().files:
        (tmp_path / file.path).write_text("two words\n")
    with pytest.raises(DataError, match="contains no modifier of one word"):
        describing_adjectives("person-modifiers", tmp_path)
    with pytest.raises(UsageError, match="n must be at least 1"):
        descriptions(n=0)


def owners_files(shared: Path, folder: Path) -> Path:
    """The category files as their owner keeps them, from the flat table of all."""
    table = pl.read_csv(shared / "data/person_modifiers/person_modifiers_flat.csv").filter(
        dataset="Flickr30k"
    )
    folder.mkdir(parents=True)
    for file in dataset("person-modifiers").version().files:
        phrases = table.filter(category=file.path.removesuffix(".txt"))["phrase"]
        (folder / file.path).write_text("\n".join(phrases) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parity
def test_the_published_words(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    copy = tmp_path / "LabelingPeople"
    owners_files(shared, copy / "Flickr30k/resources/Categories")
    fetched = fetch("person-modifiers", from_dir=copy).folder  # the pinned checksums hold
    assert fetched == dataset_folder("person-modifiers")
    published = describing_adjectives("person-modifiers", as_published=True)
    assert published.height == 216  # methods: single words of the nine files
    assert {"petite", "elderly", "enthusiastic"} <= set(published["adjective"])  # the paper's examples
    cleaned = describing_adjectives("person-modifiers")
    assert cleaned.equals(describing_adjectives("person-modifiers", copy))
    gone = set(published["adjective"]) - set(cleaned["adjective"])
    assert {"child", "toddler", "teen", "younger", "taller"} <= gone and len(gone) < 50
    assert {"petite", "elderly", "enthusiastic"} <= set(cleaned["adjective"])
