"""Describe pydantic's errors in a study file: the value, what was expected, and the word that was probably meant."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from evenhand.annotation.definition.problems import Path, Problem
from evenhand.annotation.definition.study import INCOHERENT, Study, get_problems
from evenhand.schema import did_you_mean

TAGGED = ("questions", "rules", "survey")
"""Lists with elements of several kinds; pydantic adds the kind to the path."""
KEY_PATTERN = "a to z, 0 to 9, _ and -, a letter first, at most 60"
OF_ONE_VALUE = ("str", "float", "bool", "none", "int", "constrained-str")


def describe_errors(errors: list[ErrorDetails]) -> Iterator[Problem]:
    """Yield problems of a study from pydantic's errors, one per place."""
    said: set[Path] = set()
    around = {error["loc"][:depth] for error in errors for depth in range(len(error["loc"]))}
    for error in errors:
        if error["type"] == "too_short" and error["loc"] in around:
            continue  # pydantic also counts valid elements
        if error["type"] == INCOHERENT:
            yield from get_problems(error["ctx"])
            continue
        path, kind = _without_tags(error["loc"])
        if path not in said:
            said.add(path)
            yield Problem(path, _sentence(error, path, kind))


def _without_tags(location: tuple[str | int, ...]) -> tuple[Path, type[BaseModel] | None]:
    """Return a path as it is in the file, and the model that has its last step as a field."""
    path: list[str | int] = []
    kinds: list[type[BaseModel]] = [Study]
    owner: type[BaseModel] | None = Study
    steps = list(location)
    while steps:
        step = steps.pop(0)
        path.append(step)
        owner = kinds[0] if len(kinds) == 1 else None
        if isinstance(step, int):
            if len(path) > 1 and path[-2] in TAGGED and steps:
                kinds = [kind for kind in kinds if steps[0] in _list_tags(kind)]
                steps.pop(0)
            continue
        fields = kinds[0].model_fields if len(kinds) == 1 else {}
        if step in fields:
            kinds = list(_list_models(fields[step].annotation))
            # in a dict of values, keys are steps of the path, but the tried kinds of value are not
            if not kinds:
                rest = [part for part in steps if part not in ("[key]", *OF_ONE_VALUE)]
                return (*path, *rest), owner
    return tuple(path), owner


def _list_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _list_models(part)


def _list_tags(kind: type[BaseModel]) -> tuple[Any, ...]:
    return tuple(kind.model_fields[name].default for name in ("kind", "rule") if name in kind.model_fields)


def _sentence(error: ErrorDetails, path: Path, owner: type[BaseModel] | None) -> str:
    context: dict[str, Any] = error.get("ctx", {})
    given = _format_value(error["input"])
    last = str(path[-1]) if path else ""
    if path[-2:-1] == ("groups",):
        return f"is {given}; expected text, a number, true, false or nothing"
    match error["type"]:
        case "missing":
            return f"is missing; expected {_expectation(owner, last)}"
        case "extra_forbidden":
            known = list(owner.model_fields) if owner else []
            return (
                f"there is no such key; expected one of {', '.join(known)}{did_you_mean(last, known, '. ')}"
            )
        case "union_tag_invalid":
            known = [word.strip(" '") for word in context["expected_tags"].split(",")]
            name = context["discriminator"].strip("'")
            return f"{name} is {context['tag']!r}; expected one of {', '.join(known)}" + did_you_mean(
                context["tag"], known, ". "
            )
        case "union_tag_not_found":
            return (
                f"lacks {context['discriminator'].strip(chr(39))}; expected a word that says which kind it is"
            )
        case "literal_error" if path == ("evenhand_study",):
            return f"is {given}; this evenhand reads version 1 (to have a newer one: pip install --upgrade evenhand)"
        case "literal_error":
            known = [word.strip(" '") for word in context["expected"].replace(" or ", ", ").split(",")]
            return f"is {given}; expected {context['expected']}" + did_you_mean(
                str(error["input"]), known, ". "
            )
        case "string_pattern_mismatch":
            return f"is {given}; expected {_pattern(owner, last, context['pattern'])}"
        case "string_type":
            mend = "; put it in quotes" if isinstance(error["input"], int | float) else ""
            return f"is {given}; expected text{mend}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"is {given}; expected keys with values (`key: value`)"
        case "tuple_type":
            return f"is {given}; expected a list"
        case "too_short" | "too_long" if isinstance(error["input"], str | int):
            return _characters(len(str(error["input"])), context)
        case "too_short":
            return f"has {_entries(context['actual_length'])}; expected at least {context['min_length']}"
        case "too_long":
            return f"has more than {context['max_length']:,} entries, the most there may be"
        case "string_too_short":
            return f"is {given}; expected at least {context['min_length']} character"
        case "string_too_long":
            return _characters(len(error["input"]), context)
        case "value_error":
            return str(context["error"])
        case "int_type" | "int_parsing" | "int_from_float" | "int_parsing_size":
            return f"is {given}; expected a whole number"
        case "float_type" | "float_parsing" | "finite_number":
            return f"is {given}; expected a number"
        case "bool_type" | "bool_parsing":
            return f"is {given}; expected true or false"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            return f"is {given}; expected {_limit(error['type'], context)}"
    return f"is {given}; {error['msg'][:1].lower()}{error['msg'][1:]}"


def _characters(number: int, context: Mapping[str, Any]) -> str:
    if "max_length" in context:
        return f"has {number:,} characters; expected at most {context['max_length']:,}"
    return f"has {number:,} characters; expected at least {context['min_length']}"


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _limit(kind: str, context: dict[str, Any]) -> str:
    words = {"ge": "or more", "le": "or less"}
    name, value = next(iter(context.items()))
    if name in words:
        return f"{value:g} {words[name]}"
    return f"{'more' if kind == 'greater_than' else 'less'} than {value:g}"


def _expectation(owner: type[BaseModel] | None, name: str) -> str:
    if owner is None or name not in owner.model_fields:
        return "a value there"
    if name == "evenhand_study":
        return "`evenhand_study: 1` in the first line"
    kinds = list(_list_models(owner.model_fields[name].annotation))
    if kinds:
        return "a list" if "tuple" in str(owner.model_fields[name].annotation) else "keys with values"
    return f"`{name}: ...`"


def _pattern(owner: type[BaseModel] | None, name: str, pattern: str) -> str:
    match name:
        case "address":
            return "an address that begins with https://"
        case "code":
            return "a code of letters, digits, _ and -"
        case "language":
            return "a language such as en or pt-BR"
    return f"a name of {KEY_PATTERN}"


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return "keys with values"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
