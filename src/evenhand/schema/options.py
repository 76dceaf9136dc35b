"""The grammar of names with options: `NAME`, `NAME=VALUE`, `NAME?option=value&option=value`.

After "?", options are separated by "&", and %-escapes in values are decoded: "%26" is "&", and "%25" is "%". A "?" or
"=" within a value needs no escape. After `NAME=`, everything is the value without decoding, including "?", "&" and "%".
A value gets the type of the parameter or field that receives it.
"""

import inspect
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from urllib.parse import unquote, unquote_plus

from pydantic import BeforeValidator, ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError

from evenhand.schema.errors import UsageError, unknown_name

Number = Annotated[float, Field(allow_inf_nan=False)]
"""Type of an option: a finite number."""
Whole = Annotated[int, Field(ge=1)]
"""Type of an option: an integer of at least 1."""
TextOrNone = Annotated[
    str | None, BeforeValidator(lambda text: None if str(text).lower() == "none" else text)
]
"""Type of an option: a text; the word "none" becomes None."""
SCALARS: tuple[type, ...] = (bool, int, float)
IN_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def split_options(words: str, *, blank: bool = True, plus: bool = False) -> tuple[str, dict[str, str]]:
    """Split a text into a name and the options after "?".

    Parameters
    ----------
    words : str
        `NAME` or `NAME?option=value&option=value`.
    blank : bool, default True
        Whether the value of an option may be empty.
    plus : bool, default False
        Whether "+" means a space, as in the query of a URL.

    Returns
    -------
    name : str
        The name.
    options : dict of str to str
        The options.

    Raises
    ------
    UsageError
        A part is not option=value, or an option occurs twice.

    Examples
    --------
    >>> split_options("regard?threshold=0.4&model=a%26b")
    ('regard', {'threshold': '0.4', 'model': 'a&b'})
    """
    name, _, query = words.partition("?")
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        option, equals, value = part.partition("=")
        if not equals or not option or not (value or blank):
            raise UsageError(
                f"{part!r} in {words!r} is not of the form option=value.",
                f"Use {name or 'NAME'}?option=value&option=value. Write an & inside a value as %26.",
            )
        if option in options:
            raise UsageError(f"The option {option!r} occurs twice in {words!r}.", "Give each option once.")
        options[option] = unquote_plus(value) if plus else unquote(value)
    return name, options


def split_value(words: str) -> tuple[str, str | None, dict[str, str]]:
    """Split a text into a name and its value after "=", or its options after "?".

    The sign that comes first counts. Raises UsageError as `split_options` does.

    Examples
    --------
    >>> split_value("prefix=Be kind? Yes & no."), split_value("prefix?text=Be kind.")
    (('prefix', 'Be kind? Yes & no.', {}), ('prefix', None, {'text': 'Be kind.'}))
    """
    if (sign := re.search("[=?]", words)) and sign[0] == "=":
        return words[: sign.start()], words[sign.end() :], {}
    name, options = split_options(words)
    return name, None, options


def split_role(words: str, roles: Collection[str] = ()) -> tuple[str | None, str]:
    """Split the text of `--classifier`, `ROLE=NAME` or only NAME, into role and name.

    An equals sign inside a name, as in "scores:FILE?column=x", does not end a role. `roles` are the known
    roles. If none of them is "people", `people=FILE` means the name people:FILE. Raises UsageError if the
    role or the name is empty.

    Examples
    --------
    >>> split_role("toxicity=vader"), split_role("scores:FILE?column=x"), split_role("people=FILE")
    (('toxicity', 'vader'), (None, 'scores:FILE?column=x'), (None, 'people:FILE'))
    """
    role, equals, name = words.partition("=")
    if not equals or not re.fullmatch(r"[\w-]*", role):
        return None, words
    if not name:
        raise UsageError(f"`--classifier {words}`: the classifier is missing.", "Give ROLE=NAME.")
    if not role:
        raise UsageError(f"`--classifier {words}`: the role is missing.", "Give ROLE=NAME, or NAME alone.")
    if role == "people" and role not in roles:
        return None, f"people:{name}"
    return role, name


def list_options(target: Callable[..., Any], *, hidden: Collection[str] = ()) -> dict[str, inspect.Parameter]:
    """Return the options that a function or class accepts, by name, with their types.

    Parameters
    ----------
    target : callable
        The function or class.
    hidden : collection of str
        Names of parameters that are not options. A hidden parameter without a default is still an option.

    Returns
    -------
    dict of str to inspect.Parameter
        The options.
    """
    hints = _hints(target)
    return {
        name: parameter.replace(annotation=hints.get(name, Any))
        for name, parameter in inspect.signature(target).parameters.items()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        and (name not in hidden or parameter.default is parameter.empty)
    }


