"""Check whether rules can ever have an effect, given the maximum that the study shows to an annotator."""

from collections.abc import Iterator, Sequence
from math import comb

from evenhand.annotation.definition.items import Item
from evenhand.annotation.definition.parts import Assignment, Hidden, Onboarding
from evenhand.annotation.definition.problems import Problem
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


def idle_rules(
    questions: Sequence[Question],
    items: Sequence[Item],
    onboarding: Onboarding | None,
    hidden: Hidden,
    rules: Sequence[Rule],
    assignment: Assignment,
) -> Iterator[Problem]:
    """Yield the rules that can never have an effect, each with a suggestion."""
    units = assignment.units_per_person
    real = min(units * assignment.items_per_unit, len(items))
    gold = min(units * hidden.gold_per_unit, len(hidden.gold))
    repeated = units * min(hidden.duplicates_per_unit, assignment.items_per_unit)
    for place, rule in enumerate(rules):
        match rule:
            case OnboardingBelow():
                idle = (
                    "there is no onboarding; add `onboarding: {items: ...}`"
                    if onboarding is None
                    else _nothing_below(rule.mark)
                )
            case GoldBelow():
                idle = _too_few(
                    gold, rule.least, "gold items", "gold items or gold_per_unit"
                ) or _nothing_below(rule.mark)
            case InconsistentDuplicates():
                idle = _too_few(
                    repeated, rule.least, "repeated items", "duplicates_per_unit"
                ) or _nothing_below(rule.mark)
            case TooFast():
                idle = _too_few(real, rule.least, "items", "items_per_unit or units_per_person") or (
                    _nothing_above(rule.share)
                )
                if rule.seconds == 0:
                    idle = "no answer takes less than 0 seconds; give another number"
            case ConstantSide():
                idle = _sameness(rule, questions, real + gold)
            case CopiedReasons():
                giving = sum(
                    not isinstance(question, FreeText | Marks) and question.reason is not None
                    for question in questions
                )
                idle = (
                    "no question asks for a reason; add `reason: {}` to one"
                    if not giving
                    else _too_few(
                        giving * (real + gold + repeated),
                        rule.least,
                        "reasons",
                        "items_per_unit or units_per_person",
                    )
                    or _nothing_above(rule.share)
                )
        if idle:
            yield Problem(("rules", place), f"{rule.rule} can never act: {idle}, or take the rule out")


def _too_few(there: int, least: int, what: str, mend: str) -> str:
    if there >= least:
        return ""
    return f"a person gets at most {there} {what}, and `least` is {least}; raise {mend}, or lower `least`"


def _nothing_below(mark: float) -> str:
    return "" if mark else "nothing is below 0; raise `mark`"


def _nothing_above(share: float) -> str:
    return "" if share < 1 else "no share is above 1; lower `share`"


def _sameness(rule: ConstantSide, questions: Sequence[Question], most: int) -> str:
    if not any(isinstance(question, PairChoice | Choice | Likert) for question in questions):
        return "no question has sides or options; add one of kind pair, choice or likert"
    if few := _too_few(most, rule.least, "items", "items_per_unit or units_per_person"):
        return few
    if all(isinstance(question, PairChoice | FreeText | Marks) for question in questions):
        asked = sum(isinstance(question, PairChoice) for question in questions)
        needed = next(n for n in range(2, 10_000) if asked * _least_chance(n) < rule.p)
        if most < needed:
            return (
                f"with {asked} question{'s' * (asked != 1)} of pairs it takes {needed} pairs before chance is "
                f"less than p = {rule.p:g}, and a person gets at most {most}; "
                "raise items_per_unit or units_per_person, or `p`"
            )
    return ""


def _least_chance(pairs: int) -> float:
    """Return the probability that all answers are on one side, if a was on the left in half of the pairs."""
    return (2 if pairs % 2 == 0 else 1) / comb(pairs, pairs // 2)
