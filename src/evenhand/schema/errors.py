"""Errors that a user can act on: each states what was wrong, where, what was expected and how to fix it.

Exit codes (documented in `evenhand --help` and docs/how-to/use_exit_codes.md): 0 complete, 1 failed, 2 usage
error, 3 finished above the error threshold or with nothing to choose, 4 a gate did not pass, 130 interrupted
and resumable.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


HF_COMMAND = 'Install what models and classifiers of Hugging Face need: pip install "evenhand[hf]"'


@dataclass(frozen=True)
class AnsweredBefore:
    """What a model or classifier had settled of a batch when an error ended its work."""

    by: object
    """Who was asked. What one inside another answered is not yet the other's answer."""
    places: list[int]
    """Positions of the finished texts in the batch, in order."""
    answers: Any
    """Likelihoods, Generations or Labels of those texts."""


class EvenhandError(Exception):
    """Base class of all errors that are reported as a readable message instead of a traceback.

    Catch it to handle every expected failure; `str(error)` is the message and the hint. Subclasses name the
    kind of failure, for example UsageError (invalid argument), DataError (invalid file) and ModelError.

    Attributes
    ----------
    message : str
        What is wrong.
    hint : str or None
        How to fix it.
    exit_code : int
        Exit code of the command line: 2 for a UsageError, 4 for a failed gate, 130 for an interruption, mostly
        1 for others.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.before: AnsweredBefore | None = None
        """Set by a backend that knows part of the answers, so that they need not be asked for again."""
        self.rows: tuple[pl.DataFrame, pl.DataFrame] | None = None
        """The requests of a shard that were settled before it, and their rows; kept by the engine."""

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n{self.hint}"


class UsageError(EvenhandError):
    """The call itself is wrong: an unknown name, a bad option value, an empty selection."""

    exit_code = 2


class ResumeRefused(UsageError):
    """A run directory was given with arguments other than those it was started with."""


class DataError(EvenhandError):
    """A file is missing, unreadable, or lacks what it must hold."""


class DatasetMissing(DataError):
    """A published data set is not on this machine; the hint describes how to get it."""


class ChecksumMismatch(DataError):
    """A file's content is not the content that was pinned."""


class ModelError(EvenhandError):
    """A model cannot be loaded or cannot run: unknown, gated, too large, wrong architecture."""


class HuggingFaceMissing(ModelError):
    """What was asked for needs torch and transformers, and only evenhand's light core is installed.

    message: what needs them.
    """

    def __init__(self, message: str):
        super().__init__(message, HF_COMMAND)


class Unsupported(ModelError):
    """This backend cannot answer this kind of request; the hint names one that can."""


class ServiceUnavailable(EvenhandError):
    """A service cannot be reached, is down, or does not take the key. What it answered before is kept."""


class WriteError(EvenhandError):
    """A result could not be written (full disk, no permission). What was written before is intact."""


class GateFailed(EvenhandError):
    """A result does not meet what was asked of it (`--fail-if`, `--require-power`); it is complete and written."""

    exit_code = 4


class Interrupted(EvenhandError):
    """The run was stopped by the user and can be resumed."""

    exit_code = 130


MOST_LISTED = 60
"""Maximum number of names that an error lists, for example of the groups of a large table."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """A UsageError for a misspelt name, with the nearest known ones.

    >>> print(unknown_name("benchmark", "crow-pairs", ["crows-pairs", "stereoset"]))
    Unknown benchmark: 'crow-pairs'. Did you mean 'crows-pairs'?
    Known: crows-pairs, stereoset.
    """
    known = sorted(known)
    near = get_close_matches(name, known, n=2, cutoff=0.5)
    guess = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    more = f", ... ({len(known)} in all)" if len(known) > MOST_LISTED else ""
    return UsageError(f"Unknown {kind}: {name!r}.{guess}", f"Known: {', '.join(known[:MOST_LISTED])}{more}.")
