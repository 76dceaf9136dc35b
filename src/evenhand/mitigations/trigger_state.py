"""Where a search for triggers stands: its options, what it has found, and the file it is gone on from."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evenhand.mitigations.trigger_examples import Example, examples_digest
from evenhand.mitigations.trigger_objective import Objective
from evenhand.mitigations.trigger_tokens import Trigger
from evenhand.models.huggingface.causal import CausalModel
from evenhand.schema import DataError, ResumeRefused, UsageError
from evenhand.schema.files import write_json


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How a trigger is searched. Raises UsageError for values out of range."""

    tokens: int | None = None
    """Length; None: six, or as long as the initial phrase."""
    initial: str | None = None
    """What the first round begins with; None: " the" in every place. Later rounds begin with random tokens."""
    locked: tuple[int, ...] = ()
    """Places, counted from 0, whose tokens stay those of the initial phrase."""
    restarts: int = 1
    """Rounds altogether."""
    sweeps: int = 50
    """Times that each round goes over all places at most; it ends after one without an improvement."""
    candidates: int = 100
    """Tokens tried in each place, those that promise most."""
    beam: int = 1
    """Triggers that are followed side by side."""
    screen: float | None = 0.25
    """Candidates are first tried on this share of the examples, and the same share of them, the best, on all;
    a trigger is taken only for what it does on all. None: all on all. Not with 32 examples or fewer."""
    words_only: bool = True
    """No punctuation and no digits, as published."""
    exclude: tuple[str, ...] = ()
    """Words that may not occur, such as those that name the groups."""
    most_perplexity: float | None = None
    """The trigger's own perplexity may not exceed this, unless it falls."""
    separator: str = " "
    """Between trigger and prompt."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("restarts", "sweeps", "candidates", "beam"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; at least 1 was expected.")
        if self.screen is not None and not 0 < self.screen < 1:
            raise UsageError(f"screen is {self.screen}; a share between 0 and 1 was expected, or None.")
        if self.most_perplexity is not None and not self.most_perplexity > 1:
            raise UsageError(f"most_perplexity is {self.most_perplexity}; a number above 1 was expected.")


@dataclass(frozen=True)
class Found:
    """A trigger where a round ended."""

    ids: Trigger
    text: str
    loss: float
    restart: int


@dataclass
class SearchState:
    """Where a search stands after a sweep; written to disk, so that it can be stopped and gone on with."""

    task: str
    restart: int = 0
    sweep: int = 0
    beam: list[tuple[Trigger, float]] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """As JSON, whole or not at all."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path, task: str) -> "SearchState":
        """The state of the same search. Raises ResumeRefused if it is of another, DataError if it is damaged."""
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            state = cls(
                task=told["task"],
                restart=told["restart"],
                sweep=told["sweep"],
                beam=[(tuple(ids), loss) for ids, loss in told["beam"]],
                found=[Found(**{**one, "ids": tuple(one["ids"])}) for one in told["found"]],
                history=told["history"],
            )
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path} holds no state of a search: {error}.", "Remove it to begin anew."
            ) from error
        if state.task != task:
            raise ResumeRefused(
                f"{path} belongs to a search with another model, examples, objective or options.",
                "Repeat what it was begun with, or give another file.",
            )
        return state


@dataclass(frozen=True)
class SearchResult:
    """Where the rounds ended, the lowest loss first, how they got there, and what it took."""

    found: tuple[Found, ...]
    history: tuple[dict[str, Any], ...]
    """One row a sweep: restart, sweep (0: the beginning), loss, text, ids, evaluated, improved."""
    initial_loss: float
    evaluated: int
    """Triggers evaluated in this session."""


def search_task(
    model: CausalModel, examples: Sequence[Example], objective: Objective, options: SearchOptions
) -> str:
    """What identifies a search: SHA-256 (hex) over the model, the examples, the objective and the options."""
    told = {
        "model": model.fingerprint,
        "examples": examples_digest(examples),
        "objective": objective.parameters(),
        "options": asdict(options),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
