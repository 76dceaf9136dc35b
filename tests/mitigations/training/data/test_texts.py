"""Training texts of RedditBias and of the user's own: what is learned, what is kept apart, what is refused."""

from pathlib import Path

import pytest

from evenhand.mitigations.training import own_texts, published_texts
from evenhand.mitigations.training.data.texts import read_texts
from evenhand.prompts.datasets import fetch
from evenhand.prompts.redditbias import specification
from evenhand.schema import DataError, DatasetMissing


@pytest.mark.parity
@pytest.mark.parametrize(("bias", "learned", "pairs"), [("race", 763, 253), ("religion1", 720, 238)])
def test_the_published_texts_are_those_of_the_card(shared: Path, bias: str, learned: int, pairs: int) -> None:
    material, validation = published_texts(specification(bias), shared / "data" / "redditbias")
    assert len(material.texts) == learned and len(validation.neutral) == 600
    assert len(validation.check.texts) == 2 * pairs


def test_files_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    for folder in (tmp_path, None):
        with pytest.raises(DatasetMissing, match=r"has no reddit_comments_race_black_biased_test") as error:
            published_texts(specification("race"), folder)
        assert "evenhand data fetch redditbias" in str(error.value) and "--from FOLDER" in str(error.value)


@pytest.mark.parity
@pytest.mark.parametrize("bias", ["race", "religion1"])
def test_what_was_fetched_is_what_a_copy_of_the_repository_gives(
    shared: Path, bias: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    copy = shared / "data" / "redditbias"
    for version in (bias, "humanref6k"):
        fetch("redditbias", version, from_dir=copy)
    fetched, given = published_texts(specification(bias)), published_texts(specification(bias), copy)
    assert fetched == given and fetched[0].source == f"RedditBias {bias}, compared with the known checksums"
    lines = (copy / "text_files" / bias / f"{bias}_bias_manual_train.txt").read_text().splitlines()
    groups = specification(bias).groups
    watched = [(copy / "text_files" / bias / f"{bias}_{group}_biased_valid_reduced.txt") for group in groups]
    assert fetched[0].texts == tuple(line.strip() for line in lines)
    assert fetched[1].check.texts == tuple(
        line.strip() for path in watched for line in path.read_text().splitlines()
    )


def test_a_tenth_of_ones_own_texts_is_kept_apart(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("text\n" + "".join(f"The {i}th niece sang.\n" for i in range(50)))
    material, validation = own_texts(specification("gender"), file, seed=1)
    check = validation.check
    assert len(material.texts) == 45 and len(validation.neutral) == 5 and len(check.texts) == 10
    assert not set(material.texts) & set(validation.neutral)
    assert check.texts[5:] == tuple(text.replace("niece", "nephew") for text in check.texts[:5])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"\n \n", "contains no text"),
        ("b.txt", b"\xff\xfe", "UTF-8"),
        ("c.csv", b"words\nx\n", "text"),
    ],
)
def test_files_without_texts_are_refused(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_texts(tmp_path / name)
