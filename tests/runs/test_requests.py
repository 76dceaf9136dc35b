"""The identity of a request: content, all of the content, and nothing but the content."""

import hashlib
import json

import pytest
from hypothesis import given, strategies as st

from evenhand.runs.requests import ScoreRequest, fingerprint_digest, request_ids, text_ids

MODEL = {"name": "m", "dtype": "float32"}
PLAIN = ScoreRequest()
span = st.one_of(st.none(), st.tuples(st.integers(0, 20), st.integers(0, 20)))
question = st.tuples(st.text(max_size=6), st.one_of(st.none(), st.text(max_size=6)), span)


def one(text, context=None, where=None, request=PLAIN, model=MODEL, start_token=None):
    return request_ids([text], [context], [where], request, model, [start_token])[0]


@given(st.lists(question, max_size=8))
def test_two_requests_share_an_identity_only_if_they_ask_the_same(questions):
    texts, contexts, spans = [list(column) for column in zip(*questions, strict=True)] or ([], [], [])
    ids = request_ids(texts, contexts, spans, ScoreRequest(), MODEL)
    assert len(set(ids)) == len(set(questions))
    assert ids == [one(*asked) for asked in questions]


def test_position_and_neighbours_do_not_matter():
    forwards = request_ids(["a", "b"], None, None, ScoreRequest(), MODEL)
    assert forwards == request_ids(["b", "a"], [None, None], None, ScoreRequest(), MODEL)[::-1]


def test_identity_is_128_bits_of_blake2b_over_the_documented_content():
    canonical = json.dumps(MODEL, sort_keys=True, separators=(",", ":")).encode()
    head = (
        hashlib.blake2b(canonical, digest_size=32).hexdigest()
        + '{"kind": "log_likelihood", "masking": null}\n'
    )
    expected = hashlib.blake2b((head + "1:2 3\nctxtext").encode(), digest_size=16).hexdigest()
    assert one("text", "ctx", (1, 2)) == expected
    assert len(expected) == 32


@pytest.mark.parametrize(
    "other",
    [
        one("a "),
        one("a", ""),
        one("a", None, (0, 1)),
        one("a", start_token="first"),
        one("a", start_token="tokenizer"),
        one("a", request=ScoreRequest(masking="word")),
        one("a", model={**MODEL, "dtype": "bfloat16"}),
        one("a", model={**MODEL, "chain": []}),
    ],
)
def test_every_part_of_the_question_counts(other):
    assert one("a") != other


def test_keeping_tokens_is_storage_not_a_question():
    assert one("a", request=ScoreRequest(keep_tokens=True)) == one("a")


def test_context_and_text_do_not_run_into_each_other():
    assert one("bc", "a") != one("c", "ab")
    assert one("a", "") != one("a", None)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match=r"zip\(\) argument"):
        request_ids(["a", "b"], ["x"], None, ScoreRequest(), MODEL)


def test_fingerprint_digest_ignores_key_order_at_every_depth():
    assert fingerprint_digest({"a": {"b": 1, "c": 2}}) == fingerprint_digest({"a": {"c": 2, "b": 1}})
    assert fingerprint_digest({"a": [1, 2]}) != fingerprint_digest({"a": [2, 1]})


@given(st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.text(max_size=5))), max_size=8))
def test_judged_texts_share_an_identity_only_with_text_and_context(judged):
    texts, contexts = [list(column) for column in zip(*judged, strict=True)] or ([], [])
    ids = text_ids(texts, contexts)
    assert len(set(ids)) == len(set(judged))
    assert ids == [text_ids([text], [context])[0] for text, context in judged]
    assert text_ids(texts) == text_ids(texts, [None] * len(texts))


def test_the_identity_of_a_judged_text_is_documented_content():
    assert text_ids(["text"], ["ctx"]) == [hashlib.blake2b(b"- 3\nctxtext", digest_size=16).hexdigest()]
