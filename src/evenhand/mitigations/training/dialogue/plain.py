"""Self-chat tuning: a model learns its own conversations unchanged. It is the control for other self-chat methods."""

from pathlib import Path
from typing import Any, ClassVar

from evenhand.measures import MARTHA
from evenhand.mitigations.training.dialogue.self_chats import (
    SelfChats,
    check_named,
    own_and_other,
    read_self_chats,
    self_chats_from_table,
    split_names,
)
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.objective import LanguageModelling
from evenhand.mitigations.training.replies import Reply, replies_to_learn
from evenhand.mitigations.training.validation import PairedTexts, Validation
from evenhand.schema import Card, DataError

NEEDED = "Give a run or a table of self-chats: --data RUN."

CARD = Card(
    "self-chat",
    "Fine-tunes the model on its own unchanged conversations: the control for every method that learns self-chats.",
    construct="None: the model only reads its own conversations.",
    harm="Conversations depend on the name with which a speaker opens them.",
    groups="Names.",
    critique="It removes no bias by design. Changes that it causes must not be credited to other methods: in the "
    "paper's Table 6, classifier bias falls with it alone. A model that learns its own beam-search replies repeats "
    "them with more certainty.",
    citation=MARTHA,
    source="Smith & Williams 2021, section 6.1",
    details="Each conversation gives up to eleven examples. An example consists of the history as the speaker "
    "knows it, the speaker's persona, and the next utterance. Only the next utterance is learned. The opener is "
    "never learned. Half of the names are kept for tests, and a fifth of the others for monitoring.",
)


class OnSelfChats:
    """Shared code of all methods on self-chats: reading their material."""

    def given(self, data: Path, seed: int) -> tuple[Material, Validation]:
        """Return the self-chats of a run or a file, and the validation texts.

        The monitored `bias` is the absolute difference in log-likelihood (nats per token) of replies under the name of
        their conversation and under another name. It is 0 if replies do not depend on the name. Raises DataError.
        """
        chats = split_names(read_self_chats(data), seed)
        check_named(self_chats_from_table(chats.frame))
        first, second, every = own_and_other(chats, seed)
        genders = chats.frame["gender"].drop_nulls().unique().sort().to_list()
        material = Material(
            bias=f"names in {data.name}",
            groups=(genders[0], genders[1]) if len(genders) > 1 else ("own name", "other name"),
            pairs=(),
            attributes=(),
            texts=(),
            source=data.name,
            dialogues=chats,
        )
        lines = [tuple(reply.line() for reply in part) for part in (first, second, every)]
        return material, Validation(PairedTexts(lines[0], lines[1]), lines[2])


class SelfChatTuning(OnSelfChats):
    """The method self-chat.

    >>> SelfChatTuning().parameters()
    {}
    """

    name: ClassVar[str] = "self-chat"
    card: ClassVar[Card] = CARD

    def parameters(self) -> dict[str, Any]:
        """Return an empty dict, because the method has no options."""
        return {}

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return all replies of the training names."""
        chats = require_self_chats(material)
        replies = [reply for chat in chats.chats for reply in chat.replies()]
        facts = {"conversations": len(chats.chats), "replies": len(replies), **split_facts(chats)}
        return reply_lesson(replies, encoding, facts)


def require_self_chats(material: Material) -> SelfChats:
    """Return the self-chats of a material. Raise DataError if it has none."""
    if not isinstance(material.dialogues, SelfChats):
        raise DataError(f"{material.bias} has no self-chats to learn.", NEEDED)
    return material.dialogues


def split_facts(chats: SelfChats) -> dict[str, Any]:
    """Return how names were divided, for the record."""
    counts = {f"names_{part}": len(names) for part, names in chats.names().items()}
    return {**counts, "names": chats.names()}


def reply_lesson(replies: list[Reply], encoding: Encoding, facts: dict[str, Any], label: str = "") -> Lesson:
    """Return the lesson of plain language modelling of replies after their histories.

    label: the label with which the trained model is used.
    """
    return Lesson(replies_to_learn(replies, encoding), LanguageModelling(), facts, label=label)
