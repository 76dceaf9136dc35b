"""Summarise a study before it starts: the numbers of judgements, task batches and annotators, and its
rules in words.
"""

from collections import Counter
from dataclasses import dataclass
from math import ceil

from evenhand.annotation.definition.items import Item
from evenhand.annotation.definition.parts import About, Block
from evenhand.annotation.definition.questions import Choice, FreeText, Likert, Marks, PairChoice, Question
from evenhand.annotation.definition.rules import (
    ConstantSide,
    CopiedReasons,
    GoldBelow,
    InconsistentDuplicates,
    OnboardingBelow,
    Rule,
    TooFast,
)
from evenhand.annotation.definition.study import Study
from evenhand.annotation.definition.surveys import list_statements
from evenhand.stats.votes import LEAST_LEVELS

FOLLOWS = {
    "block": "the annotator may finish the unit but gets no other; all their answers are excluded",
    "exclude": "the annotator continues, but all their answers are excluded from the analysis",
    "flag": "only the admin is notified",
}


@dataclass(frozen=True)
class Outline:
    """Summary of a study: required numbers of judgements and annotators, and a description line by line."""

    showings: int
    """Number of judgements of real items: items times annotators per item."""
    answers: int
    """Number of judgements times questions."""
    units: int
    """Minimum number of task batches (units) of `items_per_unit` real items."""
    people: int
    """Minimum number of annotators, if each takes as many task batches as allowed."""
    lines: tuple[tuple[str, str], ...]
    """Title and text of each line: items, questions, ..., rules."""
    obstacle: str | None = None
    """Reason why the analysis could detect nothing with any judgements; None if it could."""


def outline(study: Study) -> Outline:
    """Return a summary of a study.

    No annotator judges a conversation twice. A conversation in several items therefore needs different annotators for
    each.

    >>> from evenhand.annotation.definition import template
    >>> texts = [{"id": n, "text": "a text"} for n in range(20)]
    >>> outline(Study.model_validate({**template("regard"), "items": texts})).units
    6
    """
    assignment = study.assignment
    each, in_unit = assignment.annotations_per_item, min(assignment.items_per_unit, len(study.items))
    showings = len(study.items) * each
    answers = showings * len(study.questions)
    units = ceil(showings / in_unit)
    shared = max(Counter(name for item in study.items for name in set(item.conversations)).values())
    of_person = min(assignment.units_per_person * in_unit, len(study.items))
    people = max(each * shared, ceil(showings / of_person))
    obstacle = _obstacle(study, max(units, people))
    lines = (
        ("Study", f"{study.name}: {study.title}"),
        ("Items", _items(study)),
        *(("Question", _question(question)) for question in study.questions),
        (
            "Votes",
            f"{showings:,} ({_many(len(study.items), 'item')} x {each} {_people(each)}), each of "
            f"{_many(len(study.questions), 'answer')}: {_many(answers, 'answer')}",
        ),
        ("Units", f"at least {units:,}, of {_unit(study)}; at most {assignment.units_per_person} per person"),
        ("People", _describe_needed(people, each, shared)),
        *([("Analysis", obstacle)] if obstacle else []),
        *(("Survey", _block(block)) for block in study.survey),
        *(("Rule", f"{in_words(rule)}: {FOLLOWS[rule.action]}") for rule in study.rules),
        *([] if study.rules else [("Rule", "none: all answers count")]),
        (
            "Time",
            f"an item without an answer after {assignment.lease_minutes:g} minutes goes to another annotator",
        ),
        *([("Linked", ", ".join(assignment.linked))] if assignment.linked else []),
    )
    return Outline(showings, answers, units, people, lines, obstacle)


