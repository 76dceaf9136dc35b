"""The base of all option models: immutable, without unknown names, with one form of error messages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from evenhand.schema import UsageError, did_you_mean, without_surrogates
from evenhand.study.fields import Flag

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got {str(value).lower()}")
    return value


Seed = Annotated[int, Field(ge=0, le=2**63 - 1), BeforeValidator(_no_truth_value)]
"""Type of a random seed: an integer in the range that all random number generators of evenhand accept."""
Count = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(_no_truth_value)]
"""Type of a number of things: an integer of at least 1."""


class Options(BaseModel):
    """Base class of the options of a study.

    Derive from it to define your own options. They cannot be changed after creation, and unknown names are
    refused. Parts are combined by inheritance, so stored options stay flat.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _texts_can_be_stored(cls, values: Any) -> Any:
        for name, value in values.items() if isinstance(values, Mapping) else ():
            for text in (value, *value) if isinstance(value, tuple | list) else (value,):
                if isinstance(text, str) and without_surrogates(text) != text:
                    raise ValueError(
                        f"{name} is {text!a}, which contains half a character (a lone surrogate)"
                    )
        return values


class SeedOptions(Options):
    """Random seed of prompts, decoding and analysis."""

    seed: Seed = 0
    """Random seed. Default: 0."""


class MeasuringOptions(SeedOptions):
    """Options of margins, significance level and outcomes."""

    margin: float = Field(default=0.5, ge=0)
    """Smallest difference in log-perplexity that counts as a difference, nats per token."""
    valence_margin: float = Field(default=0.1, ge=0)
    """Smallest valence shift that counts as one, nats per sentence."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    outcomes: tuple[str, ...] = ()
    """Outcomes that are read from responses to counterfactual prompts: number, rating:1-10, json:FIELD, length, refusal
    or similarity.

    Empty: those that the benchmark defines.
    """
    reference: str | None = Field(default=None, min_length=1)
    """Reference group, with which each other group of its axis is also compared."""
    classifier_error: str | None = None
    """File with the classifier's error rates for each group. Rates are corrected for them."""

    @field_validator("outcomes", mode="before")
    @classmethod
    def _known_outcomes(cls, given: Any) -> Any:
        listed = [given] if isinstance(given, str) else list(given)
        if not listed:
            return ()
        from evenhand.measures import outcome_of

        outcomes = [outcome_of(text) if isinstance(text, str) else text for text in listed]
        if any(getattr(one, "kind", None) == "semantic" for one in outcomes):
            raise UsageError(
                "`--outcome semantic` compares vectors of the responses, and an audit has no model that makes them.",
                "Use --outcome similarity, which compares words. Or use counterfactual_outcomes(..., embed=FUNCTION) "
                "of evenhand.measures on the responses of the run.",
            )
        return tuple(getattr(one, "name", one) for one in outcomes)


class ToleranceOptions(Options):
    """Options for failed rows."""

    error_threshold: Annotated[float, Flag(resume="free")] = Field(default=0.05, ge=0, le=1)
    """Exit with code 3 if more than this share of rows failed. Default: 0.05."""
    retry_errors: Annotated[bool, Flag(resume="free")] = False
    """When resuming, retry rows for which the model or the classifier failed."""


Kind = TypeVar("Kind", bound=Options)
FLAGS = {
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "allow_longer",
            "batch_tokens",
            "chat",
            "classifier_error",
            "counterfactual",
            "decoding",
            "device",
            "dtype",
            "error_threshold",
            "limit",
            "max_new_tokens",
            "mitigate",
            "on",
            "prompts",
            "reference",
            "retry_errors",
            "revision",
            "samples",
            "seed",
            "suite",
            "system",
            "temperature",
            "top_k",
            "top_p",
            "trust_remote_code",
            "workers",
        )
    },
    "axes": "--axis",
    "benchmarks": "--benchmark",
    "classifiers": "--classifier",
    "num_beams": "--beams",
    "outcomes": "--outcome",
}
"""Flag of each option that has one. Other options are given with `--set` or in a file."""
EXPECTED = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "expected a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "expected a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "expected true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "expected a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type"), "expected names with values"),
    **dict.fromkeys(("path_type", "path_parsing"), "expected a path"),
    "string_type": "expected text",
    "finite_number": "expected a finite number",
    "literal_error": "expected {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "invalid_key": "expected text as the name of an option",
}
"""Plain description of what was expected, for each type of error of pydantic."""
BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
"""Errors about numbers that are out of range."""
OF_ITS_OWN = ("value_error", "assertion_error")
"""Types of errors whose message comes from evenhand's own validators."""
LONGEST_SHOWN = 80
"""Maximum number of characters of an invalid value that an error message shows."""


