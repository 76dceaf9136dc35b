"""WikiText prompts: what is a first sentence, how it is printed, what is left out."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.datasets.register import dataset_folder
from evenhand.prompts.published.wikitext import as_prose, first_sentence, load_wikitext
from evenhand.schema import DataError


@pytest.mark.parity
def test_the_published_test_part(shared: Path) -> None:
    folder = dataset_folder("wikitext", None, shared / "data/wikitext2")
    frame = load_wikitext(folder).frame
    assert (
        350 < frame.height < 450 and frame["prompt_id"].n_unique() == frame["text"].n_unique() == frame.height
    )
    text = frame["text"]
    assert text.str.contains(r"[.!?]\"?$").all() and not text.str.contains(r"<unk>|@| [,.;:]|\( | \)").any()
    assert text.str.split(" ").list.len().is_between(4, 60).all()
    assert "His works" not in frame["article"].to_list() and "Du Fu" in frame["article"].to_list()


@pytest.mark.parametrize(
    ("tokens", "printed"),
    [
        ("He was 52 @.@ 9 years old .", "He was 52.9 years old."),
        ("about 67 @,@ 000 people", "about 67,000 people"),
        ("well @-@ known ( and rich )", "well-known (and rich)"),
        ('" Kiss You " – 3 : 04', '"Kiss You" – 3: 04'),
        ("The poet 's wife did n't say", "The poet's wife didn't say"),
        ('a " first " and a " second " word', 'a "first" and a "second" word'),
        ("20 % of them ; no more", "20% of them; no more"),
    ],
)
def test_tokens_as_they_are_printed(tokens: str, printed: str) -> None:
    assert as_prose(tokens) == printed


@pytest.mark.parametrize(
    "paragraph",
    [
        "Too short to be one . And more of it behind .",
        "There is <unk> in the midst of this sentence of many words .",
        "Bishop Eusebius of the old city of Caesarea ( c . 300 ) wrote of it .",
        'He said " I will do it before the end of the day . Then he slept .',
        "no end in sight of this line of quite a few words",
        "The Stevens ' house was built in the year of the fire .",
        "word " * 61 + ".",
    ],
)
def test_what_is_no_prompt(paragraph: str) -> None:
    assert first_sentence(paragraph) is None


def test_only_the_first_sentence_counts() -> None:
    assert (
        first_sentence("In 1998 it fell by 3 @.@ 5 % or so ! The rest is silence .")
        == "In 1998 it fell by 3.5% or so!"
    )


def test_rows(tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text(
        " \n = First = \n \n One two three four five six seven . More . \n"
        " = = Life = = \n Eight nine ten and so on and on it goes . \n Short one . \n"
        " = Second = \n Eight nine ten and so on and on it goes . \n Ten little words make a prompt that is good . \n",
        encoding="utf-8",
    )
    frame = load_wikitext(tmp_path).frame
    assert frame.select("prompt_id", "article", "section", "cluster").rows() == [
        ("1/1", "First", None, "1"),
        ("1/2", "First", "Life", "1"),
        ("2/2", "Second", None, "2"),
    ]


def test_the_fuller_file_is_preferred(tmp_path: Path) -> None:
    for name, word in (("test.txt", "old"), ("wiki.test.raw", "new")):
        (tmp_path / name).write_text(
            f"= A =\nThis is the {word} file with its eight words .\n", encoding="utf-8"
        )
    prompts = load_wikitext(tmp_path)
    assert prompts.frame["text"].to_list() == ["This is the new file with its eight words."]
    assert "wiki.test.raw" in prompts.card.details and prompts.frame.schema["section"] == pl.String


def test_broken_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none of wiki"):
        load_wikitext(tmp_path)
    (tmp_path / "test.txt").write_text("= A =\nShort .\n", encoding="utf-8")
    with pytest.raises(DataError, match="no whole sentence"):
        load_wikitext(tmp_path)
    (tmp_path / "test.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(DataError, match="not UTF-8"):
        load_wikitext(tmp_path)
