"""A simulated annotator, who answers each step of the application by planted opinions and a seed."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from evenhand.annotation.definition import (
    About,
    Answer,
    Choice,
    Conversation,
    FreeText,
    Item,
    Likert,
    Marks,
    PairChoice,
    Question,
    Scale,
)
from evenhand.annotation.store import AskSurvey, ShowItem

Opinion = Callable[[Item, Choice | Likert], Sequence[float] | None]
"""Shares of the answers to a question about an item, in their order. None: nothing is planted,
and all are equally likely.
"""


@dataclass(frozen=True)
class Population:
    """True values of simulated annotators: preferences that all share, and variation between them."""

    strengths: Mapping[str, float] = field(default_factory=dict)
    """By model: logit of being preferred in pairs (Bradley-Terry). 0 for models that are not named."""
    opinion: Opinion = lambda item, question: None
    """By question: true shares of the answers about single texts, averaged over people and items."""
    person_sd: float = 0.0
    """SD between people, in logits: of the difference of two models, and of the perception of a text (noise has SD
    1).
    """
    item_sd: float = 0.0
    """SD between pairs, and between texts, in logits."""
    side: float = 0.0
    """Logit that is added for the model on the left."""
    spammers: float = 0.0
    """Share of people who answer at random, in a tenth of the time."""
    attention: float = 0.98
    """Probability of giving the expected answer to gold and onboarding items."""
    ties: float = 0.0
    """Probability of a tie, if it is offered."""
    attitude: float = 0.0
    """Logit that is added to a model per SD of a person's attitude, multiplied by `attitude_toward`."""
    attitude_toward: Mapping[str, float] = field(default_factory=dict)
    """By model: direction in which the attitude affects its preference (1, 0, -1)."""
    marks: float = 0.1
    """Probability that a turn is marked."""
    skips: float = 0.1
    """Probability of skipping an optional survey question."""
    seconds: float = 30.0
    """Median time of an answer in seconds."""
    seed: int = 0


