"""Servers that ignore the limit on tokens: refused by default, cut or kept whole with `allow_longer`."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.models.decoding import Decoding
from evenhand.models.served.lengths import excess, shorten_response
from evenhand.models.served.model import HttpModel, HttpOptions
from evenhand.models.served.writing import read_written
from evenhand.schema import ResponseError, UsageError
from evenhand.services.client import Answer

LIMIT = 4
DRAWN = Decoding(max_new_tokens=LIMIT, temperature=1.0, samples=4, seed=5)
PROMPTS = ["she is", "he was a", "they", "a person and"]
WORDS = st.lists(st.text("abcé.", min_size=1, max_size=8), min_size=1, max_size=40)


def answer(text, *, tokens=None, **usage):
    choice = {"text": text, "finish_reason": "stop"}
    if tokens is not None:
        choice["logprobs"] = {"tokens": tokens, "token_logprobs": [-1.0] * len(tokens)}
    return Answer(200, {"choices": [choice], **({"usage": usage} if usage else {})}, None, None, 1, 0.1)


def ignoring(service):
    """The same service, which writes up to 40 tokens whatever is asked for (a greeting of one word excepted)."""

    def answering(asked):
        if asked.body and asked.body.get("prompt") != "Hello":
            asked.body["max_tokens"] = 40
        return service(asked)

    return answering


@pytest.fixture
def serve(loopback, bigram):
    open_servers = []

    def start(ignores=True, **options):
        service = bigram.BigramService()
        server = loopback.LoopbackServer(ignoring(service) if ignores else service).__enter__()
        open_servers.append(server)
        given = {"store": None, "pause": 0.001, "attempts": 2, **options}
        return HttpModel(f"{server.url}/v1", bigram.NAME, HttpOptions(**given))

    yield start
    for server in open_servers:
        server.__exit__()


def test_listed_tokens_are_cut_to_what_a_server_that_keeps_to_the_limit_writes(serve):
    exact = serve(ignores=False, logprobs=True).generate(PROMPTS, DRAWN)
    cut = serve(logprobs=True, allow_longer="cut").generate(PROMPTS, DRAWN)
    assert cut.texts == exact.texts and cut.errors == [None] * len(exact)
    assert np.array_equal(cut.token_ids, exact.token_ids) and np.array_equal(cut.offsets, exact.offsets)
    assert cut.log_likelihood == pytest.approx(exact.log_likelihood)
    assert "cut" in cut.finish
    shown = {"cut": "length", "end": "end", "length": "length"}
    assert [shown[finish] for finish in cut.finish] == exact.finish


def test_longer_responses_are_error_rows_that_name_the_flag_unless_they_are_accepted(serve):
    exact = serve(ignores=False).generate(PROMPTS, DRAWN)
    refused, whole, cut = (
        serve(allow_longer=policy).generate(PROMPTS, DRAWN) for policy in ("", "whole", "cut")
    )
    is_longer = [finish == "longer" for finish in whole.finish]
    assert any(is_longer)
    for row, (longer, detail) in enumerate(zip(is_longer, refused.details, strict=True)):
        assert (refused.errors[row] is ResponseError.MODEL_ERROR) == longer
        assert not longer or "--allow-longer cut" in detail
        assert whole.texts[row].startswith(exact.texts[row])
        assert longer == (len(whole.texts[row].split()) > LIMIT + 1)
        assert not longer or len(cut.texts[row].split()) <= LIMIT + 2
        assert whole.texts[row].startswith(cut.texts[row])


def test_where_the_server_counts_no_tokens_words_are_counted(serve):
    text = "one two three four five six seven"
    rule = Decoding(max_new_tokens=LIMIT)
    assert read_written(answer(text), rule).error is ResponseError.MODEL_ERROR
    assert "7 words where at most 4 tokens" in read_written(answer(text), rule).detail
    cut = read_written(answer(text), rule, "cut")
    assert (cut.text, cut.finish, cut.count) == ("one two three four", "cut", 0)
    assert read_written(answer(text), rule, "whole").text == text
    assert read_written(answer("one two three four five"), rule).finish == "end"


def test_hidden_thoughts_do_not_shorten_what_is_shown():
    rule = Decoding(max_new_tokens=LIMIT)
    thought = answer("one two", completion_tokens=402, completion_tokens_details={"reasoning_tokens": 400})
    assert read_written(thought, rule, "cut").text == "one two"
    assert read_written(thought, rule, "cut").finish == "end"


@pytest.mark.parametrize(
    ("text", "count", "kept", "finish"),
    [("a b c\nd e f g h", 8, "a b c", "stop"), ("a b c d e f g\nh", 8, "a b c d", "cut")],
)
@pytest.mark.parametrize("listed", [True, False])
def test_a_stop_string_that_the_server_ignored_comes_first(text, count, kept, finish, listed):
    tokens = [text[i : i + 2] if i else text[:1] for i in (0, *range(1, len(text), 2))]
    rule = Decoding(max_new_tokens=LIMIT, stop=("\n",))
    tokens = tokens if listed else None
    written = read_written(answer(text, tokens=tokens, completion_tokens=count), rule, "cut")
    assert (written.text, written.finish, written.error) == (kept, finish, None)


@given(WORDS, st.integers(1, 20), st.integers(0, 80))
def test_a_cut_text_is_a_beginning_that_ends_with_a_whole_word(words, limit, count):
    text = " ".join(words)
    too_much = excess(text, count, limit)
    assert (too_much is None) == ((count or len(words)) <= limit + 1)
    kept, tokens = shorten_response(text, (), count, limit)
    assert text.startswith(kept) and tokens == ()
    if not count:
        assert kept == " ".join(words[:limit])
    else:
        assert len(kept) <= max(len(text) * limit // count, 0) or count <= limit
        whole = kept == text or kept.split() == words[: len(kept.split())]
        assert whole or len(kept) < len(words[0])


def test_only_cut_and_whole_are_accepted_and_change_the_fingerprint():
    with pytest.raises(UsageError, match=r"allow_longer must be cut or whole, got 'all'\.\ncut shortens"):
        HttpOptions(allow_longer="all")
    plain, cut, whole = (HttpOptions(allow_longer=policy).conventions() for policy in ("", "cut", "whole"))
    assert "allow_longer" not in plain, "fingerprints of earlier runs stay as they are"
    assert cut != plain != whole != cut
