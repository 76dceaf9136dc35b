"""Echoed log probabilities: where tokens stand, which are scored, and which servers are not believed."""

import math

import pytest

from evenhand.models.contract import Texts
from evenhand.models.served.model import HttpModel, HttpOptions
from evenhand.models.served.scoring import read_scored
from evenhand.schema import ResponseError, Unsupported
from evenhand.services.client import Answer

NAN = float("nan")
TEXTS = [
    "she is kind .",
    "he was a rude person",
    "they",
    " they is",
    "an unknown wörd 😀 is a thing.",
    "",
    " \n",
    "she is kind .",
]


@pytest.fixture
def scorer(loopback, bigram):
    """A function that serves a bigram model with faults: (model, server)."""
    open_servers = []

    def serve(*faults, **options):
        server = loopback.LoopbackServer(bigram.BigramService(*faults)).__enter__()
        open_servers.append(server)
        given = {"store": None, "pause": 0.001, "start": "", **options}
        return HttpModel(f"{server.url}/v1", bigram.NAME, HttpOptions(**given)), server

    yield serve
    for server in open_servers:
        server.__exit__()


@pytest.mark.parametrize("faults", [(), ("wants one",), ("begins",)])
def test_likelihoods_are_the_models_own(scorer, bigram, faults):
    model, _ = scorer(*faults)
    found = model.log_likelihoods(Texts(TEXTS, want_starts=True))
    assert found.errors == [None, None, *_short(faults), None, None, *[ResponseError.EMPTY_TEXT] * 2, None]
    at = 0
    for i, text in enumerate(TEXTS):
        if found.errors[i] is not None:
            assert found.counts[i] == 0
            continue
        exact = bigram.log_probs(text)
        tokens = bigram.words(text)
        if "begins" in faults:
            exact = [-2.5, *exact]
        else:
            tokens = tokens[1:]
        assert found.row(i) == pytest.approx(exact, abs=1e-6)
        starts = found.starts[found.offsets[i] : found.offsets[i + 1]]
        assert [
            text[start : start + len(token)] for start, token in zip(starts, tokens, strict=True)
        ] == tokens
        at += len(tokens)
    assert at == len(found.log_probs) == len(found.token_ids)
    assert found.sums[0] == found.sums[-1]


def _short(faults):
    """One token and nothing in front of it."""
    return [None] if "begins" in faults else [ResponseError.NO_SCORED_TOKEN]


def test_contexts_and_spans(scorer, bigram):
    model, _ = scorer()
    text, context = "they is kind and old", "she was rude ."
    whole = bigram.log_probs(f"{context} {text}")
    behind = model.log_likelihoods(Texts([text, text], [context, None]))
    assert behind.row(0) == pytest.approx(whole[-5:], abs=1e-6)
    assert behind.row(1) == pytest.approx(bigram.log_probs(text), abs=1e-6)
    span = (text.index("kind"), text.index("kind") + 4)
    within = model.log_likelihoods(Texts([text, text], [context, None], spans=[span, None], want_starts=True))
    assert within.row(0) == pytest.approx(whole[-3:-2], abs=1e-6)
    assert within.starts.tolist()[0] == span[0] - 1  # the token begins with its space
    assert within.counts.tolist() == [1, 4]


def test_a_start_gives_the_first_token_something_to_follow(scorer, bigram):
    model, _ = scorer(start=".")
    assert model.log_likelihoods([" they is"]).row(0) == pytest.approx(
        bigram.log_probs(". they is"), abs=1e-6
    )
    assert model.fingerprint["start"] == "."


def test_texts_a_server_refuses_are_error_rows(scorer):
    model, _ = scorer()
    found = model.log_likelihoods(["she is kind", "is " * 300, "a forbidden thing", "she is old"])
    assert found.errors == [None, ResponseError.TOO_LONG, ResponseError.REFUSED, None]
    assert "maximum context length" in found.details[1]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("shifted", "off by one token"),
        ("no echo", "does not echo"),
        ("no logprobs", "The likelihoods of the server of"),
        ("greedy is certain", "some servers are off by one token"),
    ],
)
def test_servers_whose_likelihoods_are_wrong_are_refused(scorer, fault, reason):
    model, server = scorer(fault)
    with pytest.raises(Unsupported, match=reason):
        model.log_likelihoods(["she is kind"])
    asked = len(server.asked)
    assert all(request.body.get("prompt") != "she is kind" for request in server.asked)
    assert asked <= 14


def test_a_right_server_is_checked_once(scorer):
    model, server = scorer()
    model.log_likelihoods(["she is kind"])
    asked = len(server.asked)
    model.log_likelihoods(["he is kind"])
    assert len(server.asked) == asked + 1
    assert model.describe()["scoring"] == "echoed log probabilities, checked"


def test_a_chat_and_a_mask_cannot_be_scored(scorer):
    with pytest.raises(Unsupported, match="is used in chat mode, which gives no likelihoods of"):
        scorer(chat=True)[0].log_likelihoods(["she is kind"])
    with pytest.raises(Unsupported, match="no mask token"):
        scorer()[0].log_likelihoods(Texts(["she is kind"], masking="token"))


def test_a_token_over_the_boundary_counts_as_the_texts():
    body = {
        "choices": [
            {"text": "", "logprobs": {"tokens": ["ab", "cd", "ef"], "token_logprobs": [None, -1.0, -2.0]}}
        ]
    }
    answer = Answer(200, body, None, None, 1, 0.1)
    assert read_scored(answer, "abcdef", 3, None).starts == (0, 1)
    assert read_scored(answer, "abcdef", 4, None).log_probs == (-2.0,)
    assert read_scored(answer, "abcdef", 0, (0, 2)).error is ResponseError.NO_SCORED_TOKEN
    assert read_scored(answer, "abcdefg", 0, None).error is ResponseError.UNPARSABLE


