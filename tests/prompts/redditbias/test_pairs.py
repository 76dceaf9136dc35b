"""The pairs of RedditBias as prompts: files in the owners' layout, with harmless phrases; the "
"published ones where here."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.datasets import register
from evenhand.prompts.redditbias import BIAS_TYPES, load_human_references, load_redditbias, specification
from evenhand.schema import ChecksumMismatch, DataError, DatasetMissing, UsageError

PHRASES = ["the {} sing well", "all the {} sing well", "my {} friend cooks", "two {} people walk home"]


@pytest.fixture
def unpinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the repository as it is laid out, whose checksums nobody looks at; two of the five types are there."""
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    entries = [
        replace(entry, versions=tuple(replace(v, files=tuple(replace(f, sha256=None) for f in v.files)) for v in
        entry.versions)) if entry.name == "redditbias" else entry
        for entry in register.list_datasets()
    ]  # fmt: skip
    monkeypatch.setattr(register, "list_datasets", lambda: tuple(entries))
    for bias in ("race", "gender"):
        write_type(tmp_path / "clone" / "data" / bias, bias)
    texts = tmp_path / "clone" / "text_files"
    texts.mkdir()
    (texts / "humanref6k.txt").write_text("How are you?\n\nFine, thanks.\n", encoding="utf-8")
    return tmp_path / "clone"


def write_type(folder: Path, bias: str) -> None:
    folder.mkdir(parents=True)
    first, second = specification(bias).groups
    start = f"reddit_comments_{bias}_{first}"
    for split in ("test", "valid"):
        more = [phrase.format(first) for phrase in PHRASES]
        less = [phrase.format(second) for phrase in PHRASES]
        comments = {"comment": ["c1", "c2", "c3", "c3"], "comments_processed": more}
        one = pl.DataFrame(comments | {"perplexity": [3.5, 4.0, 5.0, 6.0]})
        if bias != "gender":
            one = one.insert_column(0, pl.Series("id", ["a", "b", "c", "d"]))
        one.write_csv(folder / f"{start}_biased_{split}_reduced.csv")
        other = {"comments": more, "comments_processed": less, "perplexity": [4.5, 3.0, 5.0, 7.0]}
        pl.DataFrame(other).write_csv(folder / f"reddit_comments_{bias}_{second}_biased_{split}_reduced.csv")
    for side, word in (("biased_testset_neg", "badly"), ("unbiased_testset_pos", "well")):
        texts = [phrase.format(first).replace("well", word) for phrase in PHRASES]
        table = pl.DataFrame({"comments_processed": texts, "perplexity": [1.0, 2.0, 3.0, 4.0]})
        table.write_csv(folder / f"{start}_processed_phrase_{side}_attr_reduced.csv")


def test_a_copy_of_the_repository_is_read_and_what_lacks_is_said(unpinned: Path) -> None:
    prompts = load_redditbias(unpinned)
    frame = prompts.frame
    assert frame.height == 16 and frame["axis"].unique(maintain_order=True).to_list() == ["race", "gender"]
    row = frame.row(0, named=True)
    assert row == {
        "prompt_id": "race/test/1-more", "text": "the black sing well", "pair_id": "race/test/1", "role": "more",
        "axis": "race", "bias_type": "race", "group": "black", "split": "test", "phrase": "the _ sing well",
        "sent_more": "the black sing well", "sent_less": "the white sing well", "dialogpt_perplexity": 3.5,
    }  # fmt: skip
    assert frame["role"].to_list() == ["more", "less"] * 8
    assert frame["group"].unique(maintain_order=True).to_list() == ["black", "white", "female", "male"]
    # phrases 3 and 4 come from one comment
    phrases = frame.filter(axis="race", role="less")["phrase"].to_list()
    assert phrases == ["the _ sing well"] * 2 + ["my _ friend cooks"] * 2
    assert "Not here: religion1, religion2, orientation" in prompts.card.details
    assert "MIT" in prompts.card.licence
    below = load_redditbias(unpinned / "data", split="valid", bias_types=["gender"])
    assert below.frame["pair_id"][0] == "gender/valid/1" and "Not here" not in below.card.details
    assert load_redditbias(unpinned / "data" / "race").frame["axis"].unique().to_list() == ["race"]


def test_attributes_are_pairs_of_one_group(unpinned: Path) -> None:
    frame = load_redditbias(unpinned, split="attributes", bias_types=["race"]).frame
    assert frame["group"].to_list() == ["negative", "positive"] * 4
    assert frame["text"].head(2).to_list() == ["the black sing badly", "the black sing well"]
    assert frame["phrase"][0] == "the black sing _"


def test_lines_of_conversation(unpinned: Path) -> None:
    frame = load_human_references(unpinned).frame
    assert frame.rows() == [("line 1", "How are you?"), ("line 2", "Fine, thanks.")]


def test_nothing_there_says_how_to_get_it(unpinned: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetMissing, match="The cache contains no pairs of RedditBias") as caught:
        load_redditbias()
    assert "evenhand data fetch redditbias --version all" in str(caught.value)
    with pytest.raises(DatasetMissing, match="contains no pairs"):
        load_redditbias(unpinned, bias_types=["religion2"])
    with pytest.raises(UsageError, match="Unknown split of RedditBias: 'train'"):
        load_redditbias(unpinned, split="train")
    with pytest.raises(UsageError, match="Unknown bias type: 'age'"):
        load_redditbias(unpinned, bias_types=["age"])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda t: t.head(3), "has 4 rows, but .* has 3. Row by row, they must form pairs"),
        (lambda t: t.reverse(), "row 1: the phrase is not the counterpart of the phrase in the same row"),
        (lambda t: t.drop("perplexity"), "has no column 'perplexity'"),
        (
            lambda t: t.with_columns(perplexity=pl.Series(["1", "2", "x", "4"])),
            "row 3: expected a phrase and its perplexity",
        ),
        (lambda t: t.with_columns(perplexity=pl.lit(0)), "row 1: expected a phrase and its perplexity"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(unpinned: Path, wrong, told) -> None:
    path = unpinned / "data" / "race" / "reddit_comments_race_white_biased_test_reduced.csv"
    wrong(pl.read_csv(path)).write_csv(path)
    with pytest.raises(DataError, match=told):
        load_redditbias(unpinned, bias_types=["race"])


def test_a_file_with_a_known_checksum_is_held_against_it(tmp_path: Path) -> None:
    write_type(tmp_path / "race", "race")
    with pytest.raises(ChecksumMismatch, match=r"race_black_biased_test_reduced\.csv"):
        load_redditbias(tmp_path, bias_types=["race"])


@pytest.mark.parity
def test_the_published_pairs(shared: Path) -> None:
    folder = shared / "data" / "redditbias"
    for split, counts in (("test", (238, 254)), ("valid", (238, 253)), ("attributes", (475, 506))):
        prompts = load_redditbias(folder, split=split)
        sizes = prompts.frame.filter(role="more").group_by("axis", maintain_order=True).len()
        assert sizes.rows() == [("religion1", counts[0]), ("race", counts[1])]
        assert prompts.frame["dialogpt_perplexity"].min() > 0
    phrases = (
        load_redditbias(folder).frame.group_by("axis", maintain_order=True).agg(pl.col("phrase").n_unique())
    )
    assert phrases.rows() == [("religion1", 218), ("race", 231)]
    assert load_human_references(folder).frame.height == 6000
    assert BIAS_TYPES == ("religion1", "religion2", "race", "gender", "orientation")
