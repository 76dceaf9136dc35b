"""Self-chats as training material, read from a run or a file.

The names are divided into three sets: training, validation (monitored during training, also for early stopping), and
test (unused in training, so that a study can measure the effect on new names).
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.mitigations.training.dialogue.cells import check_names, sentences, truths
from evenhand.mitigations.training.dialogue.renaming import all_renamed, mentions
from evenhand.mitigations.training.replies import Reply
from evenhand.models.dialogue import History
from evenhand.prompts.own_files import read_table, require_columns
from evenhand.runs import RunDirectory, self_chats
from evenhand.schema import DataError, is_folder

BENCHMARK = "names"
COLUMNS = ("conversation", "name", "speaker", "turn", "text")
GROUPS = ("gender", "race_ethnicity")
PERSONAS = ("persona_a", "persona_b")
SPLIT = "split"
FILE = (
    "Give the folder of a run (`evenhand audit MODEL --suite names`), or a table (.csv, .jsonl, .parquet) with one "
    "row per utterance. Its columns are conversation, name, gender, speaker (A or B), turn (1 is the opener) and "
    "text, and optionally persona_a and persona_b."
)
TEST_SHARE = 0.5
"""Share of the names for the test if the table has no split. Measures rest on names and need this many."""
WATCHED_SHARE = 0.2
"""Share of the remaining names (for tuning) that is monitored."""
FEWEST_NAMES = 8
"""Minimum number of names. Four of them are for tuning, and one of these is monitored."""
FEWEST_WATCHED = 2


@dataclass(frozen=True)
class SelfChat:
    """One conversation. personas: those of A and of B. is_word: whether its name is also a common word."""

    conversation: str
    name: str
    gender: str | None
    personas: tuple[tuple[str, ...], tuple[str, ...]]
    utterances: tuple[str, ...]
    is_word: bool = False

    def under(self, new: str) -> "SelfChat":
        """Return the same conversation with another name in all turns. Personas do not change."""
        said = all_renamed(self.utterances, self.name, new, is_word=self.is_word)
        return replace(self, utterances=said, name=new)

    def history(self, turn: int) -> History:
        """Return the history that the speaker of a turn (counted from 1) knows."""
        return History(self.personas[(turn - 1) % 2], self.utterances[: turn - 1])

    def replies(self) -> list[Reply]:
        """Return the replies that the model generated, each with its history. The opener and
        empty replies are left out.
        """
        return [
            Reply(self.history(turn), text)
            for turn, text in enumerate(self.utterances, 1)
            if turn > 1 and text.strip()
        ]


@dataclass(frozen=True, eq=False)
class SelfChats:
    """Self-chats and the division of their names.

    frame: see `read_self_chats`. learned, watched, test: names for training, validation and test, sorted and without
    overlap.
    """

    frame: pl.DataFrame
    learned: tuple[str, ...]
    watched: tuple[str, ...]
    test: tuple[str, ...]

    def table(self, names: Sequence[str]) -> pl.DataFrame:
        """Return the rows of some of the names."""
        return self.frame.filter(pl.col("name").is_in(list(names)))

    @cached_property
    def chats(self) -> tuple[SelfChat, ...]:
        """Return the conversations of the training names."""
        return self_chats_from_table(self.table(self.learned))

    def names(self) -> dict[str, list[str]]:
        """Return the names for training, validation and test, for the lineage."""
        return {"learned": list(self.learned), "watched": list(self.watched), "test": list(self.test)}

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 (hex) of the conversations and of the division of names."""
        found = hashlib.sha256(json.dumps(self.names()).encode())
        for chat in self_chats_from_table(self.frame):
            found.update(json.dumps([chat.name, chat.gender, chat.personas, chat.utterances]).encode())
        return found.hexdigest()


