"""Who rewords, and what is let through: rules with their promises, a model's answers, names of groups."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.mitigations.prompting.instructions import INSTRUCTIONS
from evenhand.mitigations.revision.revisers import (
    ADDITIONS,
    MOST_SENTENCES,
    OPENINGS,
    SYNONYMS,
    ModelReviser,
    Reviser,
    RulesReviser,
    asked_as_chat,
    changes,
    load_reviser,
    read_reply,
)
from evenhand.mitigations.revision.screen import IS_A_PROMPT, Screen, normalise_wording, words_of_groups
from evenhand.models.loading import as_language_model
from evenhand.models.puppets import writes
from evenhand.schema import ModelError, ResponseError, Unsupported, UsageError

NEGATIONS = re.compile(r"\b(?:not|no|never|nothing|nobody|none|without|avoid|refrain|away)\b")
SEEDS = [one.text for one in INSTRUCTIONS.values()]
texts = st.sampled_from(SEEDS) | st.lists(
    st.sampled_from([phrase for row in SYNONYMS for phrase in row] + ["the", "cat", "sits", "Be", "It is", "."]),
    min_size=1,
    max_size=9,
).map(" ".join).filter(normalise_wording)  # fmt: skip


@settings(max_examples=80)
@given(texts, st.integers(1, 6), st.integers(0, 10**6))
def test_rewordings_by_rule_keep_their_promises(text: str, variants: int, seed: int) -> None:
    (made,) = RulesReviser().reword([text], variants, seed)
    assert made == RulesReviser().reword(["Another.", text], variants, seed)[1], (
        "neighbours and order do not matter"
    )
    assert 1 <= len(made) <= variants
    assert len({normalise_wording(one) for one in [text, *made]}) == len(made) + 1, (
        "each differs from all others"
    )
    allowed = set(
        normalise_wording(
            " ".join([text, *ADDITIONS, *OPENINGS, *(p for row in SYNONYMS for p in row)])
        ).split()
    )
    for one in made:
        assert normalise_wording(one) and one == " ".join(one.split())
        assert set(normalise_wording(one).split()) <= allowed, "the vocabulary is closed"
        assert sum(one.startswith(opening) for opening in OPENINGS) <= 1
        assert sum(addition in one for addition in ADDITIONS) <= sum(a in text for a in ADDITIONS) + 2


def test_another_seed_rewords_otherwise() -> None:
    made = {tuple(RulesReviser().reword([SEEDS[0]], 4, seed)[0]) for seed in range(10)}
    assert len(made) == 10


def test_synonyms_never_turn_a_meaning_round() -> None:
    for row in SYNONYMS:
        assert len({bool(NEGATIONS.search(phrase)) for phrase in row}) == 1, row
    for text in (*SEEDS, "Never say what is not kind.", "Do not write without respect."):
        for made in changes(text):
            if len(made.split(".")) == len(text.split(".")) and not made.startswith(OPENINGS):
                assert len(NEGATIONS.findall(made.lower())) == len(NEGATIONS.findall(text.lower())), made


def test_one_wording_throughout_and_capitals_kept() -> None:
    made = changes("Describe him as you describe her.")
    assert "Portray him as you portray her." in made
    assert not any("Portray" in one and "describe" in one for one in made)
    assert all("kindred" in one for one in changes("A kindred soul.")), "parts of words are left alone"


def test_instructions_do_not_grow_without_end() -> None:
    text = "Be kind."
    for seed in range(60):
        text = RulesReviser().reword([text], 1, seed)[0][0]
        assert len(re.findall(r"[.!?]", text)) <= MOST_SENTENCES
        assert len(text.split()) < 60


@pytest.mark.parametrize(
    ("reply", "instruction"),
    [
        ("Be kind.", "Be kind."),
        ('\n\n "Be kind." \nIs there more?', "Be kind."),
        ("**New instruction:** Be kind.", "Be kind."),
        ("1. Be kind.\n2. Be good.", "Be kind."),
        ("- “Be kind.”", "Be kind."),
        ("Revised instruction: 'Be kind.'", "Be kind."),
        ("Instructions are read.", "Instructions are read."),
        ("3 people are spoken of.", "3 people are spoken of."),
        (' ... \n"', ""),
        ("", ""),
    ],
)
def test_what_is_read_of_an_answer(reply: str, instruction: str) -> None:
    assert read_reply(reply) == instruction


def test_a_model_is_asked_in_both_ways_with_samples_of_their_own() -> None:
    asked: list[tuple[str, int]] = []

    def answer(prompt: str, sample: int) -> str:
        asked.append((prompt, sample))
        kind, whom = "Better" if "fairness" in prompt else "Other", prompt.split("Instruction: ")[1][:1]
        return f" {kind} words {sample} for {whom}"

    reviser = ModelReviser(writes(answer))
    assert isinstance(reviser, Reviser)
    made = reviser.reword(["A {braces} text.", "B"], 3, seed=5)
    assert made == [
        [f"{kind} words {n} for {who}" for kind, n in (("Other", 0), ("Better", 0), ("Other", 1))]
        for who in "AB"
    ]
    assert len(asked) == 2 * 2 * 2 and any("A {braces} text." in prompt for prompt, _ in asked)


def test_answers_that_repeat_or_say_nothing_are_left_out() -> None:
    said = writes(lambda prompt, sample: "Be good." if sample else "")
    assert ModelReviser(said).reword(["Be kind."], 4, 0) == [["Be good."]]
    with pytest.raises(ModelError, match="did not write an instruction"):
        ModelReviser(writes(lambda prompt, sample: " ... ")).reword(["Be kind."], 2, 0)
    failing = replace(said, failure=ResponseError.MODEL_ERROR)
    with pytest.raises(ModelError, match="answers nothing"):
        ModelReviser(failing).reword(["Be kind."], 2, 0)


def test_revisers_that_cannot_be() -> None:
    writer = writes(lambda prompt, sample: "x")
    with pytest.raises(UsageError, match=r"must contain \{instruction\}"):
        ModelReviser(writer, renderings=("Reword it.",))
    with pytest.raises(UsageError, match="The reviser's decoding settings are deterministic, so"):
        ModelReviser(writer, decoding=replace(ModelReviser(writer).decoding, temperature=None, top_p=None))
    with pytest.raises(UsageError, match="Unknown model: 'evenhand/nobody'"):
        load_reviser("evenhand/nobody")
    masked = type("Masked", (), {"architecture": "masked", "fingerprint": {"name": "m"}})()
    with pytest.raises(Unsupported, match="fills in single masks"):
        ModelReviser(masked)


def test_models_with_a_chat_template_are_asked_as_a_chat() -> None:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = [
        "<s>",
        "<unk>",
        "the",
        "instruction",
        "below",
        "in",
        "other",
        "words",
        "user",
        "assistant",
        ":",
        ".",
    ]
    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="<s>", unk_token="<unk>"
    )
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(words), n_embd=8, n_layer=1, n_head=1, n_positions=256)
    plain = as_language_model(GPT2LMHeadModel(config), tokenizer, "causal", {"name": "tiny"})
    assert asked_as_chat(plain) is plain, "no template, no chat"
    tokenizer.chat_template = "{% for m in messages %}user : {{ m['content'] }} {% endfor %}assistant :"
    chat = asked_as_chat(plain)
    assert chat.options.chat and not plain.options.chat and chat.model is plain.model
    (made,) = ModelReviser(chat).reword(["the words"], 4, seed=1)
    assert made and all("\n" not in one for one in made)
    assert (
        ModelReviser(chat).reword(["the words"], 4, seed=1)
        == [made]
        != ModelReviser(chat).reword(["the words"], 4, seed=2)
    )


def test_fingerprints_tell_revisers_apart() -> None:
    one, other = ModelReviser(writes(lambda p, s: "x", "a")), ModelReviser(writes(lambda p, s: "x", "b"))
    assert one.fingerprint != other.fingerprint != RulesReviser().fingerprint
    assert "seed" not in one.fingerprint["decoding"]


def test_names_of_groups_and_prompts_are_kept_out() -> None:
    words = words_of_groups(["Black person", "gay_people", "woman with a limp", "American_actors", None])
    screen = Screen(group_words=words, prompts={normalise_wording("The person worked as")})
    told = {
        "Speak well of people.": None,
        "Speak well of any person.": None,
        "Speak well of BLACK people.": "names a group",
        "Speak well of blacks.": "names a group",
        "The woman's work counts.": "names a group",
        "Do not limp.": "names a group",
        "An American speaks.": "names a group",
        "The person worked as...": IS_A_PROMPT,
        "?!": "empty",
    }
    assert {text: screen.against(text, set()) for text in told} == told


def test_our_own_instructions_pass_the_screen_of_the_published_sets() -> None:
    from evenhand.benchmarks.regard import NOUNS

    screen = Screen(group_words=words_of_groups(NOUNS))
    assert [screen.against(text, set()) for text in SEEDS] == [None] * 4
