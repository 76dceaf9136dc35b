"""Input and result of building a study: texts and conversations from any source, and the study with notes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evenhand.annotation.definition import Study, without_controls

Value = str | float | bool | None
Pairing = Literal["same", "drawn"]
Shown = Literal["apart", "whole", "judged"]


@dataclass(frozen=True)
class Built:
    """A study for human evaluation, with notes on how it was made; the result of `build_study`."""

    study: Study
    notes: tuple[str, ...]
    """Sentences about what was left out and why, what was merged, and where the papers had more judgements."""


def clean_texts(value: Any) -> Any:
    """Return a value with the control characters removed from all texts inside it (see `without_controls`).

    >>> clean_texts({"group": "wo\\x07men", "shares": (0.5, "\\x00")})
    {'group': 'women', 'shares': (0.5, '')}
    """
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, Mapping):
        return {clean_texts(key): clean_texts(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(clean_texts(part) for part in value)
    return value


@dataclass(frozen=True, slots=True)
class StudyText:
    """One text of one model, with its groups and classifier results, without control characters."""

    text: str
    context: str | None = None
    model: str | None = None
    groups: Mapping[str, Value] = field(default_factory=dict)
    judgements: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prompt: tuple[str, ...] = ()
    """Prompt of the text: benchmark, prompt and sample. Responses of two models to one prompt can form a pair."""
    unsafe: bool = False

    def __post_init__(self) -> None:
        for name in ("text", "context", "model", "groups", "judgements"):
            object.__setattr__(self, name, clean_texts(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Chat:
    """One complete conversation of a model with itself or another speaker."""

    turns: tuple[tuple[str, str], ...]
    """Speaker and text of each turn."""
    speaker: str
    """The speaker who is judged."""
    model: str
    groups: Mapping[str, Value] = field(default_factory=dict)
    opener: tuple[str, ...] = ()
    """Opener: benchmark, conversation and first line. Conversations of two models with one opener can form a pair."""
    unsafe: bool = False

    def __post_init__(self) -> None:
        for name in ("turns", "speaker", "model", "groups"):
            object.__setattr__(self, name, clean_texts(getattr(self, name)))


@dataclass(frozen=True)
class ContentSelection:
    """Options that select the content of a study."""

    benchmark: str | None = None
    limit: int | None = None
    seed: int = 0
    pairing: Pairing | None = None
    speaker: str = "B"
    drop_unsafe: bool = True
    leave_out: tuple[str, ...] = ()
    show: Shown | None = None


class Notes:
    """Sentences on what was left out, without repetitions, in the order in which they were added."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}

    def add(self, sentence: str) -> None:
        """Add a sentence."""
        self._said[sentence] = None

    def count(self, number: int, what: str) -> None:
        """Add "`number` `what`." if the number is not 0."""
        if number:
            self.add(f"{number:,} {what}.")

    def all(self) -> tuple[str, ...]:
        """Return all sentences."""
        return tuple(self._said)