class SimulatedPerson:
    """One simulated person. The population's seed and the person's number determine all answers.

    An answer depends on the person, the item and its position in the task batch, but not on the time.
    """

    def __init__(self, population: Population, number: int):
        self.population = population
        self.number = number
        rng = self._draws("person")
        # every hundred annotators contain exactly the requested share of random answers, rounded
        place = np.random.default_rng([population.seed, number // 100]).permutation(100)[number % 100]
        self.spams = bool(place < round(100 * population.spammers))
        self.attitude = float(rng.standard_normal())
        self.taste = float(rng.standard_normal())

    def answers(self, shown: ShowItem, questions: Sequence[Question]) -> dict[str, Answer]:
        """Return the annotator's answers for one presentation. `questions` are those of the study."""
        asked = {question.id: question for question in questions}
        return {
            name: self._answer(
                shown.item,
                asked[name],
                shown,
                self._draws("answer", shown.item.id, str(shown.position), name),
            )
            for name in shown.questions
        }

    def survey(self, asked: AskSurvey) -> dict[str, Answer]:
        """Return the annotator's answers to a survey block."""
        rng = self._draws("survey", asked.block.id, *(statement.id for statement in asked.statements))
        block = asked.block
        if isinstance(block, About):
            said = {question.id: self._freely(question, rng) for question in block.questions}
            may = {question.id: not question.required for question in block.questions}
        else:
            said = {one.id: self._rating(block, one.reversed, rng) for one in asked.statements}
            may = {one.id: block.skippable for one in asked.statements}
        skips = self.population.skips
        return {
            name: Answer(None) if may[name] and rng.random() < skips else answer
            for name, answer in said.items()
        }

    def seconds(self, number: int) -> float:
        """Return the time in seconds that the person takes for the n-th item in a row."""
        median = self.population.seconds / (10 if self.spams else 1)
        return float(median * np.exp(0.4 * self._draws("seconds", str(number)).standard_normal()))

    def _draws(self, *purpose: str) -> np.random.Generator:
        return _generator(self.population.seed, str(self.number), *purpose)

    def _answer(self, item: Item, question: Question, shown: ShowItem, rng: np.random.Generator) -> Answer:
        expected = item.expected.get(question.id)
        if expected is not None and not self.spams and rng.random() < self.population.attention:
            return self._with_reason(Answer(expected), question, rng)
        if isinstance(question, PairChoice):
            return self._with_reason(Answer(self._choose_side(item, question, shown, rng)), question, rng)
        if isinstance(question, Marks):
            turns = _judged_turns(item)
            options = [option.id for option in question.options]
            chosen = {
                turn: str(rng.choice(options)) for turn in turns if rng.random() < self.population.marks
            }
            return Answer(None, marks=chosen)
        if isinstance(question, FreeText):
            return self._freely(question, rng)
        names = _list_answers(question)
        place = int(rng.integers(len(names)))
        shares = None if self.spams else self.population.opinion(item, question)
        if shares is not None:
            place = self._felt(item, question.id, shares, rng)
        return self._with_reason(Answer(names[place]), question, rng)

    def _choose_side(
        self, item: Item, question: PairChoice, shown: ShowItem, rng: np.random.Generator
    ) -> str:
        if item.pair is None:
            raise ValueError(f"{item.id} is not a pair")
        if question.tie is not None and rng.random() < self.population.ties:
            return "tie"
        its = self.population
        logit = 0.0
        for sign, conversation in zip((1, -1), item.pair, strict=True):
            model = conversation.model or ""
            liking = self._draws("taste", model).standard_normal() * its.person_sd / np.sqrt(2)
            leaning = its.attitude * self.attitude * its.attitude_toward.get(model, 0.0)
            logit += sign * (its.strengths.get(model, 0.0) + liking + leaning)
        logit += its.item_sd * _generator(its.seed, "item", item.id).standard_normal()
        logit += its.side if shown.left == "a" else -its.side
        chance = 0.5 if self.spams else 1 / (1 + np.exp(-logit))
        return "a" if rng.random() < chance else "b"

    def _felt(self, item: Item, question: str, shares: Sequence[float], rng: np.random.Generator) -> int:
        """Return the index of the answer: annotator, item and noise add up to a normal value,
        with thresholds from the shares.
        """
        its = self.population
        effect = _generator(its.seed, "item", item.id, question).standard_normal()
        spread = np.sqrt(1 + its.person_sd**2 + its.item_sd**2)
        z = (its.person_sd * self.taste + its.item_sd * effect + rng.standard_normal()) / spread
        cuts: NDArray[np.float64] = np.cumsum(np.asarray(shares, dtype=float) / np.sum(shares))[:-1]
        return int((norm.cdf(z) > cuts).sum())

    def _rating(self, scale: Scale, is_reversed: bool, rng: np.random.Generator) -> Answer:
        middle, half = (scale.low + scale.high) / 2, (scale.high - scale.low) / 2
        agreement = -self.attitude if is_reversed else self.attitude
        felt = (
            rng.uniform(-1, 1) * half
            if self.spams
            else half * (0.6 * agreement + 0.4 * rng.standard_normal()) / 1.5
        )
        return Answer(str(int(np.clip(np.floor(middle + felt + 0.5), scale.low, scale.high))))

    def _freely(self, question: Choice | Likert | FreeText, rng: np.random.Generator) -> Answer:
        if isinstance(question, FreeText):
            words = " ".join(f"{word}{rng.integers(1000)}" for word in ("simulated", "words", "number"))
            return Answer((words * (question.minimum // len(words) + 1))[: question.maximum])
        return Answer(str(rng.choice(_list_answers(question))))

    def _with_reason(
        self,
        answer: Answer,
        question: PairChoice | Choice | Likert | Marks | FreeText,
        rng: np.random.Generator,
    ) -> Answer:
        reason = getattr(question, "reason", None)
        if reason is None:
            return answer
        words = "good one" if self.spams else f"simulated reason {rng.integers(10**9)}"
        return Answer(answer.answer, reason=words + "." * max(reason.minimum - len(words), 0))


def _list_answers(question: Choice | Likert) -> list[str]:
    if isinstance(question, Choice):
        return [option.id for option in question.options]
    return [str(number) for number in range(question.low, question.high + 1)]


def _judged_turns(item: Item) -> list[int]:
    conversation: Conversation | None = item.conversation
    if conversation is None:
        return [0] if item.text is not None else []
    whose = conversation.speaker
    return [n for n, turn in enumerate(conversation.turns) if whose is None or turn.speaker == whose]


def _generator(seed: int, *names: str) -> np.random.Generator:
    digest = hashlib.blake2b("\x1f".join(names).encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "little")])
