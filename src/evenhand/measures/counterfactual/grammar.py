"""Parse values of `--outcome`, which state what to read from responses: `number`, `rating:1-10`, `json:score` ..."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.schema import UsageError, checked, unknown_name

PLAIN = ("similarity", "semantic", "length", "refusal", "number", "rating", "json")
"""Kinds of outcomes: the part before the colon."""
GRAMMAR = (
    "number, rating:LOW-HIGH (rating:1-10), json:FIELD (json:score, json:a.b), length, refusal, similarity "
    "or semantic"
)
_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:-|–|\.\.|to)\s*(-?\d+(?:\.\d+)?)")
_PATH = re.compile(r"[^.\s][^.]*(?:\.[^.\s][^.]*)*")


@dataclass(frozen=True)
class Outcome:
    """One kind of value that is read from every response, such as a rating or the length.

    Result of `outcome_of`.

    Attributes
    ----------
    name : str
        What the user wrote, without blanks, for example "rating:1-10". It is the ``stratum`` of the measurements.
    kind : str
        similarity, semantic, length, refusal, number, rating or json.
    scale : tuple of float, optional
        Lowest and highest value of a rating.
    path : tuple of str
        Keys that lead to a JSON field, outermost first.
    """

    name: str
    kind: str
    scale: tuple[float, float] | None = None
    path: tuple[str, ...] = ()


@checked
def outcome_of(text: str) -> Outcome:
    """Parse one value of the option `--outcome`, which states what to read from each response.

    Use it to check an outcome before a run.

    Parameters
    ----------
    text : str
        similarity, semantic, length, refusal, number, rating:LOW-HIGH ("rating:1-10") or json:FIELD
        ("json:person.score").

    Returns
    -------
    Outcome
        Its kind, with the scale of a rating or the path of a JSON field.

    Raises
    ------
    UsageError
        The kind is unknown, a rating has no scale or one that does not increase, a JSON outcome has no field, or a
        kind without options has one.

    Examples
    --------
    >>> outcome_of("rating:1-10").scale, outcome_of("json:person.score").path
    ((1.0, 10.0), ('person', 'score'))
    """
    kind, colon, rest = text.strip().partition(":")
    kind, rest = kind.strip().lower(), rest.strip()
    if kind not in PLAIN:
        raise unknown_name("outcome", kind, PLAIN)
    if kind == "rating":
        match = _SCALE.fullmatch(rest)
        if match is None or float(match[1]) >= float(match[2]):
            raise UsageError(
                f"Outcome {text!r}: expected a scale LOW-HIGH, with LOW smaller than HIGH.",
                "For example: rating:1-10",
            )
        low, high = float(match[1]), float(match[2])
        return Outcome(f"rating:{low:g}-{high:g}", kind, scale=(low, high))
    if kind == "json":
        if _PATH.fullmatch(rest) is None:
            raise UsageError(
                f"Outcome {text!r}: the name of the JSON field is missing or invalid.",
                "Use json:FIELD, or json:a.b for the field b inside a.",
            )
        return Outcome(f"json:{rest}", kind, path=tuple(part.strip() for part in rest.split(".")))
    if colon:
        raise UsageError(
            f"Outcome {text!r}: {kind!r} does not accept a value after the colon.",
            f"Remove the colon and the value. Outcomes are {GRAMMAR}.",
        )
    return Outcome(kind, kind)


def outcomes_of_texts(texts: Sequence[str]) -> tuple[Outcome, ...]:
    """Parse several values of the option `--outcome`, without duplicates and in their order.

    >>> [outcome.name for outcome in outcomes_of_texts(["length", "Length", "json: score"])]
    ['length', 'json:score']
    """
    return tuple({outcome.name: outcome for outcome in map(outcome_of, texts)}.values())
