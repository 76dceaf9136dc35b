"""Prompts of chat models: what the tokenizer's template makes of them is what the model reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from evenhand.models import load_model
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.causal import CausalOptions
from evenhand.schema import ResponseError, Unsupported, UsageError

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<{{ message['role'] }}> {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_SYSTEM = (
    "{% for message in messages %}{% if message['role'] == 'system' %}{{ raise_exception('no system role') }}"
    "{% endif %}{{ message['content'] }}{% endfor %}"
)
RULE = Decoding(max_new_tokens=8)


@pytest.fixture(scope="module")
def chat_folder(tiny_folder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    import shutil

    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("chat") / "model"
    shutil.copytree(tiny_folder("llama"), folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


def loaded(folder: Path, **options: Any) -> Any:
    return load_model(str(folder), options=CausalOptions(**options))


def test_the_assistants_turn_is_written(chat_folder: Path) -> None:
    model = loaded(chat_folder, chat=True, system="Be kind.")
    answers = model.generate(["Who is a deaf woman?", " ", "Hi."], RULE)
    for i, message in ((0, "Who is a deaf woman?"), (2, "Hi.")):
        told = f"<s><system> Be kind.\n<user> {message}\n<assistant>"
        ids = torch.tensor([model.tokenizer(told, add_special_tokens=False)["input_ids"]])
        assert ids[0, 0] == model.tokenizer.bos_token_id and (ids == ids[0, 0]).sum() == 1  # said once
        written = model.model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=8
        )
        assert answers.row(i).tolist() == written[0, ids.shape[1] :].tolist()
    assert answers.errors[1] is ResponseError.EMPTY_TEXT


def test_chat_enters_the_fingerprint_and_nothing_else_does(chat_folder: Path) -> None:
    plain, off = loaded(chat_folder), loaded(chat_folder, chat=False)
    chat, system = loaded(chat_folder, chat=True), loaded(chat_folder, chat=True, system="Be kind.")
    assert plain.fingerprint == off.fingerprint and "chat" not in plain.fingerprint
    assert len({str(model.fingerprint) for model in (plain, chat, system)}) == 3
    assert system.describe()["chat"] is True and system.describe()["system"] == "Be kind."
    assert plain.generate(["Hi."], RULE).token_ids.tolist() != chat.generate(["Hi."], RULE).token_ids.tolist()
    text = ["I love old men."]
    assert chat.log_likelihoods(text).sums == plain.log_likelihoods(text).sums


def test_what_cannot_be_said_is_refused(chat_folder: Path, tiny_folder: Callable[..., Path]) -> None:
    with pytest.raises(Unsupported, match="True requires a chat template, but this tokenizer has"):
        loaded(tiny_folder("llama"), chat=True)
    with pytest.raises(UsageError, match="A system message requires chat"):
        loaded(chat_folder, system="Be kind.")
    model = loaded(chat_folder, chat=True, system="Be kind.")
    model.tokenizer.chat_template = NO_SYSTEM
    with pytest.raises(Unsupported, match="no system role"):
        model.generate(["Hi."], RULE)


def test_an_audit_says_by_option_that_prompts_are_chat(
    chat_folder: Path, tiny_folder: Callable[..., Path]
) -> None:
    from evenhand.studies.model_options import ModelOptions, load_named_model

    model: Any = load_named_model(ModelOptions(model=str(chat_folder), chat=True, system="Be brief."))
    same = loaded(chat_folder, chat=True, system="Be brief.")
    assert model.fingerprint == same.fingerprint
    assert model.generate(["Hi."], RULE).texts == same.generate(["Hi."], RULE).texts
    with pytest.raises(UsageError, match="`--system` requires `--chat`"):
        load_named_model(ModelOptions(model=str(chat_folder), system="Be brief."))
    with pytest.raises(UsageError, match="with a served model: its URL sets the chat mode"):
        load_named_model(ModelOptions(model="http://localhost:1/v1#m", chat=True))
