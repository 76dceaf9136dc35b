"""Which way of keeping rows a model gets, against plain passes and Hugging Face's `generate`."""

from typing import Any

import pytest
import torch

from evenhand.models.contract import Texts
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.causal import CausalModel
from evenhand.models.loading import as_language_model
from evenhand.models.writing.state import CausalState
from evenhand.models.writing.steering import Steering
from evenhand.models.writing.uncached import OwnCacheState, UncachedState
from evenhand.models.writing.ways import Ways
from evenhand.models.writing.writer import Writer
from evenhand.schema import Unsupported
from evenhand.weights import FastLayers

PROMPTS = ["I love old", "My neighbour is a kind person who is", "Hi.", "I love older men and"]


def causal(architectures: Any, name: str, dtype: torch.dtype = torch.float32, **settings: Any) -> CausalModel:
    network = architectures.build(name, **settings).to(dtype)
    return CausalModel(network, architectures.tokenizer(False), {"name": name})


def searched(model: CausalModel, prompt: str, beams: int, new: int) -> list[int]:
    # without a cache: MiniMax's own does not follow its beams
    ids = torch.tensor([model.tokenizer(prompt)["input_ids"]])
    with torch.inference_mode():
        written = model.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            num_beams=beams,
            do_sample=False,
            max_new_tokens=new,
            use_cache=False,
        )
    found: list[int] = written[0, ids.shape[1] :].tolist()
    return found


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("mamba", OwnCacheState),
        pytest.param("jamba", OwnCacheState, marks=pytest.mark.slow),
        pytest.param("minimax", UncachedState, marks=pytest.mark.slow),
    ],
)
def test_beams_are_hugging_faces(architectures: Any, name: str, state: type) -> None:
    model = causal(architectures, name)
    assert isinstance(model.writer.state, state)
    answers = model.generate(PROMPTS, Decoding(max_new_tokens=8, num_beams=3))
    for i, prompt in enumerate(PROMPTS):
        assert answers.row(i).tolist() == searched(model, prompt, 3, 8)
    told = model.describe()["generation"]
    assert told["rows_kept_in"] == model.writer.state.name != "keys and values"


@pytest.mark.parametrize("name", ["openai-gpt", pytest.param("falcon_h1", marks=pytest.mark.slow)])
def test_samples_depend_on_nothing_but_seed_prompt_and_number(architectures: Any, name: str) -> None:
    model = causal(architectures, name)
    rule = Decoding(max_new_tokens=8, temperature=1.2, samples=3, seed=4, stop=("e",))
    whole = model.generate(PROMPTS, rule)
    model.writer.budget.tokens = 60  # a batch now holds a few continuations
    few = model.generate(PROMPTS[::-1], rule)
    rows = [whole.row(i).tolist() for i in range(len(whole))]
    again = [few.row(i).tolist() for i in range(len(few))]
    assert rows == [row for k in range(len(PROMPTS)) for row in again[-3 - 3 * k : len(again) - 3 * k]]
    assert len({len(row) for row in rows}) > 2  # they end at their own times


def test_a_16_bit_hybrid_writes_as_plain_passes_do(architectures: Any) -> None:
    model = causal(architectures, "lfm2", torch.bfloat16)
    assert isinstance(model.writer.state, OwnCacheState)
    ids = model.tokenizer(PROMPTS[1])["input_ids"]
    with torch.inference_mode():
        first = int(model.model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax())
    assert model.generate([PROMPTS[1]], Decoding(max_new_tokens=3)).row(0)[0] == first


class Forgetful(CausalState):
    """Right until a row grows past twenty tokens: then the oldest are masked, as behind a window nobody knows of."""

    def inputs(self, ids: Any, seen: Any, cache: Any) -> dict[str, Any]:
        given = super().inputs(ids, seen, cache)
        if seen.shape[1] > 20:
            given["attention_mask"] = seen.clone()
            given["attention_mask"][:, : seen.shape[1] - 20] = 0
        return given


def test_a_cache_that_is_wrong_for_longer_texts_is_left_before_they_are_written(architectures: Any) -> None:
    model = causal(architectures, "gpt2")
    writer = Writer(
        Forgetful(model.model),
        model.tokenizer,
        ends=[1],
        vocabulary=330,
        device=torch.device("cpu"),
        cache_bytes=1,
        others=(UncachedState,),
    )
    expected = {new: model.generate(PROMPTS, Decoding(max_new_tokens=new)).token_ids for new in (3, 24)}
    model.__dict__["writer"] = writer
    assert model.generate(PROMPTS, Decoding(max_new_tokens=3)).token_ids.tolist() == expected[3].tolist()
    assert isinstance(writer.state, Forgetful)
    assert model.generate(PROMPTS, Decoding(max_new_tokens=24)).token_ids.tolist() == expected[24].tolist()
    assert isinstance(writer.state, UncachedState)
    assert "differ from those of plain passes" in writer.ways.rejected[0]


def test_a_model_that_no_way_fits_writes_nothing(architectures: Any) -> None:
    network = architectures.build("gpt2")
    with pytest.raises(Unsupported, match="it continues a text differently from how it scores it"):
        Ways(_AlwaysWrong(network), (), 330, FastLayers(network, None))


class _AlwaysWrong(CausalState):
    def _forward(self, ids: Any, seen: Any, cache: Any) -> torch.Tensor:
        return super()._forward(ids, seen, cache).flip(1)


def test_steering_a_hybrid_is_refused(architectures: Any) -> None:
    from evenhand.mitigations.steering.rules import SelfDebiasingRule

    model = causal(architectures, "mamba")
    steering = Steering(("I am angry. ",), SelfDebiasingRule(decay=50.0))
    with pytest.raises(Unsupported, match="does not support steering"):
        model.generate_steered(PROMPTS, Decoding(max_new_tokens=3), steering)
    with pytest.raises(Unsupported, match="does not support steering"):
        causal(architectures, "openai-gpt").steered_log_likelihoods(Texts(PROMPTS), steering)


def test_prompts_that_fill_an_encoder_are_answered(architectures: Any) -> None:
    network = architectures.build("mbart", "encoder-decoder", max_position_embeddings=32)
    words = architectures.tokenizer(True)
    model: Any = as_language_model(network, words, "encoder-decoder", {"name": "mbart"})
    prompt = words.decode(words(" ".join(PROMPTS * 3))["input_ids"][:31])
    assert len(words(prompt)["input_ids"]) == 32
    answers = model.generate([prompt, "Hi."], Decoding(max_new_tokens=20))
    assert answers.errors == [None, None]
