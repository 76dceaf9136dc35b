"""What is asked of a scoring model: a list of strings or `Texts`, checked in one place."""

import pytest

from evenhand.models import Texts
from evenhand.schema import Unsupported, UsageError

FULL = Texts(["a", "b", "c"], ["x", None, "z"], [(0, 1), None, (0, 1)], "word", want_starts=True)


def test_strings_alone_are_texts_without_anything_else() -> None:
    batch = Texts.of(("a", "b"))
    assert batch == Texts(("a", "b")) and Texts.of(batch) is batch
    assert batch.all_contexts == ["", ""] and batch.all_spans == [None, None]


@pytest.mark.parametrize("lists", [{"contexts": ["x"]}, {"spans": []}, {"contexts": "xy"}, {"texts": "ab"}])
def test_lists_that_do_not_fit_the_texts_are_refused(lists: dict[str, list[str]]) -> None:
    with pytest.raises(UsageError) as caught:
        Texts(**{"texts": ["a", "b"], **lists})  # type: ignore[arg-type]
    assert next(iter(lists)) in str(caught.value) and caught.value.hint


def test_a_front_stands_before_each_context_and_changes_nothing_else() -> None:
    behind = FULL.behind("1 ").behind("2 ")
    assert behind.contexts == ["2 1 x", "2 1 ", "2 1 z"]
    assert (behind.texts, behind.spans, behind.masking) == (FULL.texts, FULL.spans, "word")
    assert behind.want_starts


def test_contexts_and_texts_are_joined_with_one_space_unless_they_are_to_stand_as_they_are() -> None:
    texts, contexts = ["ly", " ly", "ly", "ly", ""], ["fair", "fair", "fair ", None, "fair"]
    spaced, glued = Texts(texts, contexts), Texts(texts, contexts, spaced=False)
    assert spaced.joined() == (["fair ly", "fair ly", "fair ly", "ly", "fair "], [5, 4, 5, 0, 5])
    assert glued.joined() == (["fairly", "fair ly", "fair ly", "ly", "fair"], [4, 4, 5, 0, 4])
    assert not glued.behind("Be ").spaced and not next(glued.chunks(2)).spaced


def test_who_cannot_be_read_twice_says_so() -> None:
    apart = Texts(["a"], start_token="first")
    with pytest.raises(Unsupported, match="gpt-served cannot score only the first token after its start"):
        apart.refuse_first("gpt-served")
    as_usual = Texts(["a"], start_token="tokenizer")
    assert as_usual.refuse_first("gpt-served") is as_usual
    assert apart.behind("Be ").start_token == next(apart.chunks(1)).start_token == "first"


def test_chunks_hold_each_text_with_what_belongs_to_it() -> None:
    first, second = FULL.chunks(2)
    assert first == Texts(["a", "b"], ["x", None], [(0, 1), None], "word", want_starts=True)
    assert second == Texts(["c"], ["z"], [(0, 1)], "word", want_starts=True)
    assert list(Texts([]).chunks(2)) == [] and list(Texts(["a"]).chunks(2)) == [Texts(["a"])]


def test_masks_are_refused_with_the_reason_of_the_model() -> None:
    with pytest.raises(Unsupported, match="no mask here"):
        FULL.refuse_masking("no mask here")
    plain = Texts(["a"])
    assert plain.refuse_masking("no mask here") is plain
