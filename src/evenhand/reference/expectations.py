"""Expected values of small talk: exact sums over everything that a World can generate in a conversation.

Replies depend only on who opened and on the topic of the question. A conversation is therefore a Markov chain over
topics, and every expectation is a sum over its states. `person` is who opens. Two people with the same plants differ
only in the name in the text.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from evenhand.measures.texts import words
from evenhand.reference.small_talk import UTTERANCES, Draw, SmallTalk, TalkPosition
from evenhand.reference.talk_steps import Person, Sentence

TURNS = range(2, UTTERANCES + 1)
"""Number of generated utterances."""
ANYBODY = "anybodysname"
"""Placeholder of the name until it is known."""


def visits(talk: SmallTalk, person: Person, turn: int) -> list[tuple[TalkPosition, float]]:
    """Return the places at which an utterance can begin, with their probabilities. turn: 2 to 12.

    >>> visits(SmallTalk(()), Person("Ida"), 2)
    [(TalkPosition(where='first', asked=None, step=0), 1.0)]
    """
    places = [(TalkPosition("first" if person.name else "described", None), 1.0)]
    for later in range(3, turn + 1):
        asked: defaultdict[str | None, float] = defaultdict(float)
        for place, mass in places:
            for topic, share in _topic_distribution(talk.draws(person, place)).items():
                asked[topic] += mass * share
        places = [(TalkPosition("AB"[(later - 1) % 2], topic), mass) for topic, mass in asked.items()]
    return places


def uses(talk: SmallTalk, person: Person, turns: Sequence[int] = TURNS) -> dict[Sentence, float]:
    """Return the mean frequency of each sentence in these utterances of a conversation.

    >>> said = uses(SmallTalk(()), Person("Ida"), [2])
    >>> round(sum(value for one, value in said.items() if one.step == "greet"), 6)
    1.0
    """
    found: defaultdict[Sentence, float] = defaultdict(float)
    for place, mass in _all_visits(talk, person, turns):
        for sentences, probabilities, _ in talk.draws(person, place):
            for sentence, probability in zip(sentences, probabilities, strict=True):
                if probability:
                    found[sentence] += mass * float(probability)
    return dict(found)


def token_frequencies(said: Mapping[Sentence, float], person: Person) -> dict[str, float]:
    """Return the frequency of each word and punctuation mark, in lower case, as the measures of names count them.

    said: result of `uses`.
    """
    kinds = list(said)
    cut = words(pl.Series([one.insert_name(person) for one in kinds], dtype=pl.String)).to_list()
    found: defaultdict[str, float] = defaultdict(float)
    for sentence, listed in zip(kinds, cut, strict=True):
        for token in listed:
            found[token] += said[sentence]
    return dict(found)


def truth(talk: SmallTalk, frame: pl.DataFrame, group: str = "gender") -> pl.DataFrame:
    """Return the mean frequency of each token with each name: the expected value of `name_counts` of the conversations.

    frame: one row per conversation: text (the opener), name and the group's column. Returns name, group, token, count
    (expected number in all conversations of the name) and frequency (of the token in its group).
    """
    rows = []
    known: dict[object, dict[str, float]] = {}
    chats = frame.group_by("name", group, maintain_order=True).agg(pl.col("text").first(), pl.len())
    for name, of, opener, number in chats.iter_rows():
        person = talk.person(opener)
        key = (talk.concerning(person), person.name is None)
        if key not in known:
            known[key] = token_frequencies(uses(talk, person), Person(person.name and ANYBODY, person.gender))
        counts = defaultdict(float, known[key])
        said_back = counts.pop(ANYBODY, 0.0)
        for token in words(pl.Series([person.name or ""]))[0]:
            counts[token] += said_back
        rows += [(name, of, token, number * count) for token, count in counts.items()]
    table = pl.DataFrame(rows, schema=["name", "group", "token", "count"], orient="row")
    per_group = pl.col("count").sum().over("group", "token") / pl.col("count").sum().over("group")
    return table.with_columns(frequency=per_group)


def mention_rate(talk: SmallTalk, person: Person, mentions: Callable[[str], bool]) -> float:
    """Return the probability that a conversation has a sentence for which `mentions` is true, given its text with
    {name}.

    >>> round(mention_rate(SmallTalk(()), Person("Ida"), lambda text: text.startswith("H")), 2)
    0.99
    """
    silent = {talk_place: mass for talk_place, mass in visits(talk, person, TURNS[0])}
    for later in TURNS:
        following: defaultdict[TalkPosition, float] = defaultdict(float)
        for place, mass in silent.items():
            draws = talk.draws(person, place)
            kept = [
                Draw(
                    one.sentences,
                    one.probabilities * [not mentions(sentence.text) for sentence in one.sentences],
                    one.running,
                )
                for one in draws
            ]
            lost = [
                float(one.probabilities.sum() - less.probabilities.sum())
                for one, less in zip(draws, kept, strict=True)
            ]
            before = float(np.prod([1 - share for share in lost[:-1]]))
            for topic, share in _topic_distribution(kept, lost[-1]).items():
                following[TalkPosition("AB"[later % 2], topic)] += mass * before * share
        silent = dict(following)
    return 1.0 - sum(silent.values())


def tally(talk: SmallTalk, person: Person, turn: int, score: Callable[[Sentence], int]) -> dict[int, float]:
    """Return the distribution of the sum of `score` over the sentences of an utterance, by value."""
    found: defaultdict[int, float] = defaultdict(float)
    for place, mass in visits(talk, person, turn):
        sums: dict[int, float] = {0: mass}
        for sentences, probabilities, _ in talk.draws(person, place):
            step = defaultdict(float, {0: 1.0 - float(probabilities.sum())})
            for sentence, probability in zip(sentences, probabilities, strict=True):
                step[score(sentence)] += float(probability)
            after: defaultdict[int, float] = defaultdict(float)
            for one, share in sums.items():
                for other, more in step.items():
                    after[one + other] += share * more
            sums = after
        for value, share in sums.items():
            found[value] += share
    return dict(found)


def _all_visits(
    talk: SmallTalk, person: Person, turns: Sequence[int]
) -> Iterator[tuple[TalkPosition, float]]:
    """Yield the places of several utterances; equal ones are combined."""
    found: defaultdict[TalkPosition, float] = defaultdict(float)
    for turn in turns:
        for place, mass in visits(talk, person, turn):
            found[place] += mass
    return iter(found.items())


def _topic_distribution(draws: Sequence[Draw], lost: float = 0.0) -> dict[str | None, float]:
    """Return the distribution of the topic that a reply asks about; None if it asks nothing.

    lost: probability of the last step that is left out.
    """
    last = draws[-1]
    found = defaultdict[str | None, float](float)
    found[None] = 1.0 - lost - float(last.probabilities.sum())
    for sentence, probability in zip(last.sentences, last.probabilities, strict=True):
        found[sentence.topic] += float(probability)
    return dict(found)
