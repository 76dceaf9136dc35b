"""The study description stored with the annotators' judgements: its validity and its allowed answers."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from evenhand.schema.errors import DataError

Is = Callable[[Any], bool]
NO_MARK = "none"
"""The judgement if the annotator marked nothing."""


def check_described(study: Mapping[str, Any], where: str, hint: str) -> None:
    """Raise DataError if parts of a study have other types than readers of judgements expect; missing parts are fine.

    where: file and line, for the message.
    """
    for name, (sound, kind) in PARTS.items():
        if study.get(name) is not None and not sound(study[name]):
            raise DataError(f"{where}: the {name} of the study is not {kind}.", hint)
    names: set[str] = set()
    for place, question in enumerate(study.get("questions") or ()):
        which = f"{where}: question {place + 1} of the study"
        if not _is_text(question.get("id")):
            raise DataError(f"{which} has no id.", hint)
        if question["id"] in names:
            raise DataError(f"{which} has the same id as an earlier one.", hint)
        names.add(question["id"])
        for name, (sound, kind) in OF_QUESTIONS.items():
            if question.get(name) is not None and not sound(question[name]):
                raise DataError(f"{which}: {name} is not {kind}.", hint)


def impossible_answers(votes: pl.DataFrame, study: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return the first row (from 0) with an answer that its question does not offer, and the reason; None if all are
    valid.

    votes: the table VOTES. study: as `check_described` accepts it; questions that it does not list are not checked.
    """
    wrong: list[tuple[int, str]] = []
    for question in study.get("questions") or ():
        asked = (pl.col("question") == question["id"]) & (pl.col("role") != "survey")
        match question.get("kind"):
            case "pair":
                offered = ["a", "b", *(["tie"] if question.get("tie") is not None else [])]
            case "choice":
                offered = _options(question)
            case "marks":
                offered = [*_options(question), NO_MARK]
            case "likert":
                low, high = question.get("low", 1), question.get("high", 7)
                number = pl.col("answer").cast(pl.Float64, strict=False)
                fits = number.is_between(low, high) & (number == number.round())
                rows = _rows(votes, asked & ~fits.fill_null(value=False))
                wrong += [(row, f"not a whole number from {low} to {high}") for row in rows]
                continue
            case _:
                continue
        rows = _rows(votes, asked & ~pl.col("answer").is_in(offered))
        wrong += [(row, f"which {question['id']} does not offer ({', '.join(offered)})") for row in rows]
    return min(wrong, default=None)


def _rows(votes: pl.DataFrame, wrong: pl.Expr) -> list[int]:
    found = votes.select((wrong & pl.col("answer").is_not_null()).fill_null(value=False)).to_series()
    return found.arg_true().head(1).to_list()


def _options(question: Mapping[str, Any]) -> list[str]:
    return [option["id"] for option in question.get("options") or ()]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and not any("\ud800" <= one <= "\udfff" for one in value)


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 2**63


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _are_options(value: Any) -> bool:
    return _are_objects(value) and all(
        _is_text(one.get("id")) and _is_number(one.get("value")) for one in value
    )


def _is_number(value: Any) -> bool:
    if value is None:
        return True
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


PARTS: Mapping[str, tuple[Is, str]] = {
    "name": (_is_text, "a text"),
    "title": (_is_text, "a text"),
    "seed": (_is_whole, "a whole number"),
    "questions": (_are_objects, "a list of questions"),
    "rules": (_are_objects, "a list of rules"),
    "survey": (_are_objects, "a list of blocks"),
    "assignment": (lambda value: isinstance(value, dict), "an object"),
}
OF_QUESTIONS: Mapping[str, tuple[Is, str]] = {
    "kind": (_is_text, "a text"),
    "text": (_is_text, "a text"),
    "ordered": (lambda value: isinstance(value, bool), "true or false"),
    "options": (_are_options, "a list of options, each with an id and perhaps a number"),
    "low": (_is_whole, "a whole number"),
    "high": (_is_whole, "a whole number"),
}
