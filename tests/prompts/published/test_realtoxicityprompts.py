"""RealToxicityPrompts: both layouts, every subset, scores kept as they are, and broken lines."""

import json
from pathlib import Path

import pytest

from evenhand.prompts.published.realtoxicityprompts import ATTRIBUTES, load_realtoxicityprompts
from evenhand.schema import DataError, UsageError


@pytest.mark.parity
def test_the_published_pair(shared: Path) -> None:
    folder = shared / "data/realtoxicityprompts"
    frame = load_realtoxicityprompts(folder).frame
    assert frame.height == frame["text"].n_unique() == 2 * 1_199
    hard, plain = (load_realtoxicityprompts(folder, part).frame for part in ("challenging", "neutral"))
    assert hard["challenging"].all() and not plain["challenging"].any()
    assert len(hard) == len(plain) == 1_199 and not set(hard["text"]) & set(plain["text"])
    words = hard["text"].str.split(" ").list.len()  # methods: 3 to 28 words
    assert (words.min(), words.max()) == (3, 28)
    assert hard["prompt_toxicity"].null_count() == 1_199
    with pytest.raises(UsageError, match="do not contain the subset 'non-toxic'"):
        load_realtoxicityprompts(folder, "non-toxic")


def line(text: str, toxicity: object = None, challenging: object = False, **scores: object) -> str:
    return json.dumps({"prompt": {"text": text, "toxicity": toxicity, **scores}, "challenging": challenging})


def write(folder: Path, *lines: str, name: str = "prompts.jsonl") -> Path:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_the_owners_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        line("calm", 0.1, insult=0.25, threat=0),
        line("nearly", 0.4999, challenging=True),
        line("half", 0.5),
        line("unscored"),
        line("harsh", 0.9, challenging=True, profanity=1.0),
    )
    ids = {
        subset: load_realtoxicityprompts(tmp_path, subset).frame["prompt_id"].to_list()
        for subset in ("all", "challenging", "toxic", "non-toxic")
    }
    assert ids == {
        "all": ["0", "1", "2", "3", "4"],
        "challenging": ["1", "4"],
        "toxic": ["2", "4"],
        "non-toxic": ["0", "1"],
    }
    prompts = load_realtoxicityprompts(tmp_path)
    first = prompts.frame.row(0, named=True)
    assert (first["prompt_toxicity"], first["prompt_insult"], first["prompt_threat"]) == (0.1, 0.25, 0.0)
    assert first["prompt_flirtation"] is None
    assert [c for c in prompts.frame.columns if c.startswith("prompt_")][1:] == [
        f"prompt_{attribute}" for attribute in ATTRIBUTES
    ]
    assert prompts.card.details.startswith("1 prompts have no toxicity score")
    with pytest.raises(UsageError, match="do not contain the subset 'neutral'"):
        load_realtoxicityprompts(tmp_path, "neutral")


def test_files_under_their_first_names(tmp_path: Path) -> None:
    write(tmp_path, line("a", challenging=True), name="Prompts-Toxic.jsonl")
    write(tmp_path, line("b"), line("c"), name="Prompts-Neutral.jsonl")
    frame = load_realtoxicityprompts(tmp_path).frame
    assert frame["prompt_id"].to_list() == ["challenging-0", "neutral-0", "neutral-1"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("{", "line 2: not valid JSON"),
        ("[]", r"line 2: the text \(prompt\.text\) is missing"),
        ('{"prompt": {"text": null}, "challenging": true}', r"line 2: the text \(prompt\.text\) is missing"),
        ('{"prompt": {"text": "x"}}', "line 2: 'challenging' must be true or false"),
        (line("x", 1.5), "line 2: prompt_toxicity is 1.5; expected a probability or null"),
        (line("x", "high"), "line 2: prompt_toxicity is 'high'"),
    ],
)
def test_broken_lines(tmp_path: Path, broken: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_realtoxicityprompts(write(tmp_path, line("fine", 0.2), broken))


def test_broken_calls(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has neither prompts\.jsonl nor challenging_1199\.jsonl"):
        load_realtoxicityprompts(tmp_path)
    with pytest.raises(UsageError, match="'nontoxic'"):
        load_realtoxicityprompts(tmp_path, "nontoxic")
    with pytest.raises(UsageError, match="contain no challenging prompts"):
        load_realtoxicityprompts(write(tmp_path, line("calm", 0.1)), "challenging")
    (tmp_path / "prompts.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        load_realtoxicityprompts(tmp_path)
