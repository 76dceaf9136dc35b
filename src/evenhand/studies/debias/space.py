"""The search space: options of a method and of the training, each with values or a range."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, Literal

import numpy as np

from evenhand.mitigations.training import TrainingOptions, method_options
from evenhand.schema import UsageError, as_json, convert_option, list_options, split_options, unknown_name

Setting = dict[str, Any]
"""One value of each option that is varied: what makes a trial."""
SAME_IN_ALL = ("seed", "checkpoint_seconds", "lora_layers", "gradient_checkpointing")
"""Options of the loop that a search does not vary.

A search must not choose among seeds, and the other options do not change the result.
"""
RANGE = re.compile(r"(?P<kind>log|uniform)\((?P<low>[^,()]*),(?P<high>[^,()]*)\)")
HOW = "Give values (--over weight=0.1,1,10), or for --search random a range: 'weight=log(0.1,100)' or 'uniform(0,1)'."
FIGURES = 4
"""Significant figures of a drawn number, so that a trial can be repeated from the printed value."""
MOST_DRAWS = 1000
"""Maximum number of draws per trial, in case nearly all settings of the space are already used."""


@dataclass(frozen=True)
class Range:
    """All numbers from low to high; uniform, or for a logarithmic range uniform in the logarithm."""

    low: float
    high: float
    logarithmic: bool
    whole: bool
    """True: integers only."""

    def draw(self, random: np.random.Generator) -> float | int:
        """Return a random number of the range."""
        low, high = self.low, self.high
        if self.whole and not self.logarithmic:
            return int(random.integers(math.ceil(low), math.floor(high) + 1))
        share = float(random.random())
        drawn = low * (high / low) ** share if self.logarithmic else low + (high - low) * share
        if self.whole:
            return min(max(round(drawn), math.ceil(low)), math.floor(high))
        return min(max(float(f"{drawn:.{FIGURES}g}"), low), high)


@dataclass(frozen=True)
class Space:
    """The varied options, each with its values or a range."""

    options: Mapping[str, tuple[Any, ...] | Range]

    @property
    def size(self) -> int | None:
        """Return the number of settings; None if a range makes it infinite."""
        values = [one for one in self.options.values() if not isinstance(one, Range)]
        return math.prod(map(len, values)) if len(values) == len(self.options) else None

    def settings(self, how: Literal["grid", "random"], trials: int, seed: int) -> list[Setting]:
        """Return the different settings that are tried.

        With `how` "grid", these are all, with the last option changing fastest. With "random", these are `trials`
        random ones, which depend only on `seed`, or all if there are no more. Raises UsageError for a grid over a
        range.

        Examples
        --------
        >>> Space({"weight": (1.0, 2.0), "epochs": (1.0,)}).settings("grid", 0, 0)
        [{'weight': 1.0, 'epochs': 1.0}, {'weight': 2.0, 'epochs': 1.0}]
        """
        ranges = [name for name, one in self.options.items() if isinstance(one, Range)]
        if how == "grid" and ranges:
            raise UsageError(
                f"`--search grid` expects single values, but {ranges[0]} has a range.",
                f"Give values, such as --over {ranges[0]}=0.1,1,10, or use --search random.",
            )
        random = np.random.default_rng([seed, 4])
        if not ranges:
            named = [[(name, value) for value in values] for name, values in self.options.items()]  # type: ignore[union-attr]
            whole = [dict(one) for one in itertools.product(*named)]
            return whole if how == "grid" else [whole[i] for i in random.permutation(len(whole))[:trials]]
        drawn: list[Setting] = []
        for _ in range(MOST_DRAWS * trials):
            one = {name: _drawn(values, random) for name, values in self.options.items()}
            if one not in drawn:
                drawn.append(one)
            if len(drawn) == trials:
                break
        return drawn


def search_space(method: str, over: Sequence[str], fixed: Sequence[str] = ()) -> Space:
    """Parse the search space from the user's options.

    Parameters
    ----------
    method : str
        A method with its options, as in `load_method`.
    over : sequence of str
        `NAME=VALUE,VALUE`, `NAME=log(LOW,HIGH)` or `NAME=uniform(LOW,HIGH)`. NAME is an option of the method or of
        `TrainingOptions`.
    fixed : sequence of str
        Options of the loop that were given a value.

    Raises
    ------
    UsageError
        An option is unknown, is given twice or already has a value, a value has another type, or nothing varies.

    Examples
    --------
    >>> search_space("lmd", ["weight=1,10", "learning_rate=log(1e-5,1e-3)"]).options["weight"]
    (1.0, 10.0)
    """
    name, given = split_options(method)
    own = method_options(name)
    takes = {**loop_options(), **own}
    if not over:
        raise UsageError(
            "`--search` requires `--over`: which settings should be varied?",
            f"{HOW} Options: {', '.join(takes)}.",
        )
    options: dict[str, tuple[Any, ...] | Range] = {}
    for words in over:
        option, equals, values = (part.strip() for part in words.partition("="))
        if not equals or not option:
            raise UsageError(f"`--over` expects NAME=VALUES, got {words!r}.", HOW)
        if option in SAME_IN_ALL and option not in own:
            raise UsageError(
                f"`--over` cannot vary {option}.",
                "Choosing the best seed would only select chance results. Repeat the training with the chosen "
                "options instead."
                if option == "seed"
                else "Set it for all trials with --set.",
            )
        if option not in takes:
            raise unknown_name(f"option of {name} or of training", option, takes)
        if option in options:
            raise UsageError(f"`--over` contains {option} twice.", "Give all its values at once.")
        if option in given or (option in fixed and option not in own):
            raise UsageError(
                f"{option} is set to one value and also varied by `--over`.",
                f"Set {option} to one value, or give several values with --over, but not both.",
            )
        options[option] = _values(name if option in own else "training", option, values, takes[option])
    return Space(options)


def loop_options() -> dict[str, Parameter]:
    """Return the options of the training loop that a search may vary, by name.

    >>> "learning_rate" in loop_options(), "seed" in loop_options()
    (True, False)
    """
    return {name: one for name, one in list_options(TrainingOptions).items() if name not in SAME_IN_ALL}


def told(setting: Mapping[str, Any]) -> str:
    """Return a setting in words.

    >>> told({"weight": 10.0, "learning_rate": 5e-05, "batch_size": 8, "quirks": ("summed",)})
    'weight=10, learning_rate=5e-05, batch_size=8, quirks=summed'
    """
    return ", ".join(f"{name}={plain(value)}" for name, value in setting.items())


def plain(value: Any) -> str:
    """Return a value as it is written after `NAME=`.

    >>> plain(0.1), plain(True), plain(None)
    ('0.1', 'true', 'none')
    """
    if isinstance(value, bool | None):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.15g}"
    return ",".join(map(plain, value)) if isinstance(value, tuple | list) else str(value)


def described(space: Space) -> dict[str, Any]:
    """Return a space as plain data, for the record.

    >>> described(Space({"weight": Range(0.1, 10.0, True, False)}))
    {'weight': 'log(0.1,10)'}
    """
    return {
        name: f"{'log' if one.logarithmic else 'uniform'}({plain(one.low)},{plain(one.high)})"
        if isinstance(one, Range)
        else as_json(one)
        for name, one in space.options.items()
    }


def _values(owner: str, option: str, words: str, parameter: Parameter) -> tuple[Any, ...] | Range:
    if (found := RANGE.fullmatch(words)) is not None:
        return _range(owner, option, words, found, parameter)
    if re.match(r"\w+\(", words):
        raise UsageError(f"`--over {option}={words}`: unknown kind of range.", HOW)
    parts = [part.strip() for part in words.split(",")]
    if not all(parts):
        raise UsageError(f"`--over {option}={words}`: a value is empty.", HOW)
    values: list[Any] = []
    for part in parts:
        value = convert_option(owner, option, part, parameter)
        if value not in values:
            values.append(value)
    return tuple(values)


def _range(owner: str, option: str, words: str, found: re.Match[str], parameter: Parameter) -> Range:
    number = Parameter(option, Parameter.KEYWORD_ONLY, annotation=float)
    low, high = (convert_option(owner, option, found[end].strip(), number) for end in ("low", "high"))
    logarithmic = found["kind"] == "log"
    try:
        one = convert_option(owner, option, "1", parameter)
    except UsageError:
        one = None
    if isinstance(one, bool) or not isinstance(one, int | float):
        raise UsageError(
            f"`--over {option}={words}`: {option} is not a number and cannot have a range.",
            f"Give values: {option}=A,B",
        )
    whole = isinstance(one, int)
    if not math.isfinite(low) or not math.isfinite(high) or low >= high or (logarithmic and low <= 0):
        raise UsageError(
            f"`--over {option}={words}`: the range from {plain(low)} to {plain(high)} is empty.",
            f"Give the smaller bound first{', both above 0' if logarithmic else ''}: {found['kind']}(0.1,10).",
        )
    if whole and math.ceil(low) > math.floor(high):
        raise UsageError(
            f"`--over {option}={words}`: the range contains no whole number.",
            f"For example: {option}=log(4,64)",
        )
    return Range(low, high, logarithmic, whole)


def _drawn(values: tuple[Any, ...] | Range, random: np.random.Generator) -> Any:
    return values.draw(random) if isinstance(values, Range) else values[int(random.integers(len(values)))]
