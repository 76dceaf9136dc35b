"""Find words for the other gender that remain in a changed text: names, titles and quotations that the rules do not
change."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from sys import maxsize

from evenhand.prompts.counterfactual.changes import Change
from evenhand.prompts.counterfactual.place import WORDS, Occurrence, subjects
from evenhand.prompts.counterfactual.protecting import protected_spans
from evenhand.prompts.counterfactual.vocabulary import known_names, terms

TITLES = frozenset(("honorific", "royal"))
BEFORE_FIRST_NAMES = frozenset(("Sir", "Dame"))
OF = {"female": "women", "male": "men"}


def contradiction(text: str, changes: Sequence[Change], gender: str) -> str:
    """Return what in a counterfactual contradicts its changed words, in a few words; "" if nothing does.

    Parameters
    ----------
    text : str
        The counterfactual.
    changes : sequence of Change
        What was changed in it.
    gender : {"female", "male"}
        Of whom the text is now.

    >>> contradiction("EMILY WANTS HIS MONEY.", [Change(12, 15, 12, 15, "HER", "HIS", "pronoun", True)], "male")
    'EMILY is left (a name of women)'
    """
    if not changes:
        return ""
    other = "male" if gender == "female" else "female"
    rules = _rules(gender)
    made = {change.new_start for change in changes}
    pieces = WORDS.split(text)
    starts = [0, *accumulate(map(len, pieces))]
    spans = protected_spans(text, quotes=True)
    changed = [(change.new_start, change.new_end) for change in changes]
    about = subjects(pieces)
    found: dict[str, None] = {}
    for at in range(1, len(pieces), 2):
        word, start = pieces[at], starts[at]
        rule = None if _is_within(start, changed) else rules.get(word.lower())
        if rule is not None:
            is_protected = _is_within(start, spans)
            has_capital = word[0].isupper()
            if rule == "name" and has_capital:
                found[f"{word} is left (a name of {OF[other]})"] = None
            elif rule in TITLES and has_capital:
                found[f"{word} is left (a title of {OF[other]})"] = None
            elif is_protected:
                found[f"{word} is left (in a quotation or a title)"] = None
            elif rule != "name" and has_capital and not Occurrence(pieces, at, at, about).opens:
                found[f"{word} is left (with a capital, as in a title)"] = None
        elif start in made and word in BEFORE_FIRST_NAMES and at + 2 < len(pieces):
            name = pieces[at + 2]
            if name[0].isupper() and name.lower() not in known_names().first:
                found[f"{name} is left behind {word} (perhaps a name of {OF[other]})"] = None
    return "; ".join(found)


def _is_within(start: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a character is in one of some spans (first, end), which are in order and do not overlap."""
    last = bisect_right(spans, (start, maxsize)) - 1
    return last >= 0 and start < spans[last][1]


@cache
def _rules(gender: str) -> dict[str, str]:
    """Return the words of the other gender (lower case), each with its kind of word."""
    rules: dict[str, str] = {}
    for term in terms("gender", (), gender, True):
        if len(term.words) == 1:
            rules.setdefault(term.listed.lower(), term.rule)
    return rules