def convert_options(
    owner: str, values: Mapping[str, Any], takes: Mapping[str, inspect.Parameter]
) -> dict[str, Any]:
    """Return options in the types that their receiver expects.

    Parameters
    ----------
    owner : str
        Name of the receiver, for messages.
    values : mapping of str
        Texts that a user wrote, or Python values. None counts as missing.
    takes : mapping of str to inspect.Parameter
        The options of the receiver, from `list_options`.

    Returns
    -------
    dict of str
        The options.

    Raises
    ------
    UsageError
        An option does not exist (the message names the most similar one), or a value has another type (the
        message states what was expected).

    Examples
    --------
    >>> def soften(strength: float = 1.0, words: tuple[str, ...] = ()) -> None: ...
    >>> convert_options("soften", {"strength": "0.5", "words": "a, b"}, list_options(soften))
    {'strength': 0.5, 'words': ('a', 'b')}
    """
    for option in values:
        if option not in takes:
            raise unknown_name(f"option of {owner}", option, takes or ["none"])
    return {
        option: convert_option(owner, option, value, takes[option])
        for option, value in values.items()
        if value is not None
    }


def convert_option(owner: str, option: str, value: Any, parameter: inspect.Parameter) -> Any:
    """Convert one value to the type of `parameter`; raises the errors of `convert_options`."""
    hint = parameter.annotation
    if hint is Any:  # without an annotation, the type of the default counts
        kind = type(parameter.default)
        hint = kind if kind in SCALARS else Any
    members = _members(hint)
    if str in members:
        if isinstance(value, str):
            return _first_that_fits(value, [kind for kind in SCALARS if kind in members])
        if isinstance(value, int | float):
            value = str(value)  # for example a revision such as 7
    elif isinstance(value, str) and any(_is_sequence(member) for member in members):
        value = [word.strip() for word in value.split(",")]
    elif isinstance(value, str) and type(None) in members and value.lower() == "none":
        return None
    try:
        if isinstance(value, bool) and bool not in members and hint is not Any:
            raise ValueError("expected a number, got true or false")
        return _adapter(hint).validate_python(value)
    except ValueError as error:  # pydantic's ValidationError is one
        if all(get_origin(member) is Literal for member in members):
            choices = [str(choice) for member in members for choice in get_args(member)]
            raise unknown_name(f"{option} of {owner}", str(value), choices) from error
        raise UsageError(
            f"The option {option} of {owner} must be {_describe_expected(members, error)}, got {value!r}.",
            f"For example: {option}={_example(members)}",
        ) from error


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    while isinstance(target, partial):
        target = target.func
    # dataclasses have annotated fields; other classes have annotated parameters of the constructor
    plain_class = inspect.isclass(target) and not hasattr(target, "__dataclass_fields__")
    try:
        return get_type_hints(target.__init__ if plain_class else target, include_extras=True)
    except (NameError, TypeError):  # a name that only type checkers see
        return {}


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, also if it is annotated; otherwise the type itself."""
    if get_origin(hint) in (Union, types.UnionType):
        return get_args(hint)
    return (hint,)


def _strip_annotation(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _is_sequence(hint: Any) -> bool:
    return (get_origin(hint) or hint) in (tuple, list, set, frozenset, Sequence, Collection)


def _first_that_fits(text: str, kinds: Sequence[type]) -> Any:
    for kind in kinds:
        try:
            return _adapter(kind).validate_python(text)
        except ValidationError:
            continue
    return text


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except PydanticUserError:  # dataclasses and models have their own configuration
        return TypeAdapter(hint)


def _describe_expected(members: Sequence[Any], error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        for bound, in_words in (
            ("ge", "at least"),
            ("gt", "more than"),
            ("le", "at most"),
            ("lt", "less than"),
        ):
            if bound in first.get("ctx", {}):
                return f"a number of {in_words} {first['ctx'][bound]}"
        if first["type"] == "finite_number":
            return "a finite number"
    kinds = [_strip_annotation(member) for member in members if member is not type(None)]
    words = [
        " or ".join(map(repr, get_args(kind)))
        if get_origin(kind) is Literal
        else "words separated by commas"
        if _is_sequence(kind)
        else IN_WORDS.get(kind, getattr(kind, "__name__", str(kind)))
        for kind in kinds
    ]
    return " or ".join(dict.fromkeys(words))


def _example(members: Sequence[Any]) -> str:
    kinds = {_strip_annotation(member) for member in members}
    if bool in kinds:
        return "true"
    return "8" if int in kinds else "0.5" if float in kinds else "VALUE"
