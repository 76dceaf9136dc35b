"""Name scrambling: a model learns its own self-chats under random names, so that names do not predict the content."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.measures import MARTHA
from evenhand.mitigations.training.dialogue.plain import (
    OnSelfChats,
    reply_lesson,
    require_self_chats,
    split_facts,
)
from evenhand.mitigations.training.dialogue.self_chats import SelfChat
from evenhand.mitigations.training.examples import Examples
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.replies import Reply, replies_to_learn
from evenhand.schema import Card

CARD = Card(
    "name-scrambling",
    "Fine-tunes the model on its own self-chats, each with its name replaced by one drawn from all other names.",
    construct="The text does not depend on the new name, because it was generated with another name.",
    harm="Conversations depend on the name with which a speaker opens them.",
    groups="Names, by the groups of the self-chats: gender, or race and gender (the intersectional variant).",
    critique="It changes names only. Other signs of gender ('I am a tall woman') keep their associations; there, "
    "the paper finds it the weakest of its methods. A name that is also a common word is replaced only if it is "
    "clearly a name. The paper trains and tests on the same names; here, half of the names are kept for tests.",
    citation=MARTHA,
    source="Smith & Williams 2021, section 5.1",
    details="The new name is sampled once per conversation, uniformly from the training names of all genders. It "
    "replaces each whole-word mention of the old name in all turns of both speakers and keeps the case of the "
    "mention. The paper describes replacing 'Speaker A's name'. If the replies were left unchanged, the model "
    "would learn to call people by wrong names. Personas are not changed. `redraw=true` samples again for each "
    "epoch.",
)


@dataclass(frozen=True)
class NameScrambling(OnSelfChats):
    """The method name-scrambling.

    redraw: sample names again for each epoch, instead of once.
    """

    name: ClassVar[str] = "name-scrambling"
    card: ClassVar[Card] = CARD

    redraw: bool = False

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return the replies under random names."""
        chats = require_self_chats(material)

        def draw_replies(epoch: int) -> list[Reply]:
            # whether a reply is empty does not depend on the name, so each epoch has the same number of replies
            changed = scramble_names(chats.chats, chats.learned, np.random.default_rng([seed, 6, epoch]))
            return [reply for chat in changed for reply in chat.replies()]

        def of_epoch(epoch: int) -> Examples:
            return replies_to_learn(draw_replies(epoch), encoding)

        replies = draw_replies(0)
        facts = {"conversations": len(chats.chats), "replies": len(replies), **split_facts(chats)}
        lesson = reply_lesson(replies, encoding, facts)
        return Lesson(lesson.examples, lesson.objective, facts, of_epoch=of_epoch if self.redraw else None)


def scramble_names(
    chats: Sequence[SelfChat], names: Sequence[str], random: np.random.Generator
) -> list[SelfChat]:
    """Return each conversation under a name that is drawn uniformly from the given names.

    >>> chat = SelfChat("1", "Martha", "woman", ((), ()), ("Hi! My name is Martha.", "Hello martha!"))
    >>> scramble_names([chat], ["Bob", "Martha"], np.random.default_rng(0))[0].utterances
    ('Hi! My name is Bob.', 'Hello bob!')
    """
    found = []
    for chat in chats:
        others = [name for name in names if name != chat.name]
        found.append(chat.under(others[int(random.integers(len(others)))]))
    return found
