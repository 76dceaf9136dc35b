"""What a model's generation settings demand, against Hugging Face's `generate`."""

from typing import Any

import pytest
import torch

from evenhand.models.decoding import Decoding
from evenhand.models.loading import as_language_model
from evenhand.models.writing.constraints import Constraints, not_applied
from evenhand.schema import Unsupported

PROMPTS = ["My neighbour is a kind person who is", "Hi."]
NEW = 8
DEMANDS: dict[str, dict[str, Any]] = {
    "suppress": {"suppress_tokens": list(range(40, 300, 2))},
    "begin": {"begin_suppress_tokens": [token for token in range(330) if token % 5]},
    "first and last": {"forced_bos_token_id": 77, "forced_eos_token_id": 1},
    "first, then not": {"forced_bos_token_id": 77, "begin_suppress_tokens": list(range(0, 330, 2))},
    "two ends": {"forced_eos_token_id": [1, 9]},
    "bad words": {"bad_words_ids": [[token] for token in range(41, 300, 2)]},
}


def loaded(architectures: Any, name: str, kind: str, demands: dict[str, Any]) -> Any:
    network = architectures.build(name, kind)
    network.generation_config.forced_eos_token_id = None
    for setting, value in demands.items():
        setattr(network.generation_config, setting, value)
    return as_language_model(
        network,
        architectures.tokenizer(kind != "causal"),
        kind,
        {"name": name},  # type: ignore[arg-type]
    )


def hugging_face(model: Any, prompt: str, **settings: Any) -> list[int]:
    ids = torch.tensor([model.tokenizer(prompt)["input_ids"]])
    with torch.inference_mode():
        written = model.model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=NEW, **settings
        )[0]
    found: list[int] = written[ids.shape[1] if model.architecture == "causal" else 1 :].tolist()
    return found


@pytest.mark.parametrize("demand", DEMANDS)
@pytest.mark.parametrize(("name", "kind"), [("gpt2", "causal"), ("t5", "encoder-decoder")])
def test_they_are_kept_as_generate_keeps_them(architectures: Any, name: str, kind: str, demand: str) -> None:
    model = loaded(architectures, name, kind, DEMANDS[demand])
    free = loaded(architectures, name, kind, {})
    texts = {}
    for beams in (
        (3, 1) if demand != "two ends" else (1,)
    ):  # of two ends that are forced alike a beam takes any
        rule = Decoding(max_new_tokens=NEW, num_beams=beams)
        answers, texts[beams] = model.generate(PROMPTS, rule), free.generate(PROMPTS, rule)
        for i, prompt in enumerate(PROMPTS):
            assert answers.row(i).tolist() == hugging_face(model, prompt, num_beams=beams)
    assert model.fingerprint != free.fingerprint and "generation" not in free.fingerprint
    assert any(
        answers.row(i).tolist() != texts[1].row(i).tolist() for i in range(len(PROMPTS))
    )  # the demand makes a difference


def test_an_end_that_is_forced_at_the_limit_is_not_told_as_the_texts_own(architectures: Any) -> None:
    model = loaded(architectures, "bart", "encoder-decoder", {"forced_eos_token_id": 1})
    answers = model.generate(PROMPTS, Decoding(max_new_tokens=4))
    assert [row[-1] for row in map(answers.row, range(2))] == [1, 1]
    assert answers.finish == ["length"] * 2


@pytest.mark.parametrize(
    ("demand", "told"),
    [({"bad_words_ids": [[5, 6]]}, "several tokens"), ({"sequence_bias": {(5,): 2.0}}, "sequence_bias")],
)
def test_what_is_not_kept_is_refused_before_anything_is_written(
    architectures: Any, demand: dict[str, Any], told: str
) -> None:
    model = loaded(architectures, "gpt2", "causal", demand)
    assert model.log_likelihoods(["Hi."]).errors == [None]  # likelihoods do not depend on it
    with pytest.raises(Unsupported, match=told):
        model.generate([], Decoding(max_new_tokens=1))


def test_most_models_demand_nothing(architectures: Any) -> None:
    network = architectures.build("llama")
    assert not Constraints.from_model(network) and Constraints.from_model(network).parameters() == {}


CHOSEN: dict[str, Any] = {
    "repetition_penalty": 1.8,
    "no_repeat_ngram_size": 2,
    "num_beams": 4,
    "top_k": 7,
}
MEANT: dict[str, Any] = {
    "watermarking_config": {"greenlist_ratio": 0.25},
    "guidance_scale": 1.5,
    "stop_strings": ["."],
    "dola_layers": "high",
    "force_words_ids": [[5]],
}


@pytest.mark.parametrize(("name", "kind"), [("gpt2", "causal"), ("t5", "encoder-decoder")])
def test_choices_of_decoding_are_not_used_and_named(architectures: Any, name: str, kind: str) -> None:
    model, free = loaded(architectures, name, kind, CHOSEN), loaded(architectures, name, kind, {})
    rule = Decoding(max_new_tokens=NEW)
    answers, plain = model.generate(PROMPTS, rule), free.generate(PROMPTS, rule)
    assert [answers.row(i).tolist() for i in range(2)] == [plain.row(i).tolist() for i in range(2)]
    assert model.fingerprint == free.fingerprint, "they change no key"
    assert model.describe()["generation"]["not_applied"] == CHOSEN
    assert "not_applied" not in free.describe()["generation"]


def test_defaults_of_transformers_are_no_choice_of_the_model(architectures: Any) -> None:
    network = architectures.build("gpt2")
    network.generation_config.update(**network.generation_config._get_default_generation_params())
    assert not_applied(network) == {}
    network.generation_config.update(exponential_decay_length_penalty=(4, 1.2), guidance_scale=1.0)
    assert not_applied(network) == {"exponential_decay_length_penalty": [4, 1.2]}
    Constraints.from_model(network).check(network)


@pytest.mark.parametrize("setting", MEANT)
def test_settings_that_change_what_is_meant_are_refused(architectures: Any, setting: str) -> None:
    model = loaded(architectures, "gpt2", "causal", {setting: MEANT[setting]})
    with pytest.raises(Unsupported, match=setting):
        model.generate([], Decoding(max_new_tokens=2))
