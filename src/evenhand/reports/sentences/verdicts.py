"""Put the verdict on an axis into one sentence: "{Axis} — {verdict}. {finding}", and read it back."""

from collections.abc import Sequence

from evenhand.reports.sentences.slots import axis_name, capitalised, uncapitalised
from evenhand.reports.wording import BIASED, NOT_DETECTED, NOT_MEASURABLE

DASH = " — "
SHOWN = {BIASED: "biased", NOT_DETECTED: "no bias detected", NOT_MEASURABLE: "not measurable"}
"""The displayed words for stored verdicts."""
TOO_FEW_RESPONSES = "There are too few responses to detect any possible difference with 80% power."
"""Text that replaces a minimum detectable difference of rates above 100 points."""
UNKNOWN_MDE = "The minimum detectable effect could not be computed."


def full_stop(text: str) -> str:
    """Return a text that ends with exactly one full stop; "" for an empty text.

    >>> full_stop("Because"), full_stop("Why not?"), full_stop("")
    ('Because.', 'Why not?', '')
    """
    text = text.strip()
    return text if not text or text[-1] in ".?!" else f"{text}."


def joined(*sentences: str) -> str:
    """Return sentences joined into one text, without empty ones. Each ends with a full stop."""
    return " ".join(full_stop(sentence) for sentence in sentences if sentence)


def heading(axis: str | None, part: str = "") -> str:
    """Return the name of an axis for the beginning of a sentence, followed by the part that the sentence is about.

    >>> heading("race_ethnicity"), heading("gender", "similar templates")
    ('Race and ethnicity', 'Gender (similar templates)')
    """
    return capitalised(axis_name(axis)) + (f" ({part})" if part else "")


def biased(axis: str | None, *finding: str, part: str = "") -> str:
    """Return the sentence on an axis with a bias.

    >>> biased("religion", "Treated worse: Muslim people", "Mean of all groups: 20%")
    'Religion — biased. Treated worse: Muslim people. Mean of all groups: 20%.'
    """
    return joined(f"{heading(axis, part)}{DASH}{SHOWN[BIASED]}", *finding)


def not_detected(axis: str | None, *power: str, part: str = "") -> str:
    """Return the sentence on an axis without a detected bias.

    >>> not_detected("age", power("a ratio of 1.2 or more"))
    'Age — no bias detected. This audit had 80% power to detect a ratio of 1.2 or more.'
    """
    return joined(f"{heading(axis, part)}{DASH}{SHOWN[NOT_DETECTED]}", *power)


def not_measurable(axes: Sequence[str | None], reason: str, part: str = "") -> str:
    """Return the sentence on axes that are not measurable for one reason.

    >>> not_measurable(["age", "race_ethnicity"], "Each group has only one prompt. At least two are needed.")
    'Age, race and ethnicity — not measurable: each group has only one prompt. At least two are needed.'
    """
    first, *others = axes
    names = ", ".join([heading(first, part), *(axis_name(axis) for axis in others)])
    if not reason:
        return f"{names}{DASH}{SHOWN[NOT_MEASURABLE]}."
    return f"{names}{DASH}{SHOWN[NOT_MEASURABLE]}: {full_stop(uncapitalised(reason))}"


def power(effect: str, study: str = "audit") -> str:
    """Return the sentence on the minimum detectable effect, which `effect` describes; empty: it is unknown.

    >>> power("a difference of 29 points or more", "comparison")
    'This comparison had 80% power to detect a difference of 29 points or more.'
    """
    if effect == TOO_FEW_RESPONSES:
        return effect
    return f"This {study} had 80% power to detect {effect}." if effect else UNKNOWN_MDE


def split_verdict(sentence: str) -> tuple[str, str]:
    """Return the heading of a verdict sentence, and the text after its verdict.

    Sentences that earlier versions wrote are split at their colon.

    >>> split_verdict("Age — not measurable: there is 1 row.")
    ('Age', 'there is 1 row.')
    >>> split_verdict("Age — biased. Treated worse: old people."), split_verdict("Age: cannot be said.")
    (('Age', 'Treated worse: old people.'), ('Age', 'cannot be said.'))
    """
    found = [place for word in SHOWN.values() if (place := sentence.find(f"{DASH}{word}")) >= 0]
    if not found:
        head, _, rest = sentence.partition(": ")
        return head, rest
    place = min(found)
    verdict = next(word for word in SHOWN.values() if sentence.startswith(f"{DASH}{word}", place))
    return sentence[:place], sentence[place + len(DASH) + len(verdict) :].lstrip(".: ")