def read_self_chats(path: Path) -> pl.DataFrame:
    """Read self-chats as a table with one row per utterance, sorted by conversation and turn.

    Parameters
    ----------
    path : path
        Folder of a run, or a table.

    Returns
    -------
    polars.DataFrame
        Columns: conversation, name, gender, race_ethnicity (null if unknown), speaker ("A" or "B"), turn (1 is the
        opener), text (null if it failed), persona_a and persona_b (lists of sentences), word_collision (whether the
        name is a common word), and split ("tune" or "test") if the file has it. Conversations without a name are left
        out.

    Raises
    ------
    DataError
        The format is wrong, or a name has two genders or both splits. The message names the conversation or the row.
    """
    path = path.expanduser()
    frame = _from_run(path) if is_folder(path) else read_table(path, FILE)
    require_columns(frame, COLUMNS, path, FILE)
    gone = [pl.lit(None, pl.String).alias(name) for name in (*GROUPS, *PERSONAS) if name not in frame.columns]
    if "word_collision" not in frame.columns:
        gone.append(pl.lit(False).alias("word_collision"))
    split = [SPLIT] if SPLIT in frame.columns and frame[SPLIT].null_count() < frame.height else []
    frame = frame.with_columns(gone)
    try:
        found = frame.select(
            *(pl.col(name).cast(pl.String) for name in ("conversation", "name", *GROUPS, "speaker")),
            pl.col("turn").cast(pl.Int64),
            pl.col("text").cast(pl.String),
            *(pl.col(name).cast(pl.String) for name in split),
            pl.int_range(pl.len()).alias("row"),
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path} is not a table of self-chats: {str(error).splitlines()[0]}.", FILE
        ) from error
    found = found.with_columns(
        *(sentences(frame[name], path) for name in PERSONAS), truths(frame["word_collision"], path)
    )
    found = found.filter(pl.col("name").is_not_null()).sort("conversation", "turn")
    check_names(found, path)
    _check(found, path)
    return found.drop("row")


def self_chats_from_table(frame: pl.DataFrame) -> tuple[SelfChat, ...]:
    """Return the conversations of a table (see `read_self_chats`), each up to the first utterance that failed."""
    chats = []
    grouped = frame.group_by("conversation", maintain_order=True).agg(
        pl.col("name", "gender", *PERSONAS, "word_collision").first(), pl.col("text")
    )
    for row in grouped.iter_rows(named=True):
        texts = row["text"]
        texts = texts[: texts.index(None)] if None in texts else texts
        personas = tuple(tuple(row[name] or ()) for name in PERSONAS)
        chats.append(
            SelfChat(
                row["conversation"],
                row["name"],
                row["gender"],
                (personas[0], personas[1]),
                tuple(texts),
                bool(row["word_collision"]),
            )
        )
    return tuple(chats)


def split_names(frame: pl.DataFrame, seed: int) -> SelfChats:
    """Divide the names of self-chats: as the table states, or half of each gender's names for testing.

    Of the names for tuning, a fifth of each gender is for validation. Raises DataError if there are too few names.
    """
    listed = frame.group_by("name").agg(pl.col(*GROUPS).first(), *_split_column(frame)).sort("name")
    random = np.random.default_rng([seed, 4])
    told = SPLIT in listed.columns
    tune, test = [], list[str]()
    for _, part in listed.sort(*GROUPS, "name", nulls_last=True).group_by("gender", maintain_order=True):
        names = part["name"].to_list()
        if told:
            test += part.filter(pl.col(SPLIT) == "test")["name"].to_list()
            tune.append(part.filter(pl.col(SPLIT).ne_missing("test"))["name"].to_list())
        else:
            drawn = _draw_names(random, names, TEST_SHARE)
            test += drawn
            tune.append([name for name in names if name not in set(drawn)])
    watched = [name for names in tune for name in _draw_names(random, names, WATCHED_SHARE)]
    learned = [name for names in tune for name in names if name not in set(watched)]
    if listed.height < FEWEST_NAMES or len(watched) < FEWEST_WATCHED or len(learned) < FEWEST_WATCHED:
        raise DataError(
            f"The self-chats have {listed.height} names, of which {len(learned) + len(watched)} can be used for "
            f"tuning, but {FEWEST_NAMES} are required: for training, validation and testing.",
            "Use self-chats of more names, of both genders.",
        )
    return SelfChats(frame, *(tuple(sorted(names)) for names in (learned, watched, test)))


