"""What is asked of a server for a decoding, and how each kind of answer is read."""

import json

import numpy as np
import pytest
from hypothesis import given as drawn, strategies as st

from evenhand.models.decoding import Decoding
from evenhand.models.served.options import HttpOptions
from evenhand.models.served.writing import (
    decoding_body,
    is_written,
    listed_tokens,
    read_written,
    sample_body,
    token_number,
)
from evenhand.models.writing.rows import continuation_key, row_uniforms
from evenhand.schema import ResponseError, Unsupported
from evenhand.services.client import Answer

GREEDY = Decoding(max_new_tokens=5)
DRAWN = Decoding(max_new_tokens=5, temperature=0.8, samples=3, seed=4)


def answer(choice, **rest):
    return Answer(200, {"choices": [choice], **rest}, None, None, 1, 0.1)


def test_the_seed_comes_from_the_key_of_the_engines_own_draws():
    for seed, prompt, sample in ((0, "Hi", 0), (3, "São \ud83d", 65534)):
        key = continuation_key(seed, prompt, sample)
        assert np.array_equal(np.random.default_rng(key).random(9), row_uniforms(seed, prompt, sample, 9))


def test_each_sample_has_a_seed_of_its_own_that_depends_on_nothing_else():
    fields = decoding_body(DRAWN, HttpOptions())

    def seed(prompt, sample, decoding=DRAWN):
        return sample_body(prompt, sample, decoding, fields, HttpOptions())["seed"]

    others = [seed("a", 1), seed("b", 0), seed("a", 0, Decoding(max_new_tokens=5, temperature=0.8, seed=5))]
    assert len({seed("a", 0), *others}) == 4
    assert all(0 <= value < 2**31 for value in others)
    assert seed("a", 0) == seed("a", 0, Decoding(max_new_tokens=9, temperature=0.2, seed=4))
    assert "seed" not in sample_body("a", 0, GREEDY, {}, HttpOptions())
    assert "seed" not in sample_body("a", 0, DRAWN, {}, HttpOptions(seeded=False))


def test_nothing_is_left_to_the_servers_defaults():
    assert decoding_body(GREEDY, HttpOptions()) == {"max_tokens": 5, "temperature": 0}
    assert decoding_body(Decoding(max_new_tokens=5, num_beams=1), HttpOptions())["temperature"] == 0
    assert decoding_body(DRAWN, HttpOptions())["top_p"] == 1.0
    full = Decoding(max_new_tokens=9, min_new_tokens=2, temperature=1.0, top_k=40, top_p=0.9, stop=("\n",))
    assert decoding_body(full, HttpOptions(extended=True, limit="max_completion_tokens")) == {
        "max_completion_tokens": 9,
        "temperature": 1.0,
        "top_p": 0.9,
        "stop": ["\n"],
        "top_k": 40,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "repeat_penalty": 1.0,
        "min_tokens": 2,
    }
    assert decoding_body(DRAWN, HttpOptions(extended=True))["top_k"] == -1


def test_one_token_at_least_is_asked_of_servers_that_can_be_told():
    least = Decoding(max_new_tokens=5, min_new_tokens=1)
    assert decoding_body(least, HttpOptions()) == decoding_body(GREEDY, HttpOptions())
    assert decoding_body(least, HttpOptions(extended=True))["min_tokens"] == 1


@pytest.mark.parametrize(
    ("setting", "extended"),
    [
        ({"temperature": 1.0, "top_k": 40}, False),
        ({"min_new_tokens": 2}, False),
        ({"no_repeat_ngram_size": 3}, False),
        ({"no_repeat_ngram_size": 3}, True),
        ({"num_beams": 4}, True),
        ({"num_beams": 4, "length_penalty": 0.5}, True),
    ],
)
def test_what_a_server_would_ignore_is_refused(setting, extended):
    with pytest.raises(Unsupported, match=next(name for name in setting if name != "temperature")) as caught:
        decoding_body(Decoding(max_new_tokens=5, **setting), HttpOptions(extended=extended))
    assert "top_p" in str(caught.value) and "--decoding greedy" in str(caught.value)


