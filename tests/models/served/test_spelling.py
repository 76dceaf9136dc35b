"""Tokens of servers: where they stand in a text, and whether they spell it."""

import itertools

import pytest
from hypothesis import given, strategies as st

from evenhand.models.served.spelling import align, spells

NAN = float("nan")


@given(
    pieces=st.lists(st.text(min_size=1, max_size=4).filter(lambda t: "�" not in t), min_size=1, max_size=12),
    first=st.sampled_from([None, "<s>", "<|begin_of_text|>", ""]),
    behind=st.sampled_from([[], [("\x00more", -1.0)]]),
)
def test_tokens_that_spell_a_text_are_found_in_it(pieces, first, behind):
    text = "".join(pieces)
    if first is not None and first and text.startswith(first):
        return
    listed = [(piece, -float(i)) for i, piece in enumerate(pieces)]
    front = [] if first is None else [(first, NAN)]
    found = align([*front, *listed, *behind], text)
    assert [token.text for token in found] == pieces
    assert [text[token.start : token.end] for token in found] == pieces
    assert [token.log_prob for token in found] == [-float(i) for i in range(len(pieces))]


@given(
    characters=st.lists(st.sampled_from("ab é😀ß日ñ本语"), min_size=1, max_size=10, unique=True),
    cuts=st.sets(st.integers(1, 30)),
)
def test_tokens_that_cut_characters_in_two_leave_the_others_in_place(characters, cuts):
    """Tokens of bytes, shown as servers show them: what is no whole character becomes replacement characters."""
    text = "".join(characters)
    data = text.encode()
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    tokens = [data[a:b].decode(errors="replace") for a, b in itertools.pairwise(places)]
    found = align([(token, -1.0) for token in tokens], text)
    assert [token.text for token in found] == tokens
    whole = {len(text[:k].encode()): k for k in range(len(text) + 1)}  # bytes in front of each character
    for token, (a, b) in zip(found, itertools.pairwise(places), strict=True):
        if a in whole and not token.text.startswith("�"):
            assert token.start == whole[a]
        if b in whole and not token.text.endswith("�"):
            assert token.end == whole[b]
        assert token.start <= token.end
    assert found[0].start == 0
    assert found[-1].end == len(text)


@pytest.mark.parametrize(
    "tokens", [[], ["Hell"], ["Help", " you"], ["<s>"], ["<s>", "<s>", "Hello you"], ["Hello", "you"]]
)
def test_tokens_that_do_not_spell_the_text_are_refused(tokens):
    reason = align([(token, -1.0) for token in tokens], "Hello you")
    assert isinstance(reason, str)
    assert "do not spell" in reason


def test_a_space_that_a_tokenizer_adds_in_front_is_not_the_texts():
    found = align([(" Hello", NAN), (" you", -1.0)], "Hello you")
    assert [(token.start, token.end) for token in found] == [(0, 5), (5, 9)]


SPELT = [
    ([" He", " said"], " He said", []),
    ([" He", "</s>"], " He", []),
    ([" He", "", ""], " He", []),
    ([" He", " said", "."], "He said.", []),  # the space that begins a text is cut off
    ([" He", ".", "\n"], " He.", []),
    ([" He", ".", "\n\n"], "He.", ["\n"]),
    ([" He", " said", ".\n", "She"], " He said.", ["\n"]),
    ([" He", " said", ".\n", "She"], " He said.\n", ["\n"]),
    ([" a", "#", "##", " b"], " a", ["never", "###"]),
    ([" a", "\ufffd", "\ufffd"], " a\u2019", []),
    ([" a", "bytes:\\xe2\\x80", "bytes:\\x99", "s"], " a\u2019s", []),
    ([" a \\xf0\\x9f", "\\x98\\x80", " b"], " a \U0001f600 b", []),
    ([" a", "\ufffd", "\ufffd"], " a", []),  # a character of which the end is missing
    ([" a", "\ufffd"], " a\ufffd", []),
    ([" \\x41"], " \\x41", []),
    (["</s>"], "", []),
    (["\n"], "", []),
    ([], "", []),
]


@pytest.mark.parametrize(("tokens", "text", "stops"), SPELT)
def test_tokens_that_spell_a_text_as_servers_show_it(tokens, text, stops):
    assert spells(tokens, text, stops)


@pytest.mark.parametrize(
    ("tokens", "text", "stops"),
    [
        ([" He"], " She", []),
        ([" He", " said"], " She said", []),
        ([" He", " said", "</s>"], " He", []),  # more than the end is hidden
        ([" thoughts", " He"], " He", []),
        ([" He", "said"], " He said", []),
        ([" He", " said", ".\n"], " He", ["\n"]),
        ([" a", "\ufffd", "\ufffd"], " abcd", []),
        ([" a", "\ufffd", " c"], " b\u2019 c", []),
        ([" He", " said"], "", []),
        ([" He"], " He said", []),
    ],
)
def test_tokens_of_another_text(tokens, text, stops):
    assert not spells(tokens, text, stops)


@given(
    pieces=st.lists(st.text(max_size=4).filter(lambda piece: "\ufffd" not in piece), max_size=10),
    place=st.integers(0, 40),
    letter=st.characters(exclude_characters="\ufffd"),
)
def test_a_text_is_spelt_by_its_own_tokens_and_not_with_a_letter_more(pieces, place, letter):
    text = "".join(pieces)
    assert spells(pieces, text)
    other = text[:place] + letter + text[place:]
    if other.strip() != text.strip():
        assert not spells(pieces, other)
