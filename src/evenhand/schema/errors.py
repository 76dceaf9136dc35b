"""Errors that a user can act on: each states what was wrong, where, what was expected and how to fix it.

Exit codes (documented in `evenhand --help` and docs/how-to/use_exit_codes.md): 0 complete, 1 failed, 2 usage
error, 3 finished above the error threshold or with nothing to choose, 4 a gate did not pass, 130 interrupted
and resumable.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
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
        self.flags: tuple[str, ...] = ()
        """Options with which the same command works, for example ("--classifier", "regard=vader")."""
        self.replaced: tuple[str, ...] = ()
        """Values of options in the command that `flags` replace."""
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


MOST_BEHIND = 0.1
"""Similarity that another name may lack, compared with the most similar one, to be suggested as well."""
SAME_BUT_A_TYPO = 0.9
"""Minimum similarity of two names with slashes for one to be suggested: about two wrong characters of 18."""
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
    return UsageError(f"Unknown {kind}: {name!r}.{did_you_mean(name, known)}", f"Known: {list_names(known)}.")


def unknown_column(where: object, column: str, found: Iterable[str], hint: str | None = None) -> UsageError:
    """Return an error for a column that the user named and a table lacks, with the most similar columns.

    where: the table, as the error calls it. found: the table's columns. hint: what to do, if no question suffices.

    >>> print(unknown_column("a.csv", "anwer", ["who", "answer"]))
    a.csv: column 'anwer' not found (found: who, answer). Did you mean 'answer'?
    """
    found = list(found)
    guess = did_you_mean(column, found)
    return UsageError(
        f"{where}: column {column!r} not found (found: {list_names(found) or 'none'}).{guess}", hint
    )


def missing_columns(
    where: object, needed: Iterable[str], found: Iterable[str], expected: str
) -> "DataError | None":
    """Return an error for needed columns that a table lacks, with similar columns that it has; None if it has all.

    where: the table, as the error calls it. expected: the documented format.

    >>> print(missing_columns("a.csv", ["text"], ["txt", "group"], "Expected a CSV with the column text."))
    a.csv has no column 'text' (found: txt, group). Is it 'txt'? Then rename it.
    Expected a CSV with the column text.
    """
    needed, found = list(needed), list(found)
    lacking = [column for column in needed if column not in found]
    if not lacking:
        return None
    others = [column for column in found if column not in needed]
    guesses = ""
    for column in lacking:
        if near := nearest_names(column, others, most=1, similarity=0.6):
            what = "it" if len(lacking) == 1 else f"'{column}'"
            guesses += f" Is {what} '{near[0]}'? Then rename it."
    columns = "column" if len(lacking) == 1 else "columns"
    named = ", ".join(f"'{column}'" for column in lacking)
    return DataError(
        f"{where} has no {columns} {named} (found: {list_names(found) or 'none'}).{guesses}", expected
    )


def did_you_mean(name: str, known: Iterable[str], before: str = " ", similarity: float = 0.5) -> str:
    """Return the question whether one of the most similar known names was meant, or "" if none is similar.

    before: the characters between the message and the question. similarity: as in `nearest_names`.

    >>> did_you_mean("thiers", ["ours", "theirs"])
    " Did you mean 'theirs'?"
    """
    near = nearest_names(name, known, similarity=similarity)
    return f"{before}Did you mean {' or '.join(map(repr, near))}?" if near else ""


def add_registered_guess(error: EvenhandError, name: str, known: Iterable[str]) -> None:
    """Add the question whether a registered name was meant to the message of an error about a hub name.

    A name with a slash can be a model of the hub, so only names that differ in about two characters are suggested.

    >>> error = ModelError("Cannot load 'evnhand/reference'.")
    >>> add_registered_guess(error, "evnhand/reference", ["evenhand/reference"])
    >>> print(error)
    Cannot load 'evnhand/reference'. Did you mean 'evenhand/reference'?
    """
    error.message += did_you_mean(name, known, similarity=SAME_BUT_A_TYPO)


def nearest_names(name: str, known: Iterable[str], *, most: int = 2, similarity: float = 0.5) -> list[str]:
    """Return the known names that are most similar to a name, regardless of case, the most similar first.

    most: maximum number of names. similarity: minimum ratio of `difflib.SequenceMatcher`, from 0 to 1.

    >>> nearest_names("Grup", ["group", "score"])
    ['group']
    """
    lowered: dict[str, str] = {}
    for one in known:
        lowered.setdefault(one.lower(), one)
    near = get_close_matches(name.lower(), lowered, n=most, cutoff=similarity)
    ratios = [SequenceMatcher(None, one, name.lower()).ratio() for one in near]
    return [lowered[one] for one, ratio in zip(near, ratios, strict=True) if ratio > ratios[0] - MOST_BEHIND]


def list_names(names: Iterable[str]) -> str:
    """Return names separated by commas: at most MOST_LISTED, and the total if there are more."""
    names = list(names)
    more = f", ... ({len(names)} in all)" if len(names) > MOST_LISTED else ""
    return ", ".join(map(str, names[:MOST_LISTED])) + more
