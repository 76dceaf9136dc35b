"""The list of gendered words: whole words, counts, ties, and nothing where there is nothing."""

import re

import numpy as np
import pytest

from evenhand.classifiers import load_classifier
from evenhand.classifiers.gendered_words import GENDERS, read_gender_words
from evenhand.schema import ResponseError, UsageError


def said(*texts):
    return load_classifier("evenhand/gendered-words").classify(texts)


def test_each_word_alone_tells_its_gender():
    words = read_gender_words().gender
    labels = said(*words, *(word.upper() for word in words)).labels
    assert labels == [GENDERS[place] for place in words.values()] * 2
    assert set(words.values()) == {0, 1}


def test_words_are_counted_whole_and_a_tie_tells_nothing():
    found = said(
        "He, he and HER!",
        "She and he",
        "I miss the show; then this, mandate",
        "  ",
        "his wife’s sister",
        "you guys",
    )
    assert found.labels == ["man", "neither", "neither", None, "woman", "neither"]
    assert found.errors[3] == ResponseError.EMPTY_TEXT
    np.testing.assert_allclose(found.scores[0], [2 / 5, 3 / 5], rtol=1e-6)
    np.testing.assert_allclose(found.scores[[1, 2]], 0.5)
    np.testing.assert_allclose(found.scores[4], [3 / 5, 2 / 5], rtol=1e-6)
    assert np.isnan(found.scores[3]).all()
    assert np.isnan(found.score).all()


def test_genders_have_about_as_many_words():
    women, men = (sum(gender == place for gender in read_gender_words().gender.values()) for place in (0, 1))
    assert 0.7 < men / women < 1.4


def test_it_takes_no_options():
    with pytest.raises(UsageError, match="gendered-words"):
        load_classifier("evenhand/gendered-words?threshold=0.4")


def test_words_are_found_as_each_of_them_by_itself_would_be():
    """The look at first letters leaves nothing out, and a long text of no word costs one look at each place."""
    listed = read_gender_words()
    texts = [
        "She's his’n, HERS; \u017fhe 'he",
        "ab" + "\u0301he",
        " " * 200 + "she",
        "x" + "\u0301" * 200,
    ]
    for text in texts:
        plain = text.replace("’", "'").lower()
        found = [
            (match.start(), len(word), gender)
            for word, gender in listed.gender.items()
            for match in re.finditer(rf"(?<![\w'])(?={re.escape(word)}(?!\w))", plain)
        ]
        longest = {start: gender for start, _, gender in sorted(found)}  # the longest word that begins there
        assert listed.counts(text) == tuple(list(longest.values()).count(gender) for gender in (0, 1))


def test_letters_that_only_look_like_others_are_none_of_ours():
    """A long s and a dotless i fold to s and i in expressions, and to nothing in lower case."""
    assert said("\u017fhe knows", "h\u0131s", "\u0130s HIS").labels == ["neither", "neither", "man"]