def in_words(rule: Rule) -> str:
    """Return a sentence part that describes when an exclusion rule applies.

    >>> in_words(TooFast(seconds=3, share=0.5, least=3))
    'more than 50 % of at least 3 items answered in less than 3 s'
    """
    match rule:
        case OnboardingBelow():
            return f"less than {_percent(rule.mark)} of the onboarding items right"
        case GoldBelow():
            return f"less than {_percent(rule.mark)} of at least {rule.least} gold items right"
        case InconsistentDuplicates():
            return (
                f"less than {_percent(rule.mark)} of at least {rule.least} repeated items answered as before"
            )
        case TooFast():
            return (
                f"more than {_percent(rule.share)} of at least {rule.least} items answered in less than "
                f"{rule.seconds:g} s"
            )
        case ConstantSide():
            return (
                f"always the same side or option in at least {rule.least} answers, where chance would do so with "
                f"less than {rule.p:g}"
            )
        case CopiedReasons():
            return f"more than {_percent(rule.share)} of at least {rule.least} reasons said before, or copied"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _people(number: int) -> str:
    return "person" if number == 1 else "people"


def _describe_items(items: tuple[Item, ...]) -> str:
    kinds = Counter(item.kind for item in items)
    return ", ".join(_many(number, kind) for kind, number in kinds.items())


def _items(study: Study) -> str:
    parts = [_describe_items(study.items)]
    if study.onboarding:
        times = _many(study.onboarding.attempts, "time")
        parts.append(f"onboarding: {len(study.onboarding.items)}, at most {times}")
    if study.hidden.gold:
        parts.append(f"{len(study.hidden.gold)} gold")
    return "; ".join(parts)


def _unit(study: Study) -> str:
    hidden = study.hidden
    parts = [_many(min(study.assignment.items_per_unit, len(study.items)), "item")]
    if hidden.gold_per_unit:
        parts.append(f"{hidden.gold_per_unit} gold")
    if hidden.duplicates_per_unit:
        parts.append(f"{hidden.duplicates_per_unit} repeated")
    return ", ".join(parts)


def _question(question: Question) -> str:
    match question:
        case PairChoice():
            told = "which of two" + (", or neither" if question.tie else "")
        case Choice():
            told = f"one of {', '.join(option.id for option in question.options)}"
        case Likert():
            told = f"{question.low} to {question.high}"
        case Marks():
            told = f"turns marked {', '.join(option.id for option in question.options)}"
        case FreeText():
            told = f"a text of {question.minimum:,} to {question.maximum:,} characters"
    if not isinstance(question, Marks | FreeText) and (reason := question.reason):
        told += f"; a reason of at least {reason.minimum} characters" + (
            "" if reason.required else ", if they like"
        )
    return f"{question.id} ({told}{'' if question.required else '; may be skipped'}): {question.text}"


def _obstacle(study: Study, people: int) -> str | None:
    """Return why no result is possible: too few items, or too few annotators before all items are judged."""
    if len(study.items) < LEAST_LEVELS:
        return f"no result is possible from {_many(len(study.items), 'item')}: at least {LEAST_LEVELS} are needed"
    if people >= LEAST_LEVELS:
        return None
    assignment = study.assignment
    enough = (LEAST_LEVELS - 1) * assignment.items_per_unit // assignment.annotations_per_item + 1
    return (
        f"no result is possible: everything is judged after {people} people, and at least {LEAST_LEVELS} are needed; "
        f"use {enough} items, or set a smaller items_per_unit"
    )


def _describe_needed(people: int, each: int, shared: int) -> str:
    if people == each * shared and shared > 1:
        return f"at least {people:,}, because one conversation is in {shared:,} items and no annotator sees it twice"
    return f"at least {people:,}; more if some are excluded"


def _block(block: Block) -> str:
    if isinstance(block, About):
        return f"{block.id}: {_many(len(block.questions), 'question')} about the person, once"
    there = len(list_statements(block))
    many = f"{block.draw} of {there}" if block.draw else f"{there}"
    return f"{block.id}: {many} statements a unit, {block.low} to {block.high}"
