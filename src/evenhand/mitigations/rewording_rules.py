"""Rewording by rules: synonyms, an opening, a sentence more or less. No model is needed, and nothing is understood."""

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.mitigations.revision_screen import normalised

SYNONYMS = (
    ("the text below", "the following text", "the text that follows", "the passage below"),
    ("everyone", "everybody", "every person", "each person"),
    ("speaks of", "talks about", "writes about"),
    ("with respect", "with dignity", "with kindness", "with esteem", "with fairness", "respectfully"),
    ("relying on stereotypes", "falling back on stereotypes", "using stereotypes", "resorting to clichés"),
    ("stereotypes", "clichés", "prejudices", "ready-made ideas about people"),
    ("deserve", "are owed", "have a right to", "are entitled to"),
    ("the same treatment", "equal treatment", "the same regard", "the same courtesy"),
    ("nothing should be assumed", "nothing is to be assumed", "nothing should be taken for granted"),
    ("when nothing is known about", "if nothing is known about", "where nothing is known about"),
    ("describe", "portray", "depict", "present"),
    ("this person", "the person", "the person in question"),
    ("anybody else", "anyone else", "any other person"),
    ("polite", "courteous", "civil", "well-mannered"),
    ("respectful", "considerate", "appreciative"),
    ("kind", "friendly", "gentle", "warm-hearted"),
    ("helpful", "supportive", "constructive"),
    ("fair", "even-handed", "just", "impartial"),
    ("positive", "encouraging", "hopeful"),
    ("modest", "humble", "unassuming"),
    ("avoid", "refrain from", "keep away from"),
    ("never", "at no time"),
    ("always", "at all times"),
)
"""Phrases that may stand in each other's place; none of a row has more negations than another."""
OPENINGS = ("Please note: ", "Keep in mind: ", "Important: ", "Remember: ", "A rule for this text: ")
ADDITIONS = (
    "This holds for all people alike.",
    "Judge people by what they do.",
    "Use fair and warm words.",
    "Every person has dignity.",
    "Think of how those who are spoken of would feel.",
    "Give people the benefit of the doubt.",
)
"""Sentences that go beyond other words: what Zhou et al. leave to chance and ROBBIE asks of its reviser."""
MOST_SENTENCES = 4
VERSION = 1
_SENTENCE = re.compile(r"[^.!?]+[.!?]*\s*")


@dataclass(frozen=True)
class RulesReviser:
    """Rewords by rules: one change, or two, of those that `changes` lists, drawn by the seed and the instruction.

    For tests, and for those without a model that follows instructions: its English is plain and its ideas are few.

    >>> RulesReviser().reword(["Be kind."], variants=2, seed=0)
    [['Be kind. Think of how those who are spoken of would feel.', 'Be warm-hearted.']]
    """

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Name and a hash of the rules."""
        rules = repr((SYNONYMS, OPENINGS, ADDITIONS, MOST_SENTENCES, VERSION))
        return {"name": "rules", "rules": hashlib.sha256(rules.encode()).hexdigest()[:16]}

    def reword(self, instructions: Sequence[str], variants: int, seed: int) -> list[list[str]]:
        """See Reviser.reword; fewer than `variants` where the rules have no more to say."""
        return [_drawn(text, variants, random.Random(f"{seed} {text}")) for text in instructions]


def changes(instruction: str) -> list[str]:
    """All instructions that one rule makes of one, each different from it and from the others.

    A phrase becomes a synonym; an opening is put in front, exchanged or taken away; a sentence is added (of
    ADDITIONS), taken away, or put first.

    >>> [text for text in changes("Be kind.") if text.startswith("Be") and "." not in text[:-1]]
    ['Be friendly.', 'Be gentle.', 'Be warm-hearted.']
    """
    opening, body = _opened(" ".join(instruction.split()))
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(body)] or [body]
    made = [opening + text for text in _with_synonyms(body)]
    made += [other + body for other in ("", *OPENINGS) if other != opening]
    if len(sentences) < MOST_SENTENCES:
        said = normalised(body)
        made += [f"{opening}{_ended(body)} {more}" for more in ADDITIONS if normalised(more) not in said]
    if len(sentences) > 1:
        for i in range(len(sentences)):
            rest = sentences[:i] + sentences[i + 1 :]
            made.append(opening + " ".join(rest))
            if i:
                made.append(opening + " ".join([_ended(sentences[i]), *rest]))
    distinct = {normalised(text): text for text in reversed(made)}
    distinct.pop(normalised(instruction), None)
    return [text for text in dict.fromkeys(made) if distinct.get(normalised(text)) == text]


def _drawn(instruction: str, variants: int, generator: random.Random) -> list[str]:
    first = changes(instruction)
    generator.shuffle(first)
    found: dict[str, str] = {}
    own = normalised(instruction)
    for text in first:
        if len(found) == variants:
            break
        if generator.random() < 0.5:
            further = changes(text)
            text = further[generator.randrange(len(further))]
        if normalised(text) != own:
            found.setdefault(normalised(text), text)
    return list(found.values())


def _with_synonyms(body: str) -> list[str]:
    made = []
    for row in SYNONYMS:
        # longest first: of two phrases that begin alike the longer one is meant
        pattern = "|".join(re.escape(phrase) for phrase in sorted(row, key=len, reverse=True))
        whole = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)
        for said in dict.fromkeys(found[0].lower() for found in whole.finditer(body)):
            made += [whole.sub(_put(other, said), body) for other in row if other != said]
    return made


def _put(other: str, said: str) -> Callable[[re.Match[str]], str]:
    """The other phrase wherever that one is said, so that a wording stays the same throughout a text."""

    def put(found: re.Match[str]) -> str:
        if found[0].lower() != said:
            return found[0]
        return other[0].upper() + other[1:] if found[0][0].isupper() else other

    return put


def _opened(text: str) -> tuple[str, str]:
    for opening in OPENINGS:
        if text.startswith(opening) and len(text) > len(opening):
            return opening, text[len(opening) :]
    return "", text


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence.rstrip(' :,;')}."
