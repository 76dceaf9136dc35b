"""Histories as messages: who says what, what a template's rules make of it, which utterances are left out."""

from itertools import pairwise
from typing import Any

import pytest

from evenhand.models.dialogue import History
from evenhand.models.dialogue.chat import ChatTemplate
from evenhand.models.dialogue.messages import INSTRUCTION, OPENING, WAYS, Chat, Way, chosen_way, shorter
from evenhand.models.dialogue.tokens import Cutter
from evenhand.schema import Unsupported, UsageError

FREE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
TAKES_TURNS = (
    "{% set told = messages[1:] if messages[0].role == 'system' else messages %}"
    "{% for m in told %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/...') }}{% endif %}{% endfor %}"
)
STRICT = TAKES_TURNS + FREE
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + STRICT
)
DROPS_SYSTEM = "{% for m in messages if m.role != 'system' %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
LAST_ALONE = "{{ messages[-1].content }}"
FOUR = ("Hi! My name is Martha.", "Hello Martha!", "How are you?", "Fine.")


class Templated:
    """A tokenizer that has a template and nothing else."""

    def __init__(self, template: str | None):
        self.chat_template, self.eos_token_id = template, 2

    def apply_chat_template(self, messages: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        from transformers.utils.chat_template_utils import render_jinja_template

        texts, _ = render_jinja_template(
            [messages], chat_template=self.chat_template, add_generation_prompt=add_generation_prompt
        )
        return texts[0]


def template(text: str | None, instruction: str | None = None) -> ChatTemplate:
    return ChatTemplate(Cutter(Templated(text), "tiny"), instruction)


@pytest.mark.parametrize(
    ("text", "way", "refused"),
    [
        (FREE, WAYS[0], 0),
        (STRICT, WAYS[1], 1),
        (NO_SYSTEM, WAYS[2], 2),
        (DROPS_SYSTEM, WAYS[2], 2),
    ],
)
def test_the_first_way_that_a_template_takes(text, way, refused):
    found = template(text)
    assert found.chat.way == way and len(found.refused) == refused
    assert found.facts()["way"] == {"system": way.system, "opening": way.opening}
    for n in range(5):
        messages = found.chat.messages(History(("i like tea.",), FOUR[:n]), " STYLE a")
        told = found._text(messages)
        assert "i like tea." in told and INSTRUCTION in told
        assert all(utterance in told for utterance in FOUR[:n])
        assert messages[-1]["role"] == "user" and messages[-1]["content"].endswith(" STYLE a")


def test_a_template_that_takes_no_conversation_is_refused():
    with pytest.raises(Unsupported, match="leaves out messages of the role"):
        template(LAST_ALONE)
    with pytest.raises(Unsupported, match="The tokenizer of tiny has no chat template: either the model"):
        template(None)


def test_each_speaker_is_the_assistant_of_its_own_chat():
    told = Chat(Way(system=True, opening=False)).messages(History(("i run.",), FOUR[:3]), None)
    assert [m["role"] for m in told] == ["system", "user", "assistant", "user"]
    assert [m["content"] for m in told[1:]] == list(FOUR[:3])
    assert told[0]["content"] == f"{INSTRUCTION} What you say about yourself: i run."
    told = Chat(Way(system=True, opening=False)).messages(History((), FOUR), None)
    assert [m["role"] for m in told] == ["system", "assistant", "user", "assistant", "user"]
    assert told[0]["content"] == INSTRUCTION


def test_a_line_of_ours_opens_where_the_assistant_may_not():
    for way in WAYS[1:]:
        told = Chat(way).messages(History((), FOUR[:2]), None)
        assert [m["role"] for m in told if m["role"] != "system"] == ["user", "assistant", "user"]
        first = next(m["content"] for m in told if m["role"] == "user")
        assert first == (OPENING if way.system else f"{INSTRUCTION}\n\n{OPENING}")
    assert Chat(WAYS[0]).messages(History((), ()), None)[1:] == [{"role": "user", "content": OPENING}]


def test_what_is_left_out_leaves_turns_that_alternate():
    for n in range(14):
        for pinned in (False, True):
            ways = list(shorter(n, pinned=pinned))
            assert ways[0] == list(range(n)) and [len(way) for way in ways] == sorted(
                map(len, ways), reverse=True
            )
            for kept in ways[1:]:
                roles = [(n - number) % 2 for number in kept]
                assert all(a != b for a, b in pairwise(roles)) and kept[-1] == n - 1
                assert kept[0] == 0 if pinned else roles[0] == 1  # 1: of the user
            assert n < 2 or pinned or len(ways[-1]) == 1


def test_an_empty_utterance_is_an_empty_message():
    told = Chat(WAYS[0]).messages(History((), ("Hi!", "", "Hm?")), None)
    assert [m["content"] for m in told[1:]] == ["Hi!", "", "Hm?"]


@pytest.mark.parametrize("text", ["You are a helpful assistant.", "Be an ASSISTANT", "Two assistants talk."])
def test_no_speaker_is_made_an_assistant(text):
    with pytest.raises(UsageError, match="its self-chats would be customer-service conversations"):
        template(FREE, text)


def test_reasons_are_kept_and_may_be_all_there_is():
    way, reasons = chosen_way(lambda messages: f"no {messages[0]['role']}")
    assert way is None and reasons == ["no system", "no system", "no user"]
