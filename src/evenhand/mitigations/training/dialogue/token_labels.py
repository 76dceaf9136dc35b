"""Controlled generation by mean token bias.

A reply is learned after ` STYLE bias` if its tokens are typical of the gender of the name, and otherwise after ` STYLE
no_bias`. The trained model is always used with ` STYLE no_bias`.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.measures import MARTHA
from evenhand.mitigations.training.dialogue.labels import (
    NO_BIAS,
    check_quantile,
    choose_threshold,
    labelled_lesson,
    over,
)
from evenhand.mitigations.training.dialogue.plain import OnSelfChats, require_self_chats, split_facts
from evenhand.mitigations.training.dialogue.token_ratios import SMOOTHING, token_ratios
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.methods import Lesson
from evenhand.schema import Card, UsageError

PUBLISHED = 1.008

CARD = Card(
    "control-tokens",
    "Controlled generation: learns self-chats with a label that states whether a reply's words mark the gender of "
    "the opener's name, and generates with the label `no_bias`.",
    construct="Words that are more frequent in conversations with names of one gender than in all conversations.",
    harm="The words of a conversation depend on the name with which a speaker opens it.",
    groups="The genders of the names.",
    critique="In the paper, it raises the token-bin bias on which its labels are based (L2 .150, compared with "
    ".103 after plain self-chat tuning), although classifier bias falls. Evaluate with both measures. With few "
    "conversations, the mean ratio of a reply is mostly chance.",
    citation=MARTHA,
    source="Smith & Williams 2021, section 5.2",
    details="R_g(t) is the frequency of token t in conversations of gender g divided by its frequency in all "
    "conversations. It is estimated from the training names and smoothed by `smoothing` tokens with the overall "
    "frequencies. A reply is labelled `bias` if the mean R of its tokens is above the threshold. The threshold is "
    "the `quantile` of all training replies, or `threshold=1.008` as published, which fits the paper's own "
    "conversations. The label ` STYLE no_bias` is stored in the model folder. From then on, it is added to the end "
    "of every history.",
)


@dataclass(frozen=True)
class TokenLabels(OnSelfChats):
    """The method control-tokens.

    quantile: share of replies that get no_bias. threshold: mean ratio above which a reply gets bias; it replaces
    `quantile`. smoothing: see `token_ratios`, in tokens. Raises UsageError for invalid values.
    """

    name: ClassVar[str] = "control-tokens"
    card: ClassVar[Card] = CARD

    quantile: float = 0.5
    threshold: float | None = None
    smoothing: float = SMOOTHING

    def __post_init__(self) -> None:
        check_quantile(self.quantile)
        if self.threshold is not None and not self.threshold > 0:
            raise UsageError(
                f"threshold must be a ratio above 0, got {self.threshold!r}.", f"Published: {PUBLISHED}."
            )

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return all replies of names with a gender, each after the label of its mean token bias."""
        chats = require_self_chats(material)

        def tokenize(texts: list[str]) -> list[list[int]]:
            ids: list[list[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
            return ids

        ratios = token_ratios(
            chats.table(chats.learned), tokenize, len(tokenizer), group="gender", smoothing=self.smoothing
        )
        said = [(chat.gender, reply) for chat in chats.chats if chat.gender for reply in chat.replies()]
        tokens = tokenize([reply.target for _, reply in said])
        means = np.array(
            [ratios.mean(gender, ids) for (gender, _), ids in zip(said, tokens, strict=True)],
            dtype=np.float64,
        )
        threshold = choose_threshold(means, self.threshold, self.quantile)
        facts = {
            **split_facts(chats),
            "threshold": threshold,
            "share_above": float((means > threshold).mean()),
            "tokens": dict(zip(ratios.groups, ratios.tokens, strict=True)),
            "ratios_sha256": ratios.digest(),
        }
        replies = [reply for _, reply in said]
        return labelled_lesson(replies, over(means, threshold), NO_BIAS, tokenizer, encoding, facts)
