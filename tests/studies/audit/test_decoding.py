"""How continuations are written: published settings by family, the user's own, and what contradicts itself."""

import pytest

from evenhand.benchmarks.contract import Conversation, Generation
from evenhand.models.decoding import PRESETS, Decoding
from evenhand.models.puppets import writes
from evenhand.schema import UsageError
from evenhand.studies.audit.decoding import (
    choose_decoding,
    choose_reply_decoding,
    describe_decoding,
    model_family,
)
from evenhand.studies.audit.options import AuditConfig, read_config

ASKED = Generation(max_new_tokens=30, samples=4, min_new_tokens=2, no_repeat_ngram_size=3)
GREEDY = {"temperature": None, "top_k": None, "top_p": None}
# ROBBIE's appendix: GPT-2 and BLOOM at 0.7 with top-k 40; OPT, BB3 and LLaMa at 1.0 with top-p 0.9
BY_FAMILY = {
    "gpt2": {"temperature": 0.7, "top_k": 40, "top_p": None},
    "bloom": {"temperature": 0.7, "top_k": 40, "top_p": None},
    "opt": {"temperature": 1.0, "top_k": None, "top_p": 0.9},
    "llama": {"temperature": 1.0, "top_k": None, "top_p": 0.9},
}


class Model:
    """States a family in its description or its fingerprint."""

    architecture = "causal"

    def __init__(self, described=None, printed=None):
        self.fingerprint = {"name": "m", **({"model_type": printed} if printed else {})}
        self.described = {"family": described} if described else {}

    def describe(self):
        return self.described


def chosen(model=None, **options):
    return choose_decoding(ASKED, AuditConfig(model="m", **options), model or writes(lambda p, s: ""))


def settings(decoding: Decoding) -> dict:
    return {name: getattr(decoding, name) for name in GREEDY}


@pytest.mark.parametrize("family", BY_FAMILY)
def test_auto_takes_what_was_published_for_the_models_family(family):
    for model in (Model(described=family), Model(printed=family)):
        found = chosen(model)
        assert settings(found.decoding) == BY_FAMILY[family]
        assert f"the model's family, {family}" in found.reason
    assert settings(chosen(decoding=family).decoding) == BY_FAMILY[family], "by name, whatever the model"


@pytest.mark.parametrize(
    ("family", "told"), [("mamba", "its family, mamba, has no"), (None, "states no family")]
)
def test_other_families_are_written_as_llama_and_opt_and_the_reason_is_given(family, told):
    found = chosen(Model(described=family))
    assert settings(found.decoding) == BY_FAMILY["opt"]
    assert told in found.reason and "LLaMa and OPT" in found.reason
    assert model_family(Model(described=family)) == family


def test_the_benchmark_says_the_rest_and_the_seed_is_the_audits():
    decoding = chosen(seed=7).decoding
    assert (decoding.max_new_tokens, decoding.samples, decoding.seed) == (30, 4, 7)
    assert (decoding.min_new_tokens, decoding.no_repeat_ngram_size) == (2, 3)


def test_single_settings_of_the_user_win_and_are_told():
    found = chosen(Model(described="gpt2"), top_p=0.5, temperature=0.9, samples=9, max_new_tokens=11)
    assert settings(found.decoding) == {"temperature": 0.9, "top_k": 40, "top_p": 0.5}
    assert (found.decoding.samples, found.decoding.max_new_tokens) == (9, 11)
    assert "temperature 0.9 as given; top_p 0.5 as given" in found.reason
    assert settings(chosen(Model(described="gpt2"), top_k=0).decoding)["top_k"] is None, "0: no filter"
    assert settings(chosen(Model(described="opt"), top_p=1.0).decoding)["top_p"] is None, "1: no filter"


def test_greedy_writes_one_text_and_says_so():
    found = chosen(decoding="greedy")
    assert settings(found.decoding) == GREEDY and found.decoding.samples == 1
    assert "one continuation instead of 4" in found.reason
    assert chosen(decoding="greedy", samples=1).decoding.is_greedy


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"decoding": "greedy", "samples": 3},
            "`--samples 3` has no effect: greedy decoding writes the same",
        ),
        (
            {"decoding": "greedy", "temperature": 0.5},
            "Greedy decoding does not sample, so it cannot be combined with",
        ),
        ({"max_new_tokens": 1}, r"`--min-new-tokens` \(2\) is larger than `--max-new-tokens` \(1\)"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(options, told):
    with pytest.raises(UsageError, match=told) as caught:
        chosen(**options)
    assert caught.value.hint


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="unknown value 'beam'; expected one") as caught:
        read_config(None, ["decoding=beam"], {"model": "m"})
    assert all(family in str(caught.value) for family in PRESETS)