def test_a_chat_holds_the_system_message_and_the_prompt():
    body = sample_body(
        "Hi", 0, GREEDY, {"max_tokens": 5}, HttpOptions(chat=True, system="Be kind.", logprobs=True)
    )
    assert body == {
        "max_tokens": 5,
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
        "logprobs": True,
    }


STOPS = Decoding(max_new_tokens=5, stop=("\n", "###"))


@pytest.mark.parametrize(
    ("choice", "decoding", "text", "finish"),
    [
        ({"text": " a", "finish_reason": "stop"}, GREEDY, " a", "end"),
        ({"text": " a", "finish_reason": "eos_token"}, GREEDY, " a", "end"),
        ({"text": " a", "finish_reason": "length"}, GREEDY, " a", "length"),
        ({"text": " a", "finish_reason": None}, GREEDY, " a", "end"),
        ({"text": "", "finish_reason": "stop"}, GREEDY, "", "end"),
        ({"text": " a", "finish_reason": "stop"}, STOPS, " a", "stop"),
        ({"text": " a", "finish_reason": "stop", "stop_reason": None}, STOPS, " a", "end"),
        ({"text": " a", "finish_reason": "stop", "stop_reason": 128001}, STOPS, " a", "end"),
        ({"text": " a", "finish_reason": "stop", "stop_reason": "###"}, STOPS, " a", "stop"),
        ({"text": " a", "finish_reason": "stop_sequence"}, STOPS, " a", "stop"),
        ({"text": " a ### b\n", "finish_reason": "length"}, STOPS, " a ", "stop"),
        ({"message": {"content": "a"}, "finish_reason": "stop"}, GREEDY, "a", "end"),
        ({"message": {"content": ""}, "finish_reason": "length"}, GREEDY, "", "length"),
        (
            {"message": {"content": [{"type": "text", "text": "a"}, {"type": "x"}]}, "finish_reason": "stop"},
            GREEDY,
            "a",
            "end",
        ),
    ],
)
def test_how_a_continuation_ended(choice, decoding, text, finish):
    written = read_written(answer(choice), decoding)
    assert (written.text, written.finish, written.error) == (text, finish, None)


