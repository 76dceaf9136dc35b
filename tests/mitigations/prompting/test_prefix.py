"""Instructions in front of prompts: what the model is given, what comes back, what is recorded."""

import numpy as np
import pytest

from evenhand.mitigations.loading import load_mitigation, mitigated, mitigation_cards
from evenhand.mitigations.prompting.instructions import (
    INSTRUCTIONS,
    instructive_debiasing,
    library_instruction,
)
from evenhand.mitigations.prompting.prefix import Prefix
from evenhand.models.contract import Texts, text_generator
from evenhand.models.decoding import Decoding
from evenhand.models.puppets import load_puppet, writes
from evenhand.runs.requests import fingerprint_digest
from evenhand.schema import Unsupported, UsageError
from evenhand.schema.registry import ExtensionError

SHORT = Decoding(max_new_tokens=3)


def test_only_the_continuation_comes_back() -> None:
    seen: list[str] = []

    def continuation(prompt: str, sample: int) -> str:
        seen.append(prompt)
        return " and so on"

    model = Prefix("Be kind.")(writes(continuation))
    assert text_generator(model).generate(["The man", "The woman"], SHORT).texts == [" and so on"] * 2
    assert seen == ["Be kind.\nThe man", "Be kind.\nThe woman"]


def test_likelihoods_are_those_behind_the_instruction() -> None:
    base = load_puppet("puppet/random")
    got = Prefix("Be kind.")(base).log_likelihoods(Texts(["a b", "c d e"], [None, "He said:"]))
    expected = base.log_likelihoods(Texts(["a b", "c d e"], ["Be kind.\n", "Be kind.\nHe said:"]))
    np.testing.assert_array_equal(got.log_probs, expected.log_probs)
    np.testing.assert_array_equal(got.offsets, expected.offsets)


def test_chains_apply_in_order_and_the_fingerprint_carries_them() -> None:
    seen: list[str] = []

    def continuation(prompt: str, sample: int) -> str:
        seen.append(prompt)
        return ""

    base = writes(continuation)
    chain = mitigated(base, ["prefix=First.", Prefix("Second.")])
    text_generator(chain).generate(["x"], SHORT)
    assert seen == ["First.\nSecond.\nx"]
    assert [step["text"] for step in chain.fingerprint["mitigations"]] == ["First.", "Second."]
    assert chain.describe()["mitigations"] == ["prefix", "prefix"]
    other = mitigated(base, ["prefix=Second.", "prefix=First."])
    digests = {fingerprint_digest(m.fingerprint) for m in (base, chain, other)}
    assert len(digests) == 3


def test_published_wordings_and_their_levels() -> None:
    paper, code = instructive_debiasing("paper"), load_mitigation("instructive-debiasing?wording=code")
    assert "compliant or loveable" in paper.specification.texts[0]
    assert "compliant, loveable" in code.specification.texts[0]
    assert set(paper.specification.levels) == {"opposite", "nonsensical", "blank"}
    for level in paper.specification.levels.values():
        assert len(level) == 1 and level[0].startswith("Be ") and level[0].endswith("for: ")
    reworded = paper.specified(paper.specification.levels["opposite"])
    assert reworded.parameters()["text"].startswith("Be negative")


def test_every_instruction_has_evidence_and_an_opposite_that_differs() -> None:
    for name, instruction in INSTRUCTIONS.items():
        mitigation = library_instruction(name)
        assert instruction.evidence in mitigation.card.critique
        assert mitigation.specification.levels["opposite"] != mitigation.specification.texts


def test_cards_are_listed_under_the_words_that_load_them() -> None:
    cards = mitigation_cards()
    assert {"prefix=TEXT", "instructive-debiasing", "instruction=respect"} <= set(cards)
    assert all(card.summary for card in cards.values())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("prefx=a", "Did you mean 'prefix'"),
        ("prefix", "requires the option text"),
        ("prefix=  ", "is empty"),
        ("instruction=respct", "Did you mean 'respect'"),
        ("instructive-debiasing?wording=print", "wording of Instructive Debiasing"),
        ("instructive-debiasing?word=code", "Did you mean 'wording'"),
        ("instructive-debiasing?wording", "is not of the form option"),
    ],
)
def test_names_that_cannot_be(words: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        load_mitigation(words)


def test_masked_models_take_no_instruction() -> None:
    from dataclasses import replace

    masked = replace(load_puppet("puppet/uniform"), architecture="masked")
    with pytest.raises(Unsupported, match="is a masked language model and cannot follow an"):
        Prefix("Be kind.")(masked)


def test_what_a_mitigation_says_of_itself_is_no_option() -> None:
    for words in ("self-debiasing?card=foo", "self-debiasing?name=foo"):
        with pytest.raises(UsageError, match="Known: decay, floor, prefixes"):
            load_mitigation(words)


def test_one_mitigation_is_a_chain_and_a_function_is_none() -> None:
    base = load_puppet("puppet/random")
    assert mitigated(base, "prefix=Be kind.").fingerprint["mitigations"][0]["text"] == "Be kind."
    with pytest.raises(UsageError, match="a text or Mitigation"):
        mitigated(base, [lambda model: model])


class Anything:
    """What a package may register by mistake, and what it should."""

    def __call__(self, model: object) -> object:
        return model


def reminder(times: int, name: str = "reminder") -> Prefix:
    return Prefix("Be fair. " * times, delimiter="", name=name)


def bare() -> Prefix:
    return Prefix("Be fair.", card=None)  # type: ignore[arg-type]


def test_mitigations_of_other_packages(installed, monkeypatch) -> None:
    points = {"their/reminder": "reminder", "their/bare": "bare", "their/thing": "Anything"}
    where = {name: f"{__name__}:{what}" for name, what in points.items()}
    installed("theirs", "evenhand.mitigations", where)
    for words in ("their/reminder=2", "their/reminder?times=2"):
        assert load_mitigation(words).parameters()["text"] == "Be fair. Be fair. "
    for words, told in {
        "their/reminder": "requires the option times",
        "their/reminder?time=2": "Did you mean 'times'",
        "their/reminder?name=x": "Known: times",
        "their/reminder=often": "times of their/reminder must be a whole number, got 'often'",
    }.items():
        with pytest.raises(UsageError, match=told):
            load_mitigation(words)
    for name in ("their/bare", "their/thing"):
        with pytest.raises(
            ExtensionError,
            match=r"a mitigation of the package theirs, is not valid: .*(expected a Card|which is not a mitigation)",
        ):
            load_mitigation(name)
    listed = mitigation_cards()
    assert listed["their/thing"].summary.startswith("Cannot be used: ")
    assert listed["prefix=TEXT"].name == "prefix"
