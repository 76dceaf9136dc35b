"""Token ratios: counted by hand, smoothing, groups of unequal size, and tables that are none."""

import numpy as np
import polars as pl
import pytest

from evenhand.mitigations.training.dialogue.token_ratios import token_ratios
from evenhand.schema import DataError, UsageError


def cut(texts: list[str]) -> list[list[int]]:
    """A token a letter, from a on."""
    return [[ord(letter) - ord("a") for letter in text] for text in texts]


def chats(*said: tuple[str, str, str]) -> pl.DataFrame:
    """Conversations of a name, its gender, and the one utterance that the model wrote."""
    return pl.DataFrame(
        [
            {"conversation": number, "name": name, "gender": gender, "speaker": speaker, "turn": turn, "text": text}
            for number, (name, gender, written) in enumerate(said)
            for speaker, turn, text in (("A", 1, "zzz"), ("B", 2, written))
        ]
    )  # fmt: skip


def test_ratios_are_those_counted_by_hand() -> None:
    frame = chats(
        ("Ann", "woman", "aabc"), ("Eve", "woman", "ab"), ("Bob", "man", "bbbd"), ("Max", "man", "")
    )
    found = token_ratios(frame, cut, 5, smoothing=0)
    assert found.groups == ("man", "woman") and found.tokens == (4, 6)
    man, woman = np.array([0, 3 / 4, 0, 1 / 4]), np.array([3, 2, 1, 0]) / 6
    mean = (man + woman) / 2
    np.testing.assert_allclose(found.group_ratios("woman"), [*(woman / mean), 1])
    np.testing.assert_allclose(found.group_ratios("man"), [*(man / mean), 1])
    np.testing.assert_allclose(found.weights()[1], [1, 0, 1, 0, 0], atol=1e-12)
    assert found.mean("woman", [0, 1]) == pytest.approx((2 + woman[1] / mean[1]) / 2)
    assert found.mean("woman", []) == 1


def test_smoothing_adds_tokens_that_all_use_alike() -> None:
    frame = chats(("Ann", "woman", "a" * 30 + "b" * 70), ("Bob", "man", "a" * 10 + "b" * 190))
    found = token_ratios(frame, cut, 2, smoothing=1000)
    mean = (0.3 + 0.05) / 2
    assert found.group_ratios("woman")[0] == pytest.approx((30 + 1000 * mean) / 1100 / mean)
    assert found.group_ratios("man")[0] == pytest.approx((10 + 1000 * mean) / 1200 / mean)
    once = token_ratios(chats(("Ann", "woman", "abbbbb"), ("Bob", "man", "bbbbbb")), cut, 2)
    assert once.weights().max() == pytest.approx((1 + 1000 / 12) / 1006 * 12 - 1)  # and not 1, for one use


def test_a_group_with_more_conversations_weighs_no_more() -> None:
    once = chats(("Ann", "woman", "aab"), ("Bob", "man", "abb"))
    thrice = pl.concat(
        [once, *(once.filter(gender="man").with_columns(conversation=pl.lit(n, pl.Int64)) for n in (8, 9))]
    )
    np.testing.assert_allclose(
        token_ratios(once, cut, 2, smoothing=0).ratios, token_ratios(thrice, cut, 2, smoothing=0).ratios
    )


def test_openers_and_rows_that_failed_are_not_counted() -> None:
    frame = pl.concat([chats(("Ann", "woman", "ab"), ("Bob", "man", "ba")), chats(("Ann", "woman", "b"))])
    frame = frame.with_columns(text=pl.when(pl.col("text") == "b").then(None).otherwise("text"))
    np.testing.assert_array_equal(token_ratios(frame, cut, 26, smoothing=0).ratios, np.ones((2, 26)))


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (chats(("Ann", "woman", "ab")), "at least two groups"),
        (chats(("Ann", "woman", "ab"), ("Bob", "man", "")), "conversations of man"),
        (chats(("Ann", "woman", "az"), ("Bob", "man", "a")), "token id 25"),
        (chats(("Ann", "woman", "ab"), ("Bob", "man", "a")).drop("text"), "text"),
    ],
)
def test_tables_that_are_refused(frame: pl.DataFrame, told: str) -> None:
    with pytest.raises(DataError, match=told):
        token_ratios(frame, cut, 20)


def test_a_group_that_there_is_not_and_smoothing_below_zero() -> None:
    frame = chats(("Ann", "woman", "ab"), ("Bob", "man", "a"))
    with pytest.raises(DataError, match="'person'"):
        token_ratios(frame, cut, 2).group_ratios("person")
    with pytest.raises(UsageError, match="smoothing"):
        token_ratios(frame, cut, 2, smoothing=-1)
