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
    """The part of a batch that a model or classifier had finished when an error ended its work.

    The engine keeps these results, so that they need not be computed again.
    """

    by: object
    """The model or classifier that finished them. A model inside another one does not finish texts for the other."""
    places: list[int]
    """Positions of the finished texts in the batch, in order."""
    answers: Any
    """Likelihoods, Generations or Labels of those texts."""


LONGEST_LINE = 2000
"""Maximum number of characters in a line of a message: a value of the user may be a whole document."""


def _shorten_lines(text: str) -> str:
    """Return a text with the middle of its very long lines left out.

    >>> _shorten_lines("group " + "a" * 3000 + " is unknown")[990:1060]
    'aaaaaaaaaa [... 1,017 characters ...] aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    """
    if len(text) <= LONGEST_LINE:
        return text
    keep = LONGEST_LINE // 2
    return "\n".join(
        line
        if len(line) <= LONGEST_LINE
        else f"{line[:keep]} [... {len(line) - 2 * keep:,} characters ...] {line[-keep:]}"
        for line in text.split("\n")
    )


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
        self.message = _shorten_lines(message)
        self.hint = None if hint is None else _shorten_lines(hint)
        super().__init__(self.message)
        self.before: AnsweredBefore | None = None
        """Set by a backend that has finished a part of the batch, so that this part need not be computed again."""
        self.rows: tuple[pl.DataFrame, pl.DataFrame] | None = None
        """Requests of a shard that were finished before the error, and their rows. The engine stores them."""

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n{self.hint}"


class UsageError(EvenhandError):
    """The call is invalid: an unknown name, an invalid option value, or an empty selection."""

    exit_code = 2


class ResumeRefused(UsageError):
    """A folder cannot be resumed because it was started with other arguments."""


class DataError(EvenhandError):
    """A file or table is missing, unreadable, or lacks required content."""


class DatasetMissing(DataError):
    """A published data set is not on this machine; the hint describes how to get it."""


class ChecksumMismatch(DataError):
    """The content of a file differs from the pinned content."""


class ModelError(EvenhandError):
    """A model cannot be loaded or run: it is unknown, gated, too large, or has the wrong architecture."""


class HuggingFaceMissing(ModelError):
    """torch and transformers are needed but not installed.

    Parameters
    ----------
    message : str
        What needs them.
    """

    def __init__(self, message: str):
        super().__init__(message, HF_COMMAND)


class Unsupported(ModelError):
    """The backend cannot fulfil this kind of request; the hint names one that can."""


class ServiceUnavailable(EvenhandError):
    """A service cannot be reached, is down, or does not accept the key. Earlier responses are kept."""


class WriteError(EvenhandError):
    """A result cannot be written (full disk, no permission). Files that were written before are intact."""


class GateFailed(EvenhandError):
    """A finished result does not meet the conditions of `--fail-if` or `--require-power`.

    The result is complete and written.
    """

    exit_code = 4


class Interrupted(EvenhandError):
    """The user stopped the run; it can be resumed."""

    exit_code = 130


MOST_LISTED = 60
"""Maximum number of names that an error lists, for example of the groups of a large table."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Return an error for an unknown name, with the most similar known names.

    Parameters
    ----------
    kind : str
        What is named, for example "benchmark".
    name : str
        The unknown name.
    known : iterable of str
        The known names.

    Returns
    -------
    UsageError
        The error. It is not raised.

    Examples
    --------
    >>> print(unknown_name("benchmark", "crow-pairs", ["crows-pairs", "stereoset"]))
    Unknown benchmark: 'crow-pairs'. Did you mean 'crows-pairs'?
    Known: crows-pairs, stereoset.
    """
    known = sorted(known)
    near = get_close_matches(name, known, n=2, cutoff=0.5)
    guess = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    more = f", ... ({len(known)} in all)" if len(known) > MOST_LISTED else ""
    return UsageError(f"Unknown {kind}: {name!r}.{guess}", f"Known: {', '.join(known[:MOST_LISTED])}{more}.")
