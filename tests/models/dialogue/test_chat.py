"""Chat models that converse, through a template and behind a server: what they read, word for word."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from evenhand.models import load_model
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue import DialogueOptions, History, dialogue_model
from evenhand.models.dialogue.messages import INSTRUCTION
from evenhand.models.huggingface import CausalOptions
from evenhand.models.served.model import HttpModel, HttpOptions
from evenhand.schema import DataError, ResponseError, Unsupported, UsageError
from tests.models.dialogue.test_messages import FOUR, FREE

RULE = Decoding(max_new_tokens=6)


@pytest.fixture(scope="module")
def folder(tiny_folder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import AutoTokenizer

    copy = tmp_path_factory.mktemp("chat") / "model"
    shutil.copytree(tiny_folder("llama", max_position_embeddings=256), copy)
    tokenizer = AutoTokenizer.from_pretrained(copy)
    tokenizer.chat_template = FREE
    tokenizer.save_pretrained(copy)
    return copy


def loaded(folder: Path, **options: Any) -> Any:
    return load_model(str(folder), options=CausalOptions(**options))


def test_what_is_written_is_transformers_own_answer_to_the_template(folder):
    dialogue = dialogue_model(loaded(folder, chat=True, system="Chat."))
    assert (
        dialogue.facts["format"] == "chat"
        and dialogue.facts["because"] == "the model was asked for as a chat"
    )
    histories = [History(("i run.",), FOUR[:n]) for n in (1, 2)]
    rows = dialogue.reply(histories, RULE)
    texts = [
        f"<system>Chat. What you say about yourself: i run.</s><user>{FOUR[0]}</s><assistant>",
        f"<system>Chat. What you say about yourself: i run.</s><assistant>{FOUR[0]}</s><user>{FOUR[1]}</s><assistant>",
    ]
    tokenizer, model = dialogue.model.tokenizer, dialogue.model.model
    for i, text in enumerate(texts):
        ids = torch.tensor([tokenizer(text, add_special_tokens=False)["input_ids"]])
        written = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=6)
        assert rows.row(i).tolist() == written[0, ids.shape[1] :].tolist()


def test_the_oldest_utterances_are_left_out_whole(folder):
    model = loaded(folder, chat=True, system="Chat.")
    seen: list[str] = []
    generate = model.generate_ids

    def spy(ids, *rest, **kept):
        seen.extend(model.tokenizer.decode(row) for row in ids)
        return generate(ids, *rest, **kept)

    model.generate_ids = spy
    told = History((), FOUR)
    whole = len(dialogue_model(model).encoded(told, "Hi!")[0])
    plain, pinned = (
        dialogue_model(model, DialogueOptions(truncate=whole - 1, pinned=pin)) for pin in (False, True)
    )
    for dialogue in (plain, pinned):
        dialogue.reply([told], RULE)
    assert seen[0].startswith("<system>Chat.</s><user>Hello Martha!</s><assistant>How are you?</s>")
    assert seen[1] == f"<system>Chat.</s><assistant>{FOUR[0]}</s><user>{FOUR[3]}</s><assistant>"
    assert not plain.window(told) and pinned.window(told)
    assert plain.window(History((), FOUR[:1])) and dialogue_model(model).window(told)
    assert not dialogue_model(model).window(told, 256 - whole + 1)
    rows = dialogue_model(model, DialogueOptions(truncate=10)).reply([told], RULE)
    assert rows.errors == [ResponseError.TOO_LONG] and "10 tokens are read" in rows.details[0]


def test_a_reply_to_learn_ends_where_the_assistants_message_does(folder):
    dialogue = dialogue_model(loaded(folder, chat=True))
    ids, reply = dialogue.encoded(History((), FOUR[:1]), "Hello Martha!", " STYLE a")
    tokenizer = dialogue.model.tokenizer
    assert tokenizer.decode(ids) == f"<system>{INSTRUCTION}</s><user>{FOUR[0]} STYLE a</s><assistant>"
    assert tokenizer.decode(reply) == "Hello Martha!</s>" and reply[-1] == tokenizer.eos_token_id
    brief = dialogue_model(loaded(folder, chat=True, system="Chat."))
    long = brief.encoded(History((), FOUR[:1]), "Hello! " * 100)
    assert long[0] == brief.encoded(History((), FOUR[:1]), "Hi.")[0] and len(long[1]) > 256
    with pytest.raises(DataError, match="does not fit"):
        dialogue_model(dialogue.model, DialogueOptions(truncate=10)).encoded(History((), FOUR[:1]), "Hi.")
    tokenizer.chat_template = FREE.replace("<assistant>", "<assistant think>")
    with pytest.raises(Unsupported, match="formats a reply differently from the prompt for a"):
        dialogue_model(dialogue.model).encoded(History((), FOUR[:1]), "Hello!")


def test_what_contradicts_itself_is_refused(folder, tiny_folder):
    with pytest.raises(Unsupported, match="has no chat template: either the model was not trained for"):
        dialogue_model(load_model(str(tiny_folder("llama"))), DialogueOptions(format="chat"))
    with pytest.raises(UsageError, match="The conversation format transcript cannot be used with a model"):
        dialogue_model(loaded(folder, chat=True), DialogueOptions(format="transcript"))
    with pytest.raises(UsageError, match="its self-chats would be customer-service conversations"):
        dialogue_model(loaded(folder, chat=True, system="You are a helpful assistant."))
    asked = dialogue_model(loaded(folder), DialogueOptions(format="chat"))
    assert asked.facts["because"] == "it was asked for"


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
        ("{{ 10.0 ** 999 }}", "out of range"),
        ("{{ nothing.at.all }}", "undefined"),
        ("{% if %}", "Expected an expression"),
    ],
)
def test_a_template_that_fails_is_named(folder, template, told):
    model = loaded(folder, chat=True)
    model.tokenizer.chat_template = template
    with pytest.raises(
        Unsupported,
        match=f"chat template of .* does not support a conversation between two speakers: .*{told}",
    ):
        dialogue_model(model)


def test_a_template_that_fails_later_is_named(folder):
    model = loaded(folder, chat=True)
    model.tokenizer.chat_template = FREE + "{{ 1 / (messages | length - 5) }}"
    dialogue = dialogue_model(model)
    with pytest.raises(
        Unsupported, match=r"chat template of .* conversation of 5 messages: division by zero"
    ):
        dialogue.reply([History((), FOUR)], RULE)


class Service:
    """Answers chats by how many messages they have; a template may refuse some."""

    def __init__(self, refuses: Callable[[list[Any]], str | None] = lambda messages: None, status: int = 400):
        self.refuses, self.status = refuses, status

    def __call__(self, asked: Any) -> tuple[int, Any]:
        messages = asked.body["messages"]
        if (reason := self.refuses(messages)) is not None:
            return self.status, {"error": {"message": reason}}
        said = {"role": "assistant", "content": f" {len(messages)} told, {messages[-1]['content']}"}
        return 200, {"model": "tiny", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}


def strict(messages: list[Any]) -> str | None:
    told = [m["role"] for m in messages if m["role"] != "system"]
    wrong = any((role == "user") != (i % 2 == 0) for i, role in enumerate(told))
    return "Conversation roles must alternate" if wrong else None


@pytest.fixture
def serve(loopback):
    servers = []

    def start(service: Service, **options: Any) -> tuple[HttpModel, Any]:
        server = loopback.LoopbackServer(service).__enter__()
        servers.append(server)
        given = {"chat": True, "store": None, "pause": 0.001, "longest_pause": 0.01, "attempts": 2, **options}
        return HttpModel(f"{server.url}/v1", "tiny", HttpOptions(**given)), server

    yield start
    for server in servers:
        server.__exit__()


def test_a_served_chat_gets_all_messages(serve):
    model, server = serve(Service())
    dialogue = dialogue_model(model)
    rows = dialogue.reply([History(("i run.",), FOUR[:n]) for n in (1, 2, 3)], RULE)
    assert rows.texts == ["2 told, Hi! My name is Martha.", "3 told, Hello Martha!", "4 told, How are you?"]
    bodies = [
        one.body for one in server.asked if len(one.body["messages"]) == 3 and one.body["max_tokens"] == 6
    ]
    assert bodies[0]["messages"][1:] == [
        {"role": "assistant", "content": FOUR[0]},
        {"role": "user", "content": FOUR[1]},
    ]
    assert dialogue.fingerprint["dialogue"]["way"] == {"system": True, "opening": False}
    assert dialogue.window(History((), FOUR)) and not dialogue.window(History((), ()))


@pytest.mark.parametrize("status", [400, 500])
def test_a_service_whose_template_wants_turns_is_asked_another_way(serve, status):
    model, server = serve(Service(strict, status))
    dialogue = dialogue_model(model)
    assert dialogue.facts["way"] == {"system": True, "opening": True}
    assert dialogue.reply([History((), FOUR[:2])], RULE).texts == ["4 told, Hello Martha!"]
    assert sum("roles" in str(strict(one.body["messages"])) for one in server.asked) == (
        1 if status == 400 else 2
    )


def test_a_service_that_takes_no_system_message(serve):
    model, _ = serve(
        Service(lambda messages: "no system role" if messages[0]["role"] == "system" else strict(messages)),
        allow_longer="whole",  # it repeats the instruction, which has more words than the limit has tokens
    )
    dialogue = dialogue_model(model)
    assert dialogue.facts["way"] == {"system": False, "opening": True}
    assert dialogue.reply([History((), FOUR[:1])], RULE).texts == [f"1 told, {INSTRUCTION}\n\n{FOUR[0]}"]


def test_draws_of_a_service_depend_on_the_history_and_the_seed(serve):
    model, server = serve(Service())
    rule = Decoding(max_new_tokens=6, temperature=1.0, samples=2, seed=3)
    dialogue = dialogue_model(model)
    lines = [
        History((), FOUR[:1]).prompt(),
        History((), FOUR[:1]).prompt().replace("}", ',"conversation":7}'),
    ]
    dialogue.generate(lines, rule)
    seeds = {one.body["seed"] for one in server.asked if "seed" in one.body}
    assert len(seeds) == 4


def test_what_a_service_cannot_be_asked_is_refused(serve):
    model, _ = serve(Service(lambda messages: None if len(messages) == 1 else "one message alone"))
    told = "The server does not accept a conversation between two speakers: status 400: one message alone"
    with pytest.raises(Unsupported, match=told):
        dialogue_model(model).reply([History((), FOUR)], RULE)
    with pytest.raises(UsageError, match="its self-chats would be customer-service conversations"):
        dialogue_model(serve(Service(), system="You are an assistant.")[0])
    plain, _ = serve(Service(), chat=False)
    assert dialogue_model(plain).facts["format"] == "transcript"
    with pytest.raises(Unsupported, match="chat=1"):
        dialogue_model(plain, DialogueOptions(format="chat")).reply([History((), FOUR)], RULE)
    with pytest.raises(Unsupported, match="truncate and pinned"):
        dialogue_model(model, DialogueOptions(pinned=True))