def test_a_decoding_in_words():
    told = describe_decoding(chosen(Model(described="gpt2")).decoding)
    assert told == "temperature 0.7, top-k 40, 2 to 30 tokens, no repeated 3-gram, 4 samples a prompt"
    assert describe_decoding(Decoding(max_new_tokens=5)) == "greedy, up to 5 tokens"
    blocked = Decoding(max_new_tokens=5, no_repeat_ngram_size=3, no_repeat_ngram_in="context")
    assert describe_decoding(blocked) == "greedy, up to 5 tokens, no repeated 3-gram nor one of the context"


PUBLISHED = {
    "num_beams": 10,
    "min_new_tokens": 20,
    "no_repeat_ngram_size": 3,
    "no_repeat_ngram_in": "context",
    "length_penalty": 0.65,
}
DRAWN_AS_GPT2 = {"num_beams": None, "min_new_tokens": 1, **BY_FAMILY["gpt2"]}


@pytest.mark.parametrize(
    ("asked", "options", "expected"),
    [
        ({}, {}, PUBLISHED),
        ({"decoding": "greedy"}, {}, {**GREEDY, "min_new_tokens": 1, "num_beams": None}),
        ({"decoding": "greedy"}, {"decoding": "published"}, PUBLISHED),
        ({"decoding": "greedy"}, {"num_beams": 4}, {**PUBLISHED, "num_beams": 4}),
        ({}, {"decoding": "sampling"}, DRAWN_AS_GPT2),
        ({}, {"decoding": "gpt2"}, DRAWN_AS_GPT2),
        ({}, {"decoding": "opt"}, BY_FAMILY["opt"]),
        ({}, {"top_k": 5}, {**DRAWN_AS_GPT2, "top_k": 5}),
        ({"min_new_tokens": 3, "max_new_tokens": 7}, {}, {"min_new_tokens": 3, "max_new_tokens": 7}),
        ({}, {"max_new_tokens": 30}, {"max_new_tokens": 30}),
    ],
)
def test_replies_are_written_by_the_presets_of_self_chats(asked, options, expected):
    config = AuditConfig(model="m", seed=5, **options)
    found = choose_reply_decoding(Conversation(**asked), config, Model(described="gpt2"))
    assert {name: getattr(found.decoding, name) for name in expected} == expected
    assert found.decoding.seed == 5 and found.decoding.samples == 1 and found.reason


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"temperature": 1.0, "top_p": 1.0}, "drawn; temperature 1.0 as given; top_p 1.0 as given"),
        ({}, "drawn; temperature 1.0 and top_p 0.9 by default"),
    ],
)
def test_of_drawn_replies_is_told_what_was_given_and_what_was_not(options, told):
    config = AuditConfig(model="m", decoding="sampling", **options)
    assert choose_reply_decoding(Conversation(), config, Model(described="conversing world")).reason == told


@pytest.mark.parametrize(
    ("longest", "options", "expected"),
    [
        (64, {}, 32),
        (65, {}, 32),
        (32, {}, 20),  # which is the least as published
        (32, {"decoding": "greedy"}, 16),
        (120, {}, 60),
        (None, {}, 60),
        (64, {"max_new_tokens": 50}, 50),
    ],
)
def test_a_reply_leaves_half_of_a_small_model_to_what_it_replies_to(longest, options, expected):
    model = Model(described="gpt2")
    model.longest = longest
    found = choose_reply_decoding(Conversation(), AuditConfig(model="m", **options), model)
    assert found.decoding.max_new_tokens == expected
    assert ("the model reads" in found.reason) == (expected not in (50, 60))
    model.architecture = "encoder-decoder"  # reads and writes in different places
    found = choose_reply_decoding(Conversation(), AuditConfig(model="m", **options), model)
    assert found.decoding.max_new_tokens == options.get("max_new_tokens", 60)
