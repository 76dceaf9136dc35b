"""The embedded model in numpy against the engine in torch: one fingerprint, one set of numbers."""

from typing import Any

import numpy as np
import pytest

from evenhand.models import Decoding, LanguageModel, TextGenerator, Texts
from evenhand.models.dialogue import DialogueOptions, dialogue_model
from evenhand.models.huggingface import CausalOptions
from evenhand.reference.embedded import WEIGHTS, load_reference
from evenhand.reference.in_numpy import NumpyModel
from evenhand.reference.worlds import planted_world
from evenhand.schema import HuggingFaceMissing, Unsupported, UsageError

NAME = "evenhand/reference"
SAID = planted_world().sample(40, seed=3)
ODD = ["", " ", "the" * 400, "Zwölf 漢字 & 🙂", "a"]


@pytest.fixture(scope="module")
def torch_model() -> Any:
    return load_reference(device="cpu")


@pytest.fixture(scope="module")
def model() -> NumpyModel:
    return NumpyModel(WEIGHTS, NAME)


def test_both_have_one_fingerprint_so_that_a_run_goes_on_with_either(
    model: NumpyModel, torch_model: Any
) -> None:
    assert model.fingerprint == torch_model.fingerprint
    assert isinstance(model, LanguageModel)
    assert isinstance(model, TextGenerator)
    said, other = model.describe(), torch_model.describe()
    same = ("architecture", "family", "parameters", "device", "scoring", "first_token_predicted_from")
    assert {key: said[key] for key in same} == {key: other[key] for key in same}
    assert said["computed_by"].startswith("numpy")  # and the manifest says which of them computed


@pytest.mark.parametrize(
    "asked",
    [
        Texts(SAID + ODD, want_starts=True),
        Texts(SAID, contexts=[*SAID[1:], None]),
        Texts(SAID, spans=[(2, 9)] * 40),
        Texts(SAID, contexts=["He"] * 40, spaced=False),
        Texts(SAID + ODD, start_token="first"),
        Texts(SAID, start_token="tokenizer"),
    ],
    ids=["plain", "contexts", "spans", "unspaced", "first", "tokenizer"],
)
def test_likelihoods_are_those_of_torch(asked: Texts, model: NumpyModel, torch_model: Any) -> None:
    found, truth = model.log_likelihoods(asked), torch_model.log_likelihoods(asked)
    np.testing.assert_allclose(found.log_probs, truth.log_probs, rtol=1e-5, atol=1e-5)
    for name in ("offsets", "token_ids", "starts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(truth, name))
    assert (found.errors, found.details) == (truth.errors, truth.details)


def test_options_of_scoring_are_those_of_any_causal_model(torch_model: Any) -> None:
    from evenhand.models import as_language_model

    options = CausalOptions(start="none", end=True, batch_tokens=64)
    found = NumpyModel(WEIGHTS, NAME, options)
    truth = as_language_model(
        torch_model.model, torch_model.tokenizer, "causal", torch_model.identity, options
    )
    assert found.fingerprint == truth.fingerprint
    both = [one.log_likelihoods(SAID).log_probs for one in (found, truth)]
    np.testing.assert_allclose(*both, rtol=1e-5, atol=1e-5)
    assert found.budget.batches > 1


def test_texts_do_not_depend_on_their_batch(model: NumpyModel) -> None:
    together = model.log_likelihoods(SAID).sums
    alone = [float(model.log_likelihoods([text]).sums[0]) for text in SAID[:5]]
    np.testing.assert_allclose(together[:5], alone, rtol=1e-6)


def test_what_it_cannot_do_is_said(model: NumpyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unsupported, match="no mask token"):
        model.log_likelihoods(Texts(["He"], masking="token"))
    with pytest.raises(Unsupported, match="True requires a chat template, but this tokenizer has"):
        NumpyModel(WEIGHTS, NAME, CausalOptions(chat=True))
    with pytest.raises(UsageError, match="CausalOptions"):
        NumpyModel(WEIGHTS, NAME, object())  # type: ignore[arg-type]
    monkeypatch.setattr("evenhand.weights.extra.find_spec", lambda name: None)
    with pytest.raises(HuggingFaceMissing, match="beams in evenhand/reference needs torch and transformers"):
        model.generate(["He"], Decoding(max_new_tokens=2, num_beams=2))


def test_replies_are_those_of_torch(model: NumpyModel, torch_model: Any) -> None:
    rule = Decoding(max_new_tokens=6, temperature=1.0, seed=2)
    ids = [torch_model.tokenizer(text)["input_ids"] for text in SAID[:6]]
    found, truth = (one.generate_ids(ids, SAID[:6], rule) for one in (model, torch_model))
    assert found.texts == truth.texts
    facts = [dialogue_model(one, DialogueOptions()).facts for one in (model, torch_model)]
    assert facts[0] == facts[1]