def test_a_missing_or_infinite_value_spoils_its_row():
    for value in (None, -math.inf, -9999, -9999.0, -746.0):
        listed = {"tokens": ["a", "b", "c"], "token_logprobs": [None, -1.0, value]}
        answer = Answer(200, {"choices": [{"logprobs": listed}]}, None, None, 1, 0.1)
        assert read_scored(answer, "abc", 0, None).error is ResponseError.NOT_FINITE
        assert read_scored(answer, "abc", 0, (1, 2)).log_probs == (-1.0,)


@pytest.mark.parametrize("value", [0.5, 1, True, False, "-1.5", "", NAN, math.inf, [], {}, 10**400])
def test_what_no_log_probability_can_be_is_an_error(value):
    """A probability is at most 1, so its logarithm is a number of 0 or less."""
    listed = {"tokens": ["a", "b", "c"], "token_logprobs": [None, -1.0, value]}
    answer = Answer(200, {"choices": [{"logprobs": listed}]}, None, None, 1, 0.1)
    scored = read_scored(answer, "abc", 0, None)
    assert (scored.error, scored.log_probs) == (ResponseError.UNPARSABLE, ())
    assert "'c'" in scored.detail


def test_the_first_token_may_be_told_in_any_way_to_have_no_value_and_a_certain_one_is_not_above_0():
    for nothing in (None, NAN, -9999.0):
        listed = {"tokens": ["a", "b", "c"], "token_logprobs": [nothing, 1e-6, -1.0]}
        answer = Answer(200, {"choices": [{"logprobs": listed}]}, None, None, 1, 0.1)
        assert read_scored(answer, "abc", 0, None).log_probs == (0.0, -1.0)


@pytest.mark.parametrize("value", [0.5, True, "-1", -9999.0, NAN])
def test_one_impossible_likelihood_spoils_one_text_and_is_not_kept(loopback, bigram, tmp_path, value):
    spoilt = {"yes": True}

    def odd(asked):
        status, said = bigram.BigramService()(asked)
        if asked.body.get("prompt") == "he was rude" and spoilt["yes"]:
            said["choices"][0]["logprobs"]["token_logprobs"][1] = value
        return status, said

    texts = ["she is kind", "he was rude", "they was old"]
    with loopback.LoopbackServer(odd) as server:
        options = HttpOptions(store=str(tmp_path / "answers.sqlite"), pause=0.001, concurrency=1)
        model = HttpModel(f"{server.url}/v1", bigram.NAME, options)
        found = model.log_likelihoods(texts)
        assert found.errors[0] is found.errors[2] is None
        assert found.errors[1] in (ResponseError.UNPARSABLE, ResponseError.NOT_FINITE)
        spoilt["yes"] = False
        again = model.log_likelihoods(texts)
        assert again.errors == [None] * 3
        assert again.row(1) == pytest.approx(bigram.log_probs("he was rude"), abs=1e-6)
        asked = [request.body.get("prompt") for request in server.asked]
        assert [asked.count(text) for text in texts] == [1, 2, 1]


class WeightsService:
    """Echoes what a Hugging Face model gives in plain forward passes, with tokens as servers show them."""

    def __init__(self, folder):
        import transformers

        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def __call__(self, asked):
        import torch

        body = asked.body
        ids = self.tokenizer(body["prompt"], add_special_tokens=False)["input_ids"]
        given = len(ids)
        with torch.inference_mode():
            while len(ids) < given + body["max_tokens"]:
                ids.append(int(self.model(torch.tensor([ids])).logits[0, -1].argmax()))
            log_probs = self.model(torch.tensor([ids])).logits[0].log_softmax(-1)
        values = [None, *(float(log_probs[k, token]) for k, token in enumerate(ids[1:]))]
        first = 0 if body.get("echo") else given
        shown = [self.tokenizer.decode([token]) for token in ids[first:]]
        choice = {
            "text": self.tokenizer.decode(ids[first:]),
            "finish_reason": "length",
            "logprobs": {"tokens": shown, "token_logprobs": values[first:]},
        }
        return 200, {"model": body["model"], "choices": [choice]}


def test_a_server_and_its_weights_loaded_here_agree(loopback, tiny_folder, sentences):
    """Real tokens, some of them parts of characters; contexts, spans and places as the causal backend has them."""
    from evenhand.models.huggingface.causal import CausalOptions
    from evenhand.models.loading import load_model

    folder = tiny_folder("gpt2")
    here = load_model(str(folder), device="cpu", options=CausalOptions(start="none"))
    texts = [*sentences, "日本 é", "😀 she"]
    contexts = [None if i % 2 else "Well, é" for i in range(len(texts))]
    spans = [None if i % 3 else (2, 5) for i in range(len(texts))]
    with loopback.LoopbackServer(WeightsService(folder)) as server:
        there = HttpModel(f"{server.url}/v1", "m", HttpOptions(store=None, concurrency=2))
        for given in ({}, {"contexts": contexts}, {"contexts": contexts, "spans": spans}):
            near = here.log_likelihoods(Texts(texts, **given, want_starts=True))
            far = there.log_likelihoods(Texts(texts, **given, want_starts=True))
            assert far.errors == near.errors
            assert far.counts.tolist() == near.counts.tolist()
            assert far.log_probs == pytest.approx(near.log_probs, abs=1e-4)
            whole = [
                text.isascii() for text, count in zip(texts, near.counts, strict=True) for _ in range(count)
            ]
            assert far.starts[whole].tolist() == near.starts[whole].tolist()
