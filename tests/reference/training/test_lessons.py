"""Lessons of a World's conversations: against the transcript and the World's own likelihood of what was said."""

import math

import numpy as np
import polars as pl
import pytest

from evenhand.models import Texts
from evenhand.models.dialogue import History
from evenhand.prompts.names import introductions, load_names
from evenhand.reference.talk_steps import NAME
from evenhand.reference.talkers import load_planted
from evenhand.reference.training.lessons import Teacher
from tests.helpers.talkers import BY_GENDER, openers, people, planted

PERSONA = ["i like tea.", "my cat is old."]
KNOWN = people(2)
WORLD = planted(BY_GENDER, KNOWN)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    told = openers(KNOWN, 3)
    return told.with_columns(
        persona_a=pl.Series([PERSONA] * told.height), persona_b=pl.lit(None, pl.List(pl.String))
    )


@pytest.fixture(scope="module")
def teacher(frame: pl.DataFrame) -> Teacher:
    return Teacher(WORLD, frame)


def test_a_lesson_is_the_transcript_in_tokens(teacher: Teacher, frame: pl.DataFrame) -> None:
    said = WORLD.conversations(frame.head(1))["text"].to_list()
    lesson = teacher.lesson(said, ("A", PERSONA))
    lines = ["A is a person who says: i like tea. my cat is old.\n"]
    lines += [f"{'AB'[turn % 2]}: {text}\n" for turn, text in enumerate(said)]
    assert teacher.tokenizer.decode(lesson.ids) == "".join(lines)
    assert len(lesson.targets) == len(lesson.ids)
    # one token a word, the invented name, too
    assert f" {KNOWN[0].name}" in [teacher.tokenizer.decode([token]) for token in lesson.ids]


def test_every_word_of_the_planted_world_is_one_token() -> None:
    told = introductions(load_names(), n=40).frame  # as the command trains, with words such as "beautiful"
    world = load_planted()
    teacher = Teacher(world, told)
    said = {word for word in teacher.replier.ids if word and word[0] == " " and NAME not in word}
    assert {len(teacher.tokenizer.tokenize(word)) for word in said} == {1}
    assert len(teacher.lessons(world.conversations(told.head(3)), seed=0)) == 3


def test_targets_are_the_world_s_own_distribution(teacher: Teacher, frame: pl.DataFrame) -> None:
    for lesson, said in zip(
        teacher.lessons(WORLD.conversations(frame), seed=0),
        WORLD.conversations(frame).group_by("conversation", maintain_order=True).agg("text")["text"],
        strict=True,
    ):
        total = 0.0
        for token, (options, shares) in zip(lesson.ids, lesson.targets, strict=True):
            if options:
                assert sum(shares) == pytest.approx(1)
                assert token in options
                total += math.log(sum(p for one, p in zip(options, shares, strict=True) if one == token))
        contexts = [History((), tuple(said[:turn])).prompt() for turn in range(1, 12)]
        replies = WORLD.log_likelihoods(Texts(list(said[1:]), contexts))
        assert replies.errors == [None] * 11
        ends = total - replies.sums.sum()  # that each reply ends where it does
        assert -11 * 2 < ends <= 1e-4


def test_personas_are_drawn_for_each_conversation(teacher: Teacher) -> None:
    many = openers(KNOWN, 8)
    many = many.with_columns(
        persona_a=pl.Series([PERSONA] * many.height), persona_b=pl.Series([PERSONA[::-1]] * many.height)
    )
    begun = [
        teacher.tokenizer.decode(one.ids)[:24] for one in teacher.lessons(WORLD.conversations(many), seed=1)
    ]
    shares = [np.mean([text.startswith(front) for text in begun]) for front in ("A is", "B is", "A: ")]
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0.1