def validate_options(
    kind: type[Kind], values: Mapping[str, Any], sources: Mapping[str, str] | None = None
) -> Kind:
    """Create options from values, and report every invalid value.

    Parameters
    ----------
    kind : type
        A subclass of `Options`.
    values : mapping of str
        The values by name.
    sources : mapping of str, optional
        File or flag from which a value comes, by name of the option, for values from a file or from `--set`.

    Returns
    -------
    Options
        An object of the class `kind`.

    Raises
    ------
    UsageError
        A value is invalid or a name is unknown. The message names each of them.

    Examples
    --------
    >>> class Few(Options):
    ...     limit: int = 1
    >>> validate_options(Few, {"limit": "some"})
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: Invalid options: limit (--limit): expected a whole number, got 'some'.
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        told = problems(error, kind.model_fields, sources=sources or {})
        unknown = (
            any(one["type"] == "extra_forbidden" for one in error.errors()) and "Did you mean" not in told
        )
        raise UsageError(
            f"Invalid options: {told}{'' if told.endswith(('?', '.')) else '.'}",
            f"`--help` lists the flags; the reference of {kind.__name__} lists all options."
            if unknown
            else None,
        ) from error


def name_options(names: Iterable[str], word: str = "and") -> str:
    """Return names of options in a list, each with its flag of the command line if it has one.

    >>> name_options(["top_p", "dialogue"])
    'top_p (--top-p) and dialogue'
    """
    shown = [f"{name} ({FLAGS[name]})" if name in FLAGS else name for name in names]
    return f" {word} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def unknown_value(value: str, known: Iterable[str]) -> ValueError:
    """Return the error that a validator raises for a value that is not one of the known ones."""
    known = list(known)
    return ValueError(
        f"unknown value {value!r}; expected one of {', '.join(known)}{did_you_mean(value, known, '. ')}"
    )


def problems(
    error: ValidationError,
    known: Iterable[str] = (),
    *,
    most: int | None = None,
    sources: Mapping[str, str] | None = None,
) -> str:
    """Return a text with one line per problem of the options: `name (flag): what was expected, what was given`.

    Parameters
    ----------
    known
        Valid names of options, from which a correction of an unknown name is suggested.
    most
        Maximum number of problems; None for all.
    sources
        File or flag that a value is from, by name. It comes first in the message.
    """
    names = list(known)
    # questions go last, so that the caller can see how the text ends
    each = sorted(
        (_problem(one, names, sources or {}) for one in error.errors()[:most]),
        key=lambda told: told.endswith("?"),
    )
    return "; ".join(each)


def _problem(error: "ErrorDetails", known: Sequence[str], sources: Mapping[str, str]) -> str:
    place, given = error["loc"], error["input"]
    name = ".".join(map(str, place)) or "options"
    source = sources.get(str(place[0])) if place else None
    shown = f"{source}: {name}" if source else name
    if error["type"] == "extra_forbidden" and len(place) == 1:
        return f"{shown}: there is no such option{did_you_mean(str(place[0]), known, '. ')}"
    flag = FLAGS.get(name)
    told = f"{shown}{f' ({flag})' if flag else ''}: {_describe_problem(error)}"
    if isinstance(given, Mapping) and len(place) == 1 and error["type"] not in OF_ITS_OWN:
        inner = next((key for key in map(str, given) if key in known), None)
        return f"{told}; {name} has no parts{f'. Did you mean {inner!r}?' if inner else ''}"
    return told


def _shown_number(value: Any) -> str:
    """Return a whole number with thousands separators, and the Python form of any other value."""
    return f"{value:,}" if isinstance(value, int) else repr(value)


def _describe_problem(error: "ErrorDetails") -> str:
    """Return what was expected and what was given, in words; the validator's own sentence if it has one."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":  # for a missing field, the error's input is the whole mapping
        return "is missing"
    if kind in OF_ITS_OWN or kind not in EXPECTED:
        return error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    given = _shown_number(error["input"]) if kind in BOUNDS else repr(error["input"])
    shown = given if len(given) <= LONGEST_SHOWN else f"{given[:LONGEST_SHOWN]}..."
    bounds = {
        name: f"{bound:g}" if isinstance(bound, float) else f"{bound:,}" if isinstance(bound, int) else bound
        for name, bound in context.items()
    }
    return f"{EXPECTED[kind].format(**bounds)}, got {shown}"
