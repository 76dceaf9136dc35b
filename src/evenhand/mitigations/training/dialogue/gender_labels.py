"""Controlled generation with a gender classifier.

Each reply is learned after a label: that of the gender that a classifier finds in it, or ` STYLE neutral`. The trained
model is always used with ` STYLE neutral`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from evenhand.classifiers import Classifier, load_or_advise
from evenhand.measures import MARTHA
from evenhand.mitigations.training.dialogue.labels import labelled_lesson
from evenhand.mitigations.training.dialogue.plain import OnSelfChats, require_self_chats, split_facts
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.methods import Lesson
from evenhand.schema import Card, DataError, UsageError

OURS = "evenhand/gendered-words"
PUBLISHED = 0.55
NEUTRAL = "neutral"
WORDS = {"female": ("female", "woman", "women", "f"), "male": ("male", "man", "men", "m")}
"""Names that classifiers use for the two genders; the part before or after a colon also counts."""

CARD = Card(
    "control-gender",
    "Controlled generation: learns self-chats in which each reply is labelled with the gender that a classifier "
    "infers, and generates with the label `neutral`.",
    construct="Replies from which a classifier infers the gender of the person who speaks or is spoken to.",
    harm="Conversations depend on the name with which a speaker opens them.",
    groups="The two genders of the classifier.",
    critique="In the paper, it raises token-bin bias (L2 .215, compared with .103 after plain self-chat tuning), "
    "although bias falls if it is measured by the classifier used for training. Evaluate with both measures, and "
    "with another classifier. Gender that the classifier does not detect is not labelled.",
    citation=MARTHA,
    source="Smith & Williams 2021, section 5.2",
    details="The classifier's probabilities of the two genders are scaled to a sum of one. If the larger one is "
    "above `threshold` (0.55, published), the label names the speaker and the gender, for example ` STYLE "
    "A:female`. Otherwise it is ` STYLE neutral`. `classifier` classifies the replies of A, and `partner` those of "
    "B (in the paper, by the gender of the person addressed). By default, `partner` is the same. Without "
    "`classifier`, our list of gendered words is used. It detects no gender in most replies and cannot infer one "
    "from topics, so name a trained gender classifier. The label ` STYLE neutral` is stored in the model folder. "
    "From then on, it is added to the end of every history.",
)


@dataclass(frozen=True)
class GenderLabels(OnSelfChats):
    """The method control-gender.

    classifier: name of a classifier of gender, for the replies of A. partner: classifier for the replies of B; "" for
    the same. threshold: probability above which a reply is not neutral. Raises UsageError for invalid values.
    """

    name: ClassVar[str] = "control-gender"
    card: ClassVar[Card] = CARD

    classifier: str = OURS
    partner: str = ""
    threshold: float = PUBLISHED

    def __post_init__(self) -> None:
        if not 0.5 <= self.threshold < 1:
            raise UsageError(
                f"threshold must be a probability from 0.5, below 1, got {self.threshold!r}.",
                f"Published: {PUBLISHED}.",
            )

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return all replies that could be classified, each after the label of the classifier."""
        chats = require_self_chats(material)
        replies = [reply for chat in chats.chats for reply in chat.replies()]
        labels: list[str | None] = [None] * len(replies)
        judges = {"A": self._load("classifier")}
        judges["B"] = self._load("partner") if self.partner else judges["A"]
        for speaker, judge in judges.items():
            mine = [place for place, reply in enumerate(replies) if reply.history.speaker == speaker]
            told = gender_labels(judge, [replies[place].target for place in mine], speaker, self.threshold)
            for place, label in zip(mine, told, strict=True):
                labels[place] = label
        judged = [(reply, label) for reply, label in zip(replies, labels, strict=True) if label is not None]
        if not judged:
            raise DataError(
                f"The classifier {self.classifier} labelled none of the {len(replies):,} replies.",
                "Use another classifier of gender: --method control-gender?classifier=NAME",
            )
        facts = {
            **split_facts(chats),
            "replies_unjudged": len(replies) - len(judged),
            "classifiers": {speaker: judge.fingerprint for speaker, judge in judges.items()},
        }
        kept, found = [reply for reply, _ in judged], [label for _, label in judged]
        return labelled_lesson(kept, found, NEUTRAL, tokenizer, encoding, facts)

    def _load(self, option: str) -> Classifier:
        """Return the classifier that an option names. If this fails, the error states this method's options."""
        defaults = {field.name: field.default for field in fields(self)}
        given = {name: value for name, value in self.parameters().items() if value != defaults[name]}
        words = "&".join(f"{name}={value}" for name, value in {**given, option: "NAME"}.items())
        return load_or_advise(self.parameters()[option], "gender", option=f"--method '{self.name}?{words}'")


def gender_labels(
    judge: Classifier, texts: Sequence[str], speaker: str, threshold: float
) -> list[str | None]:
    """Return the label of each text of a speaker; None if it could not be classified.

    A text without a probability for either gender is neutral. Raises UsageError for a classifier of another property.
    """
    columns = {gender: _column(judge, gender) for gender in WORDS}
    judged = judge.classify(list(texts))
    labels: list[str | None] = []
    for row, error in zip(judged.scores, judged.errors, strict=True):
        found = {gender: float(row[column]) for gender, column in columns.items()}
        total = sum(found.values())
        if error is not None or np.isnan(total):
            labels.append(None)
            continue
        gender = max(found, key=lambda one: found[one])
        sure = total > 0 and found[gender] / total > threshold
        labels.append(f"{speaker}:{gender}" if sure else NEUTRAL)
    return labels


def _column(judge: Classifier, gender: str) -> int:
    """Return the index of the score of a gender."""
    for place, label in enumerate(judge.labels):
        if set(label.lower().replace(":", " ").split()) & set(WORDS[gender]):
            return place
    raise UsageError(
        f"{judge.fingerprint.get('name', 'The classifier')} has no score of {gender}: its labels are "
        f"{', '.join(judge.labels)}.",
        "Use a classifier of gender, with labels such as female and male.",
    )