@pytest.mark.parametrize(
    ("choice", "error"),
    [
        ({"text": " a", "finish_reason": "content_filter"}, ResponseError.REFUSED),
        ({"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}, ResponseError.REFUSED),
        (
            {"message": {"content": None, "tool_calls": [{}]}, "finish_reason": "tool_calls"},
            ResponseError.UNPARSABLE,
        ),
        ({"message": {"content": 3}, "finish_reason": "stop"}, ResponseError.UNPARSABLE),
        ({"message": {"content": None}, "finish_reason": "stop"}, ResponseError.UNPARSABLE),
        ({"message": {"content": None}, "finish_reason": "length"}, ResponseError.UNPARSABLE),
        ({"message": {"content": []}, "finish_reason": "stop"}, ResponseError.UNPARSABLE),
        ({"message": {"content": [1, {"type": "x"}]}, "finish_reason": "stop"}, ResponseError.UNPARSABLE),
        ({"message": {}, "finish_reason": "stop"}, ResponseError.UNPARSABLE),
        ({"text": 3, "finish_reason": "stop"}, ResponseError.UNPARSABLE),
        ({"finish_reason": "stop"}, ResponseError.UNPARSABLE),
        ({"text": " a", "finish_reason": "abort"}, ResponseError.UNPARSABLE),
        ({"text": " a", "finish_reason": ["stop"]}, ResponseError.UNPARSABLE),
        ({"text": " a", "finish_reason": {"type": "stop"}}, ResponseError.UNPARSABLE),
        ({"text": " a", "finish_reason": True}, ResponseError.UNPARSABLE),
        ({"message": ["a"], "finish_reason": "stop"}, ResponseError.UNPARSABLE),
    ],
)
def test_answers_without_a_continuation_are_error_rows(choice, error):
    written = read_written(answer(choice), GREEDY)
    assert (written.text, written.finish, written.error) == (None, None, error)
    assert written.detail


def test_a_message_without_text_at_the_token_limit_names_the_flag_that_helps():
    hidden = read_written(answer({"message": {"content": None}, "finish_reason": "length"}), GREEDY)
    assert "increase --max-new-tokens" in hidden.detail
    ended = read_written(answer({"message": {"content": None}, "finish_reason": "stop"}), GREEDY)
    assert ended.detail == "the answer contains no text"


def test_answers_that_hold_no_choice():
    for body in ({}, {"choices": []}, {"choices": None}, {"choices": ["a"]}):
        assert read_written(Answer(200, body, None, None, 1, 0.1), GREEDY).error is ResponseError.UNPARSABLE
    routed = Answer(200, {"error": {"message": "upstream is down"}}, None, None, 1, 0.1)
    assert read_written(routed, GREEDY).error is ResponseError.MODEL_ERROR
    assert "upstream is down" in read_written(routed, GREEDY).detail


def test_the_choice_of_index_0_is_read_wherever_it_stands():
    def chosen(*choices):
        return read_written(Answer(200, {"choices": list(choices)}, None, None, 1, 0.1), GREEDY)

    a, b = ({"text": text, "finish_reason": "stop"} for text in "ab")
    assert chosen({**b, "index": 1}, {**a, "index": 0}).text == "a"
    assert chosen(a).text == chosen({**a, "index": None}).text == chosen(a, b).text == "a"
    for wrong in ([{**b, "index": 1}], [b, {**a, "index": 2}], [{**b, "index": True}], [{**b, "index": "0"}]):
        assert chosen(*wrong).error is ResponseError.UNPARSABLE
        assert "index 0" in chosen(*wrong).detail


def test_tokens_of_another_text_are_an_error_row():
    def written(text, tokens, decoding=GREEDY):
        listed = {"tokens": tokens, "token_logprobs": [-1.0] * len(tokens)}
        return read_written(answer({"text": text, "finish_reason": "stop", "logprobs": listed}), decoding)

    wrong = written(" She is", [" He", " is"])
    assert (wrong.text, wrong.error) == (None, ResponseError.UNPARSABLE)
    assert "do not spell" in wrong.detail
    assert written(" He is", [" He", " is", "</s>"]).text == " He is"
    assert written(" He is", [" He", " is", "###"], STOPS).text == " He is"


def test_a_server_that_writes_past_the_limit_is_not_believed():
    written = read_written(
        answer({"text": " a" * 40, "finish_reason": "length"}, usage={"completion_tokens": 40}), GREEDY
    )
    assert written.error is ResponseError.MODEL_ERROR
    assert "40 tokens where at most 5" in written.detail


def test_tokens_are_counted_as_the_server_counts_them():
    choice = {"text": " a b", "finish_reason": "stop"}
    assert read_written(answer(choice), GREEDY).count == 0
    assert read_written(answer(choice, usage={"completion_tokens": 3}), GREEDY).count == 3
    listed = {**choice, "logprobs": {"tokens": [" a", " b"], "token_logprobs": [-1, -2.5]}}
    written = read_written(answer(listed, usage={"completion_tokens": 3}), GREEDY)
    assert (written.count, written.tokens) == (2, ((" a", -1.0), (" b", -2.5)))


@pytest.mark.parametrize(
    ("logprobs", "tokens"),
    [
        (None, None),
        ({}, None),
        ({"tokens": ["a"], "token_logprobs": None}, None),
        ({"content": None}, None),
        ({"content": [{"token": "a", "logprob": -1}]}, [("a", -1.0)]),
        ({"content": [{"token": "a", "logprob": 2e-7}]}, [("a", 0.0)]),
        ({"tokens": ["a", "b"], "token_logprobs": [-700, -0.5]}, [("a", -700.0), ("b", -0.5)]),
    ],
)
def test_log_probabilities_in_either_form_or_none(logprobs, tokens):
    assert listed_tokens({"logprobs": logprobs}) == tokens


def in_two_forms(value):
    yield {"tokens": ["a", "b"], "token_logprobs": [-1, value]}
    yield {"content": [{"token": "a", "logprob": -1}, {"token": "b", "logprob": value}]}


@pytest.mark.parametrize(
    "value", [0.5, 1, True, False, "-1", "NaN", [], {}, [-1], float("nan"), float("inf"), 10**400]
)
def test_what_no_log_probability_can_be_makes_an_error_of_its_sample(value):
    """A log probability is a number of 0 or less; all else was no answer, and its text cannot be trusted either."""
    for logprobs in in_two_forms(value):
        written = read_written(answer({"text": "ab", "finish_reason": "stop", "logprobs": logprobs}), GREEDY)
        assert (written.text, written.error) == (None, ResponseError.UNPARSABLE)
        assert "log probability" in written.detail and len(written.detail) < 200


@pytest.mark.parametrize("value", [None, -9999, -9999.0, -746, -(10**400), float("-inf")])
def test_a_likelihood_that_is_not_told_leaves_the_text(value):
    for logprobs in in_two_forms(value):
        written = read_written(answer({"text": "ab", "finish_reason": "stop", "logprobs": logprobs}), GREEDY)
        assert (written.text, written.error) == ("ab", None)
        assert np.isnan(sum(number for _, number in written.tokens))


@pytest.mark.parametrize(
    "logprobs",
    [
        3,
        [],
        "none",
        True,
        {"content": 3},
        {"content": [1, 2]},
        {"content": ["a"]},
        {"content": [{"token": "a"}, {"logprob": -1}]},
        {"tokens": ["a"], "token_logprobs": [-1, -2]},
        {"tokens": "ab", "token_logprobs": [-1, -2]},
        {"tokens": [3], "token_logprobs": [-1]},
        {"tokens": [None], "token_logprobs": [-1]},
    ],
)
def test_log_probabilities_that_are_not_a_list_of_tokens(logprobs):
    assert isinstance(listed_tokens({"logprobs": logprobs}), str)
    odd = answer({"text": "ab", "finish_reason": "stop", "logprobs": logprobs})
    assert read_written(odd, GREEDY).error is ResponseError.UNPARSABLE
    assert not is_written(odd, GREEDY)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
PLACES = st.sampled_from(
    ["text", "finish_reason", "logprobs", "message", "stop_reason", "matched_stop", "index"]
)


@drawn(
    st.dictionaries(PLACES, JSON_VALUES), st.dictionaries(st.sampled_from(["usage", "error"]), JSON_VALUES)
)
def test_no_answer_breaks_the_reading(choice, rest):
    written = read_written(answer({"text": "a", "finish_reason": "stop", **choice}, **rest), STOPS)
    assert (written.text is None) == (written.error is not None)
    assert all(np.isnan(value) or value <= 0 for _, value in written.tokens)
    assert (written.error in (None, ResponseError.REFUSED)) == is_written(
        answer({"text": "a", "finish_reason": "stop", **choice}, **rest), STOPS
    )


def test_requests_are_plain_json():
    fields = decoding_body(
        Decoding(max_new_tokens=5, temperature=1.0, stop=("\n",)), HttpOptions(extended=True)
    )
    body = sample_body("Hi", 0, DRAWN, fields, HttpOptions())
    assert json.loads(json.dumps(body)) == body


def test_token_numbers_fit_the_contract():
    assert all(0 <= token_number(token) < 2**31 for token in ("", " she", "\ud83d", "😀"))
