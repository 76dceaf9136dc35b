"""HolisticBias style equality: controlled generation with labels of style.

A reply is learned after ` STYLE bias` if its style differs from the average in the same direction as other replies
about its descriptor, and otherwise after ` STYLE no_bias`. The trained model is always used with ` STYLE no_bias`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from evenhand.measures import HOLISTICBIAS
from evenhand.mitigations.training.dialogue.labels import (
    NO_BIAS,
    check_quantile,
    choose_threshold,
    labelled_lesson,
    over,
)
from evenhand.mitigations.training.dialogue.styled_replies import StyledReplies, read_styled_replies
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.validation import PairedTexts, Validation
from evenhand.schema import Card, DataError, UsageError
from evenhand.stats import Floats

CARD = Card(
    "style-equality",
    "Controlled generation: learns replies to sentences about people with a label that states whether their style "
    "is typical of replies about the same descriptor, and generates with the label `no_bias`.",
    construct="Styles of replies (pity, envy, confusion, ...) that depend on whom a sentence mentions.",
    harm="Some people are pitied, envied or not understood, while others get an answer.",
    groups="Descriptors of HolisticBias.",
    critique="In the paper, Full Gen Bias falls by 13% (DialoGPT) and 24% (BlenderBot 2.0). The share of replies "
    "that copy the sentence rises from 17.3 to 20.0%, and for some descriptors to all replies. Hateful styles rise "
    "by 0.14 points. Styles that the classifier does not detect are not labelled.",
    citation=HOLISTICBIAS,
    source="HolisticBias, section 4 and appendix C",
    details="The bias of a reply with style p about descriptor d is b = (p - m) . (m_d - m) / |m_d - m|^alpha. "
    "Here m_d is the mean for descriptor d (replies are averaged within templates first), and m is the mean of m_d "
    "over descriptors. alpha is 0 (published), 1 or 2. The label is `bias` if b is above beta. Beta is the "
    "`quantile` of all training replies, or a fixed `beta` (published: 0.0003 for DialoGPT, 0.003 for BlenderBot "
    "2.0), which fits the published style classifier. Before styles are classified, mentions of the descriptor "
    "become 'left-handed'. Replies that begin with the whole sentence are not learned. A tenth of the descriptors "
    "is monitored and not learned. ` STYLE no_bias` is stored in the model folder. From then on, it is added to "
    "the end of every history.",
)


@dataclass(frozen=True)
class StyleEquality:
    """The method style-equality.

    alpha: power of its length by which the direction of a descriptor is divided. quantile: share of replies that get
    no_bias. beta: value above which a reply gets bias; it replaces `quantile`. classifier: name of the style
    classifier, for a table without styles. Raises UsageError for invalid values.
    """

    name: ClassVar[str] = "style-equality"
    card: ClassVar[Card] = CARD

    alpha: Literal[0, 1, 2] = 0
    quantile: float = 0.5
    beta: float | None = None
    classifier: str = ""

    def __post_init__(self) -> None:
        check_quantile(self.quantile)
        if self.alpha not in (0, 1, 2):
            raise UsageError(f"alpha must be 0, 1 or 2, got {self.alpha!r}.", "Published: 0.")

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def given(self, data: Path, seed: int) -> tuple[Material, Validation]:
        """Return the replies and styles of a run or a table, and the validation texts.

        The monitored `bias` is the absolute difference in log-likelihood (nats per token) of replies after their own
        sentence and after the same sentence about another descriptor. Raises DataError.
        """
        replies = read_styled_replies(data, seed, self.classifier)
        parts = replies.own_and_other(seed)
        lines = [tuple(reply.line() for reply in part) for part in parts]
        material = Material(
            bias=f"styles in {data.name}",
            groups=("own descriptor", "other descriptor"),
            pairs=(),
            attributes=(),
            texts=(),
            source=data.name,
            dialogues=replies,
        )
        return material, Validation(PairedTexts(lines[0], lines[1]), lines[2])

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return the replies about the training descriptors, each after the label of its style."""
        held = material.dialogues
        if not isinstance(held, StyledReplies):
            raise DataError(
                f"{material.bias} has no replies with style scores, which this method learns from.",
                "Give a run of holisticbias-styles: --data RUN.",
            )
        places = held.places(held.learned)
        part = held.frame[places]
        values = style_bias(
            held.styles[places], part["descriptor"].to_list(), part["template"].to_list(), self.alpha
        )
        beta = choose_threshold(values, self.beta, self.quantile)
        facts = {
            "descriptors": len(held.learned),
            "replies_parroting": held.parroted,
            "replies_missing": held.missing,
            "beta": beta,
            "share_above": float((values > beta).mean()),
            "descriptors_watched": list(held.watched),
        }
        replies = [held.reply(place) for place in places]
        return labelled_lesson(replies, over(values, beta), NO_BIAS, tokenizer, encoding, facts)


def style_bias(
    styles: Floats, descriptors: Sequence[str], templates: Sequence[str], alpha: int = 0
) -> Floats:
    """Return how strongly each reply's style points in the average direction of its descriptor's replies, shape (n,).

    The card has the formula. styles: (n, styles). A descriptor whose styles equal the average has no direction; its
    replies have the value 0.
    Source: HolisticBias (arXiv:2205.09209), section 4.2.

    >>> styles = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.2, 0.6, 0.2]])
    >>> style_bias(styles, ["d1", "d1", "d2", "d2"], ["t"] * 4).round(5).tolist()
    [0.06375, -0.01125, 0.03375, 0.01875]
    """
    columns = [str(place) for place in range(styles.shape[1])]
    frame = pl.DataFrame(styles, schema=columns).with_columns(
        descriptor=pl.Series(descriptors), template=pl.Series(templates)
    )
    cells = frame.group_by("descriptor", "template").agg(pl.col(columns).mean())
    means = cells.sort("descriptor", "template").group_by("descriptor", maintain_order=True)
    of_descriptor = means.agg(pl.col(columns).mean())
    own = of_descriptor.select(columns).to_numpy()
    middle = own.mean(axis=0)
    directions = own - middle
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    scaled = np.divide(directions, lengths**alpha, out=np.zeros_like(directions), where=lengths > 0)
    rows = of_descriptor["descriptor"].search_sorted(frame["descriptor"]).to_numpy()
    return np.asarray(((styles - middle) * scaled[rows]).sum(axis=1))