def own_and_other(chats: SelfChats, seed: int) -> tuple[list[Reply], list[Reply], list[Reply]]:
    """Return replies of validation names: under their own name, under another name, and all of them.

    The other name is another validation name, of another gender if possible, and the same throughout a conversation.
    Replies that mention the name cannot be compared and are only in the third list. Raises DataError if no reply can be
    compared.
    """
    random = np.random.default_rng([seed, 5])
    whole = self_chats_from_table(chats.table(chats.watched))
    gender = {chat.name: chat.gender for chat in whole}
    first, second, every = list[Reply](), list[Reply](), list[Reply]()
    for chat in whole:
        others = [name for name in chats.watched if name in gender and name != chat.name]
        others = [name for name in others if gender[name] != chat.gender] or others
        if not others:
            continue
        new = others[int(random.integers(len(others)))]
        own, other = chat.replies(), chat.under(new).replies()
        every += own
        for one, two in zip(own, other, strict=True):
            if one.target == two.target and not mentions(one.target, chat.name):
                first.append(one)
                second.append(two)
    if len(first) < FEWEST_WATCHED:
        raise DataError(
            "The conversations of the validation names contain no reply that can be compared under two names: "
            "each mentions the name, or is empty.",
            FILE,
        )
    return first, second, every


def check_named(chats: Sequence[SelfChat]) -> None:
    """Raise DataError, naming the first, if conversations do not open with their name, so that it
    cannot be replaced.
    """
    absent = [chat for chat in chats if chat.under(f"{chat.name}x").utterances[0] == chat.utterances[0]]
    if absent:
        first = absent[0]
        raise DataError(
            f"{len(absent):,} of {len(chats):,} conversations do not start with their name (the first, "
            f"{first.conversation}: {first.name!r} in {first.utterances[0][:60]!r}).",
            "The column name must contain the name as speaker A says it: 'Hi! My name is Martha.'",
        )


def _from_run(path: Path) -> pl.DataFrame:
    """Return the conversations of a run; those that are opened with names if the run has several kinds."""
    directory = RunDirectory.open(path)
    asked = directory.manifest.asked
    chats = sorted(name for name in directory.benchmarks if name in asked and asked[name].turns is not None)
    if not chats or (BENCHMARK not in chats and len(chats) > 1):
        raise DataError(
            f"{path} contains {' and '.join(chats or directory.benchmarks) or 'nothing'}, but self-chats of the "
            f"benchmark {BENCHMARK} are required.",
            FILE,
        )
    return self_chats(directory, BENCHMARK if BENCHMARK in chats else chats[0])


def _split_column(frame: pl.DataFrame) -> list[pl.Expr]:
    return [pl.col(SPLIT).first()] if SPLIT in frame.columns else []


def _draw_names(random: np.random.Generator, names: Sequence[str], share: float) -> list[str]:
    """Return a random share of the names: at least one if there are two or more."""
    number = max(round(share * len(names)), 1) if len(names) > 1 else 0
    return [names[place] for place in sorted(random.permutation(len(names))[:number].tolist())]


def _check(found: pl.DataFrame, path: Path) -> None:
    """Raise DataError, with the conversation, if the turns are not those of a conversation."""
    expected = pl.when(pl.col("turn") % 2 == 1).then(pl.lit("A")).otherwise(pl.lit("B"))
    place = pl.int_range(1, pl.len() + 1).over("conversation")
    one = pl.col("name").n_unique().over("conversation") == 1
    wrong = found.filter(
        ~((pl.col("turn") == place) & (pl.col("speaker") == expected) & one).fill_null(False)
    )
    if wrong.height:
        row = wrong.row(0, named=True)
        raise DataError(
            f"{path}, conversation {row['conversation']}: unexpected turn {row['turn']} of speaker "
            f"{row['speaker']!r} ({row['name']}); expected turns 1, 2, 3, ... by A, B, A, ... under one name.",
            FILE,
        )
    if found.is_empty() or found.filter(pl.col("turn") > 1)["text"].drop_nulls().is_empty():
        raise DataError(f"{path} contains no conversation that has the name of its opener and a reply.", FILE)
