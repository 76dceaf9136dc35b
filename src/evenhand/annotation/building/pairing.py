"""Make pairs for annotators: responses of two models to one prompt, or two of their conversations."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from evenhand.annotation.building.built import Chat, ContentSelection, Notes, StudyText, Value
from evenhand.annotation.building.drawing import cell, identifier, sample_evenly
from evenhand.annotation.definition import Conversation, Item, Turn, without_controls
from evenhand.schema import DataError

MATCHUPS = 120
"""Default number of pairs that are drawn per two models: 60 match-ups, twice."""
ASKER, ANSWERER = "A", "B"
PREFERENCES = ("preference", "descriptor_preference")
INFLAMMATORY = ("dispreferred", "polarizing")
"""HolisticBias labels of descriptors that may be hurtful or divisive."""


def paired_texts(models: Sequence[list[StudyText]], wanted: ContentSelection, notes: Notes) -> list[Item]:
    """Return pairs of responses of two models to the same prompt, as conversations of two turns.

    models: texts of at least two models. Source: HolisticBias, human evaluation of its bias tuning.
    """
    if wanted.drop_unsafe:
        models = [_safe(texts, notes) for texts in models]
    found: list[Item] = []
    for first, second in combinations(models, 2):
        other = {said.prompt: said for said in second}
        both = [(said, other[said.prompt]) for said in first if said.prompt in other]
        alone = len(first) + len(second) - 2 * len(both)
        notes.count(
            alone,
            f"responses of {_names(first, second, 'or')} are left out, because the other model has no response to "
            "the same prompt",
        )
        differ = [pair for pair in both if pair[0].text != pair[1].text]
        same = len(both) - len(differ)
        notes.count(
            same,
            f"prompts are left out, because {_names(first, second, 'and')} gave the same response",
        )
        found += drawn_pairs([_text_pair(*pair) for pair in differ], wanted, notes)
    return _require_items(
        found, "No pair of texts can be formed: no prompt has different responses of two models."
    )


def paired_chats(models: Sequence[list[Chat]], wanted: ContentSelection, notes: Notes) -> list[Item]:
    """Return pairs of conversations of two models: drawn with replacement as in ACUTE-Eval, or with the same opener.

    models: conversations of at least two models. Source: Li, Weston and Roller 2019; its published code.
    """
    if wanted.drop_unsafe:
        models = [_safe_chats(chats, notes) for chats in models]
    found: list[Item] = []
    for number, (first, second) in enumerate(combinations(models, 2)):
        if not first or not second:
            continue
        if (wanted.pairing or "drawn") == "drawn":
            rng = np.random.default_rng([wanted.seed, number])
            size = MATCHUPS if wanted.limit is None else wanted.limit
            places = zip(
                rng.integers(len(first), size=size), rng.integers(len(second), size=size), strict=True
            )
            made = [_chat_pair(first[one], second[two]) for one, two in places]
            found += _merge_repeated(made, notes)
            continue
        other = {chat.opener: chat for chat in second}
        both = [(chat, other[chat.opener]) for chat in first if chat.opener in other]
        alone = len(first) + len(second) - 2 * len(both)
        notes.count(
            alone,
            f"conversations of {_names(first, second, 'or')} are left out, because the other model has no "
            "conversation with the same opener",
        )
        differ = [pair for pair in both if pair[0].turns != pair[1].turns]
        same = len(both) - len(differ)
        notes.count(
            same,
            f"openers are left out, because the conversations of {_names(first, second, 'and')} are the same",
        )
        found += drawn_pairs([_chat_pair(*pair) for pair in differ], wanted, notes)
    return _require_items(
        found,
        "No pair of conversations can be formed.",
    )


def conversation(chat: Chat) -> Conversation:
    """Return a conversation as annotators see it."""
    turns = tuple(Turn(speaker=speaker, text=without_controls(text)) for speaker, text in chat.turns)
    return Conversation(
        id=identifier("talk", chat.model, chat.speaker, chat.turns),
        turns=turns,
        speaker=chat.speaker,
        model=chat.model,
    )


def make_pair(first: Conversation, second: Conversation, groups: dict[str, Value], **more: Any) -> Item:
    """Return an item with two conversations."""
    return Item(id=identifier("pair", first.id, second.id), pair=(first, second), groups=groups, **more)


def _text_pair(first: StudyText, second: StudyText) -> Item:
    sides = []
    for said in (first, second):
        before = () if said.context is None else ((ASKER, said.context),)
        turns = (*before, (ANSWERER, said.text))
        sides.append(conversation(Chat(turns, ANSWERER, said.model or "", said.groups)))
    return make_pair(sides[0], sides[1], _shared(first.groups, second.groups))


def _chat_pair(first: Chat, second: Chat) -> Item:
    return make_pair(conversation(first), conversation(second), _shared(first.groups, second.groups))


def _shared(first: Any, second: Any) -> dict[str, Value]:
    """Return the properties that both sides share; others do not describe the pair."""
    return {name: value for name, value in first.items() if name in second and second[name] == value}


def _safe(texts: list[StudyText], notes: Notes) -> list[StudyText]:
    calm = [said for said in texts if not any(said.groups.get(name) in INFLAMMATORY for name in PREFERENCES)]
    safe = [said for said in calm if not said.unsafe]
    whose = texts[0].model if texts else ""
    notes.count(
        len(texts) - len(calm),
        f"answers of {whose} to descriptors that may be hurtful or divisive are left out",
    )
    notes.count(
        len(calm) - len(safe), f"answers of {whose} that a classifier calls toxic or offensive are left out"
    )
    return safe


def _safe_chats(chats: list[Chat], notes: Notes) -> list[Chat]:
    safe = [chat for chat in chats if not chat.unsafe]
    whose = chats[0].model if chats else ""
    lost = len(chats) - len(safe)
    notes.count(lost, f"conversations of {whose} with a line that a classifier calls toxic are left out")
    return safe


def _names(first: Sequence[StudyText | Chat], second: Sequence[StudyText | Chat], word: str) -> str:
    return f"{first[0].model if first else 'one model'} {word} {second[0].model if second else 'the other model'}"


def drawn_pairs(items: list[Item], wanted: ContentSelection, notes: Notes) -> list[Item]:
    """Return distinct pairs, at most the wanted number, spread evenly over their groups."""
    single = _merge_repeated(items, notes)
    return sample_evenly(
        single, wanted.limit, wanted.seed, lambda item: item.id, lambda item: cell(item.groups)
    )


def _merge_repeated(items: list[Item], notes: Notes) -> list[Item]:
    once = {item.id: item for item in items}
    notes.count(len(items) - len(once), "repeated pairs were merged into one item each")
    return list(once.values())


def _require_items(items: list[Item], what: str) -> list[Item]:
    if not items:
        raise DataError(
            what,
            "Use two runs of the same benchmark with the same prompts. By default, texts that a classifier labelled "
            "as toxic or offensive are left out. To include them, add --keep-unsafe.",
        )
    return items
