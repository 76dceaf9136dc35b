"""Self-debiasing penalises tokens that descriptions of harm make more likely; self-diagnosis asks the
model about harm.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.contract import Specification
from evenhand.mitigations.steering.model import SteeredModel
from evenhand.mitigations.steering.rules import ContrastiveRule, SelfDebiasingRule
from evenhand.models import LanguageModel, Texts
from evenhand.models.writing import Steering
from evenhand.schema import Card, check_fields, checked, unknown_name

FRAME = ("The following text contains ", ":\n")
ATTRIBUTES = {
    "toxicity": "rude, disrespectful, or unreasonable language",
    "severe toxicity": "very hateful, aggressive, disrespectful language",
    "sexually explicit": "sexually explicit language",
    "threat": "a threat",
    "identity attack": "negative or hateful language targeting someone because of their identity",
    "profanity": "swear words, curse words, or other obscene or profane language",
}
"""Descriptions of Perspective's attributes, used by the published prefixes and the questions of self-diagnosis."""
OPPOSITES = (
    "polite, respectful, or reasonable language",
    "very loveable, compliant, respectful language",
    "modest language",
    "help",
    "positive or loving language towards someone because of their identity",
    "appropriate words, kind words, or other caring or loving language",
)
KEYWORDS = ("rude", "sexually explicit", "hateful", "aggressive", "racist", "threat", "violent", "sexist")
PREFIXES = {
    "published": tuple(description.join(FRAME) for description in ATTRIBUTES.values()),
    "keywords": tuple(f"({keyword}) " for keyword in KEYWORDS),
}
"""Sets of prefixes: six sentences with a line break at the end, and eight words in brackets with a space at the end."""
LEVELS = {"opposite": tuple(description.join(FRAME) for description in OPPOSITES), "frame": FRAME}

CARD = Card(
    "self-debiasing",
    "Lowers the probability of tokens that become more likely after 'The following text contains ...'.",
    construct="Whether a model writes less harm if it is steered away from what it associates with a description "
    "of harm.",
    harm="The prefixes decide what is avoided; harm that they do not describe is not affected.",
    null="With decay=0, the probabilities of the model do not change.",
    critique="In ROBBIE, it lowered GPT-2 XL's share of toxic or negative continuations by 46% on average, the "
    "most of three methods. It did not change BiasScore, the share of groups with more harm than average: there "
    "was less harm for all, but not more equality. It also lowers the probability of texts in which people "
    "describe themselves with words that a model associates with abuse. Prefixes that ask for the opposite lower "
    "toxicity as well, so part of the effect does not depend on the meaning of the words (see `evenhand "
    "check-consistency`). A space at the end of a prefix changes how the prompt's first word is split into tokens. "
    "Every token is computed once more for each prefix: with six prefixes, generation takes about seven times as "
    "long (docs/explanation/self_debiasing.md).",
    citation="Schick, Udupa and Schütze 2021, Self-Diagnosis and Self-Debiasing; Esiobu et al. 2023, ROBBIE; Morabito "
    "et al. 2023, Debiasing should be Good and Bad.",
    source="Schick et al. 2021, section 4 and appendix A (keywords: their released code); opposites: Morabito et al. "
    "2023, table 2",
)


class SteeredByPrefixes(ABC):
    """Shared code of mitigations that steer by prefixes. Subclasses are frozen dataclasses
    with a rule and these fields.
    """

    prefixes: tuple[str, ...] | str
    name: str
    card: Card

    def __post_init__(self) -> None:
        check_fields(self)
        texts = self.prefixes
        if isinstance(texts, str):
            if texts not in PREFIXES:
                raise unknown_name("value of prefixes", texts, PREFIXES)
            texts = PREFIXES[texts]
        object.__setattr__(self, "prefixes", tuple(texts))
        # raises errors about the prefixes now instead of when a model is known
        Steering(tuple(texts), self.rule)

    @property
    @abstractmethod
    def rule(self) -> SelfDebiasingRule | ContrastiveRule:
        """Return the rule by which distributions are combined."""

    @property
    def specification(self) -> Specification:
        """Return the prefixes as the wording. Published prefixes also have their published opposite
        and blank versions.
        """
        texts = tuple(self.prefixes)
        levels = {"blank": (" ",) * len(texts)}
        return Specification(texts, {**LEVELS, **levels} if texts == PREFIXES["published"] else levels)

    def specified(self, texts: Sequence[str]) -> Self:
        """Return the mitigation with the same constants and any number of other prefixes."""
        method: Any = self  # subclasses are frozen dataclasses, which `replace` accepts
        reworded: Self = replace(method, prefixes=tuple(texts), name=f"{self.name} (reworded)")
        return reworded

    def parameters(self) -> dict[str, Any]:
        """Return the constants and the exact prefixes."""
        constants = {key: value for key, value in self.rule.parameters().items() if key != "name"}
        return {**constants, "prefixes": list(self.prefixes)}

    def __call__(self, model: LanguageModel) -> LanguageModel:
        """Return the steered model; raise Unsupported if the model gives no access to its next-token distributions."""
        return SteeredModel(model, self, self.prefixes, self.rule)


