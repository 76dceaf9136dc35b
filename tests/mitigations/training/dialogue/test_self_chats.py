"""Self-chats read from files and runs, their names split, and each utterance a reply with what its speaker knew."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.mitigations.training.dialogue.self_chats import (
    SelfChat,
    check_named,
    own_and_other,
    read_self_chats,
    self_chats_from_table,
    split_names,
)
from evenhand.runs import ConversationRequest, PlanPart, RunDirectory, execute, make_plan
from evenhand.schema import DataError
from tests.helpers.planted_chats import MEN, WOMEN, planted_chats, written
from tests.helpers.talking import GREEDY, Plain, Talker, introductions

PERSONAS = {"persona_a": [["i cook.", "i fly."]], "persona_b": [["i swim."]]}


def one(*texts: str | None, **more: object) -> pl.DataFrame:
    """A conversation of Ann."""
    rows = [
        {"conversation": 7, "name": "Ann", "gender": "woman", "speaker": "BA"[turn % 2], "turn": turn, "text": text}
        for turn, text in enumerate(texts, 1)
    ]  # fmt: skip
    return pl.DataFrame(rows).with_columns(pl.lit(value).alias(name) for name, value in more.items())


def test_each_reply_has_what_its_speaker_knew(tmp_path: Path) -> None:
    frame = one("Hi! My name is Ann.", "Hello Ann.", "", "So?")
    frame = frame.with_columns(pl.Series(name, value * 4) for name, value in PERSONAS.items())
    (chat,) = self_chats_from_table(read_self_chats(written(tmp_path, frame)))
    told = [(reply.history.persona, reply.history.utterances, reply.target) for reply in chat.replies()]
    assert told == [  # the empty reply is no target, and stays in what follows; the opener is none, either
        (("i swim.",), ("Hi! My name is Ann.",), "Hello Ann."),
        (("i swim.",), ("Hi! My name is Ann.", "Hello Ann.", ""), "So?"),
    ]


def test_a_reply_that_failed_ends_its_conversation(tmp_path: Path) -> None:
    frame = one("Hi! My name is Ann.", "Hello.", None, "unheard")
    (chat,) = self_chats_from_table(read_self_chats(written(tmp_path, frame)))
    assert chat.utterances == ("Hi! My name is Ann.", "Hello.")


def test_a_csv_says_the_same(tmp_path: Path) -> None:
    frame = one("Hi! My name is Ann.", "Hello.", persona_a='["i cook.", "i fly."]', persona_b="i swim.\ni sing.",
                word_collision="True")  # fmt: skip
    (chat,) = self_chats_from_table(read_self_chats(written(tmp_path, frame, "csv")))
    assert chat.personas == (("i cook.", "i fly."), ("i swim.", "i sing.")) and chat.is_word
    assert chat.conversation == "7"


def test_a_run_is_read_as_it_was_said(tmp_path: Path) -> None:
    talker = Talker()
    request = ConversationRequest(GREEDY, 6)
    plan = make_plan([PlanPart("names", introductions(8), request)], {"name": "plain"}, talker)
    directory = RunDirectory.create(tmp_path / "run", model=Plain(), given={}, resolved={})
    execute(plan, Plain(), directory)
    chats = self_chats_from_table(read_self_chats(tmp_path / "run"))
    assert [chat.conversation for chat in chats] == [str(100 + i) for i in range(8)]
    lines = {line for line in talker.asked}
    for chat in chats:  # what is learned stands behind the very line that was asked
        assert len(chat.utterances) == 6
        assert all(chat.history(turn).prompt() in lines for turn in range(2, 7))
    assert chats[1].personas == (("i have 1 cats.", "i cook."), ("i fly.", "i am 1."))


def test_names_are_split_once_for_a_seed_and_no_name_twice() -> None:
    frame = planted_chats(1)
    split = split_names(frame, 3)
    names = [*split.learned, *split.watched, *split.test]
    assert sorted(names) == sorted((*WOMEN, *MEN)) and len(split.test) == 8
    assert split.names() == split_names(frame.sample(fraction=1.0, shuffle=True, seed=1), 3).names()
    assert split.names() != split_names(frame, 4).names()
    for part in (split.learned, split.watched, split.test):  # as many of each gender
        assert sum(name in WOMEN for name in part) == len(part) / 2


def test_a_table_that_splits_its_names_is_obeyed() -> None:
    test = ("Ann", "Bob")
    told = pl.when(pl.col("name").is_in(test)).then(pl.lit("test")).otherwise(pl.lit("tune"))
    assert split_names(planted_chats(1).with_columns(split=told), 3).test == test


def test_watched_replies_stand_behind_a_name_of_the_other_gender() -> None:
    split = split_names(planted_chats(2), 0)
    first, second, every = own_and_other(split, 0)
    assert len(every) == 2 * 3 * len(split.watched) == len(first)
    for own, other in zip(first, second, strict=True):
        assert own.target == other.target
        a, b = (one.history.utterances[0].rpartition(" ")[2] for one in (own, other))
        assert {a, b} <= set(split.watched) and (a in WOMEN) != (b in WOMEN)
        assert own.history.utterances[1:] == other.history.utterances[1:]


def test_the_digest_follows_texts_and_split() -> None:
    frame = planted_chats(1)
    digests = [split_names(frame, seed).digest for seed in (0, 0, 1)]
    changed = frame.with_columns(pl.col("text").str.replace("like", "love"))
    assert digests[0] == digests[1] != digests[2]
    assert split_names(changed, 0).digest != digests[0]


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (planted_chats(1).drop("turn"), "turn"),
        (planted_chats(1).filter(pl.col("turn") != 2), "turn 3 of speaker 'A'"),
        (planted_chats(1).with_columns(speaker=pl.lit("A")), "turn 2 of speaker 'A'"),
        (
            planted_chats(1).filter(pl.col("turn") == 1),
            "no conversation that has the name of its opener and a reply",
        ),
        (
            planted_chats(1).with_columns(name=pl.lit(None, pl.String)),
            "no conversation that has the name of its opener",
        ),
        (planted_chats(1).with_columns(turn=pl.lit("first")), "is not a table of self-chats"),
    ],
)
def test_data_of_another_form_is_refused(tmp_path: Path, frame: pl.DataFrame, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_self_chats(written(tmp_path, frame))


def test_too_few_names() -> None:
    with pytest.raises(DataError, match="have 4 names, of which 2 can be used for tuning"):
        split_names(planted_chats(1).filter(pl.col("name").is_in(["Ann", "Bob", "Eve", "Max"])), 0)


def test_a_run_of_something_else(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path / "run", model=Plain(), given={}, resolved={})
    with pytest.raises(DataError, match="contains nothing, but self-chats"):
        read_self_chats(tmp_path / "run")


def opened(name: str, opener: str, is_word: bool = False) -> SelfChat:
    """A conversation of which nothing else is looked at."""
    return SelfChat("1", name, "woman", ((), ()), (opener,), is_word)


def test_openers_without_their_name_are_refused() -> None:
    with pytest.raises(DataError, match=r"1 of 2 conversations do not start with their name.*'Eve' in 'Hi!'"):
        check_named([opened("Ann", "Hi, Ann"), opened("Eve", "Hi!")])
    with pytest.raises(DataError, match="'Hope' in 'We hope, Hope'"):  # a word, and not introduced
        check_named([opened("Hope", "We hope, Hope", True)])
    check_named([opened("Hope", "Hi! My name is Hope.", True)])
