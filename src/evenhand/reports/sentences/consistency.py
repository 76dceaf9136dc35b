"""Sentences on a consistency check: which tests pass, fail or need more data."""

import re
from collections.abc import Sequence

from evenhand.reports.sentences.slots import capitalised, name_list

QUESTIONS = {
    "effect": "Does the method lower harm?",
    "polarity": "Does the opposite instruction have the opposite effect?",
    "importance": "Do the words of the instruction matter?",
    "transfer": "Do the results hold on neutral prompts, too?",
}
RULES = {
    "tested": "A test passes or fails if the intervals show it for similar prompts and nonsense; otherwise it is "
    "undecided.",
    "strict": "The rule in the text of the paper, applied to point estimates.",
    "paper": "The rule that the authors of the paper used: a control fails the method only if it is as good and "
    "differs "
    "significantly from the default. Transfer passes if both domains give the same pattern.",
}
NOT_APPLICABLE = "The tests do not apply to this method."
NOTHING_TO_LOWER = "there is almost no harm to lower"
UNIT = "Percentages refer to the effect of the method's own words."
AT_BOUNDARY = "The true value seems to be at the boundary, where no feasible number of prompts decides."
NO_NUMBER = "With these values, no feasible number of prompts and wordings would decide."


def with_ci(text: str) -> str:
    """Return a text with minus signs and with its intervals named.

    >>> with_ci("by 12% (-8% to 20%), -3 points")
    'by 12% (95% CI −8 to 20), −3 points'
    """
    text = re.sub(r"(?<!\w)-(?=\d)", "−", text)
    return re.sub(r"\((−?[\d.,]+)%? to (−?[\d.,]+)%?\)", r"(95% CI \1 to \2)", text)


def list_tests(named: Sequence[tuple[str, Sequence[str], str]], does: str) -> str:
    """Return a list of tests with the same outcome as text.

    named: test, domains of prompts, and size of the effect ("" if it is not stated). does: verb, such as "passes".
    """
    parts = []
    for test, domains, amount in named:
        where = f" on {name_list(domains, len(domains))} prompts" if domains else ""
        size = re.sub(r" \((95% CI [^()]*)\)", r", \1", with_ci(amount)).rstrip(",")
        parts.append(f"{test} {does}{where}{f' ({size})' if size else ''}")
    return "; ".join(parts)


def _with_unit(text: str) -> str:
    relative = "reaches" in text or (" by " in text and re.search(r"\d%(?! CI)", text))
    return f"{text} {UNIT}" if relative else text


def not_consistent(failed: str) -> str:
    """Return a sentence stating that tests failed. failed: as `list_tests` gives it."""
    return _with_unit(f"Not consistent: {failed}.")


def not_effective(changes: Sequence[tuple[str, str]]) -> str:
    """Return a sentence stating that the method does not lower harm.

    changes: domain of prompts, and how harm changed there.
    """
    where = "; ".join(f"on {domain} prompts, harm {with_ci(change)}" for domain, change in changes)
    return f"Not effective: {where or NOTHING_TO_LOWER}. Consistency was not tested."


def undecided(open_tests: str, passed: str) -> str:
    """Return a sentence stating that tests need more data. open_tests, passed: as `list_tests` gives them."""
    others = f" {capitalised(passed)}." if passed else ""
    return _with_unit(f"Undecided: {open_tests}.{others}")


def consistent(passed: str, *, partly: bool) -> str:
    """Return a sentence stating that all tests that apply passed. partly: whether some do not apply."""
    return _with_unit(f"{'Consistent where the tests apply' if partly else 'Consistent'}: {passed}.")


def advice(prompts: int, wordings: int | None, *, near: bool, more_prompts: bool) -> str:
    """Return a sentence on how many prompts would decide an open test.

    prompts, wordings: numbers with which the test would be decided with 80% power. near: whether the true value seems
    to be near the boundary of the test. more_prompts: whether more prompts without more wordings would help.

    >>> advice(300, 40, near=False, more_prompts=False)
    'More prompts alone do not help: about 300 prompts with 40 nonsense wordings would give 80% power.'
    """
    many = f"about {prompts:,} prompts"
    if wordings is not None:
        many += f" with {wordings} nonsense wordings"
    text = f"{many} would give 80% power."
    if near:
        return f"The true value seems to be near the boundary. If it is as observed, {text}"
    return capitalised(text) if more_prompts else f"More prompts alone do not help: {text}"
