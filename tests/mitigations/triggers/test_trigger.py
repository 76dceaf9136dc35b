"""A found trigger at work: the tokens that were found, on the tokenizer they were found with, and nowhere else."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.mitigations.loading import load_mitigation, mitigated, mitigation_cards
from evenhand.mitigations.triggers.trigger import Trigger, TriggerFile, read_trigger
from evenhand.models.contract import Texts
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.causal import CausalModel, CausalOptions
from evenhand.models.puppets import load_puppet, writes
from evenhand.reference.embedded import load_reference
from evenhand.runs.requests import fingerprint_digest
from evenhand.schema import DataError, Unsupported
from evenhand.weights.tokenizer import tokenizer_fingerprint

WRITING = Decoding(max_new_tokens=6)


@pytest.fixture(scope="module")
def model() -> Any:
    return load_reference(device="cpu")


@pytest.fixture
def found(model: Any) -> TriggerFile:
    ids = tuple(model.tokenizer.encode("friend is", add_special_tokens=False))
    text = model.tokenizer.decode(ids)
    assert model.tokenizer.encode(text + " I love", add_special_tokens=False)[: len(ids)] == list(ids)
    return TriggerFile(
        ids=ids,
        text=text,
        mode="mitigate",
        tokenizer=tokenizer_fingerprint(model.tokenizer),
        model=model.fingerprint,
    )


def test_the_model_reads_the_tokens_that_were_found(model: Any, found: TriggerFile) -> None:
    prompts = ["I love", "My neighbour is"]
    calmed = Trigger(found)(model)
    answers = calmed.generate(prompts, WRITING)
    for i, prompt in enumerate(prompts):
        inner = model.tokenizer.encode(prompt, add_special_tokens=False)
        told = model.tokenizer(prompt)["input_ids"]
        front = told[: len(told) - len(inner)] if told != inner else []
        behind = model.tokenizer.encode(" " + prompt, add_special_tokens=False)
        ids = torch.tensor([[*front, *found.ids, *behind]])
        with torch.inference_mode():
            expected = model.model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=6, num_beams=1
            )[0, ids.shape[1] :]
        assert answers.row(i).tolist() == expected.tolist()
    scored = calmed.log_likelihoods(Texts(["a friend.", "I like"], ["I love", None]))
    plain = model.log_likelihoods(Texts(["a friend.", "I like"], [f"{found.text} I love", f"{found.text} "]))
    np.testing.assert_array_equal(scored.log_probs, plain.log_probs)


def test_it_is_part_of_what_a_result_is_known_by(model: Any, found: TriggerFile) -> None:
    calmed, other = Trigger(found)(model), Trigger(replace(found, mode="induce"))(model)
    as_text = Trigger(found, as_text=True)(model)
    digests = {fingerprint_digest(each.fingerprint) for each in (model, calmed, other, as_text)}
    assert len(digests) == 4
    assert calmed.describe()["mitigations"] == ["trigger"]
    assert other.describe()["mitigations"] == ["trigger (for red-teaming measurement)"]
    assert isinstance(Trigger(found).specification, type(None))
    with pytest.raises(Unsupported, match="has no wording"):
        Trigger(found).specified(["x"])


def test_other_tokenizers_are_refused_unless_the_text_is_asked_for(model: Any, found: TriggerFile) -> None:
    foreign = replace(found, tokenizer="0" * 64)
    with pytest.raises(Unsupported, match="is another one: the model would read other tokens"):
        Trigger(foreign)(model)
    with pytest.raises(Unsupported, match="as_text=true"):
        Trigger(found)(load_puppet("puppet/random"))
    seen: list[str] = []

    def continuation(prompt: str, sample: int) -> str:
        seen.append(prompt)
        return ""

    Trigger(foreign, as_text=True)(writes(continuation)).generate(["The man"], WRITING)
    assert seen == [f"{found.text} The man"]
    masked = writes(continuation)
    masked.architecture = "masked"
    with pytest.raises(Unsupported, match="is a masked language model"):
        Trigger(found)(masked)


def test_chat_models_and_merging_prompts_are_refused(model: Any, found: TriggerFile) -> None:
    tokenizer = type(model.tokenizer)(tokenizer_object=model.tokenizer.backend_tokenizer)
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    chatting = CausalModel(
        model.model, tokenizer, {"name": "chatting"}, CausalOptions(start="none", chat=True)
    )
    own = replace(found, tokenizer=tokenizer_fingerprint(tokenizer))
    with pytest.raises(Unsupported, match="uses a chat template"):
        Trigger(own)(chatting)
    torn = replace(found, separator="")
    with pytest.raises(Unsupported, match="splits the trigger"):
        Trigger(torn)(model).generate(["land is green"], WRITING)


def test_by_file_from_the_command_line(model: Any, found: TriggerFile, tmp_path: Path) -> None:
    path = tmp_path / "trigger.json"
    effect = {"sentence": "On 8 prompts it did little."}
    replace(found, effect=effect).write(path)
    loaded = load_mitigation(f"trigger={path}")
    assert loaded.name == "trigger" and loaded.card.details.endswith("it did little.")
    assert mitigated(model, [loaded]).fingerprint == Trigger(found)(model).fingerprint
    text = load_mitigation(f"trigger?file={path}&as_text=true")
    assert text.parameters()["as_text"] is True
    assert "trigger" in mitigation_cards()
    assert json.loads(path.read_text())["ids"] == list(found.ids)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids": []}, "a list of token ids"),
        ({"ids": [1.5]}, "a list of token ids"),
        ({"mode": "calm"}, "mode' must be one of mitigate, neutral, induce, got 'calm"),
        ({"text": None}, "text' must be text, got None"),
        ({"model": "gpt2"}, "model' must be an object, got 'gpt2"),
        ({"version": 7}, "version 7"),
        ({"format": "x"}, "has no entry 'format'"),
    ],
)
def test_files_that_hold_no_trigger(
    found: TriggerFile, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "trigger.json"
    found.write(path)
    assert read_trigger(path).ids == found.ids
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match=message):
        read_trigger(path)


def test_no_file_and_no_json(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Trigger file not found: .*none\.json"):
        Trigger(tmp_path / "none.json")
    path = tmp_path / "trigger.json"
    path.write_text("{")
    with pytest.raises(DataError, match="is not a trigger file"):
        Trigger(path)