@dataclass(frozen=True)
class SelfDebiasing(SteeredByPrefixes):
    """A mitigation that makes tokens less likely if a description of harm makes them more likely.

    Use it to reduce harmful text from a model that runs on this machine, without training. A description of
    harm is put before the prompt, for example "The following text contains a threat:". Tokens whose
    probability rises are then penalised.

    Parameters
    ----------
    decay : float, default 50.0
        Strength of the penalty, at least 0. With 0, nothing changes. The published values are 10, 50 and 100.
    floor : float, default 0.01
        Smallest factor by which a probability is multiplied, above 0 and up to 1.
    prefixes : tuple of str or str, default "published"
        Texts that are put directly before a prompt, or the name of a set: "published" (six sentences) or
        "keywords" (eight words).
    name : str, default "self-debiasing"
        Name in reports.
    card : Card
        Description of the mitigation, with known problems.

    Raises
    ------
    UsageError
        The set is unknown, the list or a prefix is empty, or `decay` or `floor` is out of range.

    Notes
    -----
    Let p be the probability of a token after the prompt. Let q be its largest probability after any prefix
    and the prompt. If q > p, p is multiplied by max(floor, exp(-decay × (q - p))). The probabilities are then
    normalised. See `SelfDebiasingRule`.

    References
    ----------
    Schick et al. (2021), "Self-Diagnosis and Self-Debiasing: A Proposal for Reducing Corpus-Based Bias in
    NLP", TACL 9, section 4.

    Examples
    --------
    >>> SelfDebiasing().prefixes[3]
    'The following text contains a threat:\\n'
    >>> SelfDebiasing(decay=100, prefixes="keywords").parameters()["prefixes"][:2]
    ['(rude) ', '(sexually explicit) ']
    """

    decay: float = 50.0
    floor: float = 0.01
    prefixes: tuple[str, ...] | str = "published"
    name: str = "self-debiasing"
    card: Card = CARD

    def __post_init__(self) -> None:
        check_fields(self)
        for constant in ("decay", "floor"):  # 50 and 50.0 must give the same fingerprint
            object.__setattr__(self, constant, float(getattr(self, constant)))
        super().__post_init__()

    @property
    def rule(self) -> SelfDebiasingRule:
        """Return the rule that combines the probabilities p and q."""
        return SelfDebiasingRule(self.decay, self.floor)


QUESTION = '"{text}"\nQuestion: Does the above text contain {description}?\nAnswer:'
ANSWERS = (" Yes", " No")


@checked
def self_diagnosis(
    model: LanguageModel, texts: Sequence[str], descriptions: Sequence[str] = tuple(ATTRIBUTES.values())
) -> NDArray[np.float64]:
    """Ask a model whether texts contain harm, and return the probability that it answers Yes.

    Use it to check whether a model recognises a kind of harm. `SelfDebiasing` works only to the extent that
    it does.

    Parameters
    ----------
    model : LanguageModel
        The model.
    texts : sequence of str, length n
        The texts. Line breaks are replaced by spaces.
    descriptions : sequence of str, length d
        What a text may contain, for example "a threat". Default: the six kinds of harm of the Perspective
        API.

    Returns
    -------
    numpy.ndarray, shape (n, d)
        P(Yes) / (P(Yes) + P(No)) for each text and description. NaN if the model could not answer, for
        example because the text is too long.

    Raises
    ------
    Unsupported
        The model cannot score texts. An example is a server without log probabilities.

    Notes
    -----
    If Yes and No are one token each, as in GPT-2, the result is the softmax of two logits. If they are
    several tokens, all of them count. As published, the question begins with the tokens that the tokenizer
    itself adds, which are none for GPT-2.

    References
    ----------
    Schick et al. (2021), "Self-Diagnosis and Self-Debiasing: A Proposal for Reducing Corpus-Based Bias in
    NLP", TACL 9, section 3.

    Examples
    --------
    >>> from evenhand.models.puppets import load_puppet
    >>> self_diagnosis(load_puppet("puppet/uniform"), ["You fool."], ["a threat"]).tolist()
    [[0.5]]
    """
    questions = [
        QUESTION.format(text=text.replace("\n", " "), description=description)
        for text in texts
        for description in descriptions
    ]
    twice = [question for question in questions for _ in ANSWERS]
    scored = model.log_likelihoods(Texts([*ANSWERS] * len(questions), twice, start_token="tokenizer"))
    yes, no = scored.sums.reshape(-1, 2).T
    scores: NDArray[np.float64] = 1 / (1 + np.exp(np.clip(no - yes, -700, 700)))
    return scores.reshape(len(texts), len(descriptions))
