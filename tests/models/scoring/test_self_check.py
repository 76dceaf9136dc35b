"""The check of the scoring engine at load: what is refused, what is found in 16 bits, what longer texts show."""

from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models.contract import Texts
from evenhand.models.huggingface.causal import CausalModel
from evenhand.models.loading import as_language_model
from evenhand.models.scoring.scorer import ScoringPath, frequency_switch
from evenhand.models.scoring.self_check import check_path_at_length, turning_points
from evenhand.schema import ModelError

TEXTS = [
    "I love old men.",
    "I love older men and their unbelievable stories, and so does my neighbour.",
    "Hi.",
]


def causal(architectures: Any, name: str, dtype: torch.dtype = torch.float32, **settings: Any) -> CausalModel:
    network = architectures.build(name, **settings).to(dtype)
    return CausalModel(network, architectures.tokenizer(False), {"name": name})


def plain(model: CausalModel, text: str) -> np.ndarray:
    ids = torch.tensor([[*model.start, *model.tokenizer(text)["input_ids"]]])
    with torch.inference_mode():
        log_probs = model.model(input_ids=ids, use_cache=False).logits[0, :-1].float().log_softmax(-1)
    found: np.ndarray = log_probs.gather(1, ids[0, 1:, None])[:, 0].numpy()
    return found


@pytest.mark.parametrize("longest", [1, 4])
def test_a_context_of_a_few_tokens_is_said_to_be_too_short(architectures: Any, longest: int) -> None:
    with pytest.raises(ModelError, match=rf"reads at most {longest} tokens, but at least 12 are required"):
        causal(architectures, "gpt2", max_position_embeddings=longest)


@pytest.mark.parametrize(
    ("name", "settings"), [("bert", {"is_decoder": False}), ("roberta", {"is_decoder": False}), ("xlnet", {})]
)
def test_a_model_that_reads_both_ways_is_no_causal_model(
    architectures: Any, name: str, settings: dict[str, Any]
) -> None:
    with pytest.raises(ModelError, match="is not causal") as caught:
        causal(architectures, name, **settings)
    assert "is_decoder" in str(caught.value) and "architecture='masked'" in str(caught.value)


def test_the_same_model_trained_to_read_from_left_to_right_is_scored(architectures: Any) -> None:
    model = causal(architectures, "bert")
    answers = model.log_likelihoods(TEXTS)
    for i, text in enumerate(TEXTS):
        np.testing.assert_allclose(answers.row(i), plain(model, text), atol=1e-4)


@pytest.mark.parametrize("name", ["lfm2", pytest.param("recurrent_gemma", marks=pytest.mark.slow)])
def test_a_small_fault_does_not_pass_for_rounding_in_16_bits(architectures: Any, name: str) -> None:
    full, half = (causal(architectures, name, dtype) for dtype in (torch.float32, torch.bfloat16))
    assert half.path is full.path is not ScoringPath.PREFIX_TREE
    assert [told.split(":")[0] for told in half.rejected_paths] == [
        told.split(":")[0] for told in full.rejected_paths
    ]
    assert half.model.dtype == torch.bfloat16


def test_a_fault_that_rounding_would_hide_is_found(
    architectures: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tree path of a 16-bit model is made wrong by 0.05 nats a token, half of what rounding was allowed."""
    from evenhand.models.scoring.head import Head

    right = Head.log_probs
    monkeypatch.setattr(Head, "log_probs", lambda *given: right(*given) + 0.05)
    model = causal(architectures, "llama", torch.bfloat16)
    assert model.path is ScoringPath.FULL_LOGITS
    assert "differs from plain forward passes by 0.05 nats" in model.rejected_paths[0]


def test_longrope_texts_on_both_sides_of_the_switch_do_not_share_a_batch(architectures: Any) -> None:
    factors = {"short_factor": [1.0] * 4, "long_factor": [9.0] * 4}
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 16, **factors}
    model = causal(
        architectures, "phi3", rope_parameters=rope, sliding_window=None, original_max_position_embeddings=16
    )
    assert model.scorer.switch == frequency_switch(model.model.config) == 16
    texts = [TEXTS[1][:k] for k in range(6, 66, 3)]
    lengths = [len(plain(model, text)) + 1 for text in texts]
    assert min(lengths) < 16 < max(lengths) and {16, 17} & set(lengths)
    answers = model.log_likelihoods(texts)
    for i, text in enumerate(texts):
        np.testing.assert_allclose(answers.row(i), plain(model, text), atol=1e-4)
    assert model.scorer.tokens_given == sum(lengths)


def test_no_limit_is_a_limit_of_minus_one(architectures: Any) -> None:
    network = architectures.build("bloom")
    network.config.max_position_embeddings = -1  # as XLNet's says
    model = CausalModel(network, architectures.tokenizer(False), {"name": "bloom"})
    assert model.longest is None
    assert model.log_likelihoods(["Hi."]).errors == [None]


def test_a_path_that_longer_texts_prove_wrong_gives_way(architectures: Any) -> None:
    """A window that the scorer does not know of: short texts agree, longer ones do not."""
    model = causal(architectures, "mistral", sliding_window=16)
    assert model.path is ScoringPath.PREFIX_TREE and 16 in turning_points(model.model, 12)
    model.scorer.reach = None
    long = " ".join(TEXTS)
    answers = model.log_likelihoods([long])
    assert answers.counts[0] > 16
    assert model.path is ScoringPath.PADDED and "differs from plain" in model.rejected_paths[-1]
    np.testing.assert_allclose(answers.row(0), plain(model, long), atol=1e-4)


def test_longer_texts_are_tried_once_and_leave_no_trace_in_the_counts(architectures: Any) -> None:
    model = causal(architectures, "gpt2")
    assert check_path_at_length(model.scorer, 12) == [] and model.scorer.tried == 12
    assert check_path_at_length(model.scorer, 60) == [] and model.scorer.tried == 60
    assert model.scorer.tokens_given == model.scorer.budget.tokens_run == 0
    check_path_at_length(model.scorer, 100)
    assert model.scorer.tried == 60  # not yet twice as long


def test_a_hash_of_places_is_refused_when_texts_outgrow_its_chunks(architectures: Any) -> None:
    with pytest.raises(ModelError, match="depend on how texts are batched"):
        causal(architectures, "reformer").log_likelihoods([" ".join(TEXTS)])


@pytest.mark.parametrize("name", ["switch_transformers", pytest.param("nllb-moe", marks=pytest.mark.slow)])
def test_encoders_that_say_more_than_hidden_states(architectures: Any, name: str) -> None:
    row = architectures.measured(name, "encoder-decoder")
    assert row.off is not None and row.off < 1e-4 and row.equal == (4, 4)


def test_an_encoder_decoder_whose_decoder_looks_ahead_is_refused(architectures: Any) -> None:
    network = architectures.build("t5", "encoder-decoder")
    words = architectures.tokenizer(True)
    model: Any = as_language_model(network, words, "encoder-decoder", {"name": "t5"})
    assert model.log_likelihoods(Texts(["Hi."], ["I"])).errors == [None]
    plain_forward = network.forward

    def averaged(**given: Any) -> Any:
        output = plain_forward(**given)
        output.logits = output.logits + output.logits.mean(1, keepdim=True)
        return output

    network.forward = averaged
    with pytest.raises(ModelError, match="looks at what follows"):
        as_language_model(network, words, "encoder-decoder", {"name": "t5"})
