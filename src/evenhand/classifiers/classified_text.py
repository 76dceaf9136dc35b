"""Define which part of a prompt and its continuation a classifier gets; the rule is stored with the run."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import polars as pl

from evenhand.schema import DataError

ClassifiedPart = Literal["continuation", "prompt+continuation", "prompt"]


@dataclass(frozen=True)
class ClassifiedText:
    """A rule that makes the text for a classifier from a prompt and its continuation.

    A benchmark uses it to classify, for example, only the continuation, or prompt and continuation with the
    group hidden.

    Attributes
    ----------
    part : {"continuation", "prompt+continuation", "prompt"}, default "continuation"
        Part of the text that is classified.
    first_sentence : bool, default False
        Use only the text up to the first full stop, and add one if there is none (as ROBBIE does).
    masked : str or None
        Column of the prompts whose text is replaced by `mask`, to hide the group from the classifier.
    mask : str, default "XYZ"
        The replacement.
    everywhere : bool, default False
        Replace each mention, in upper or lower case, and not only the one at the beginning.
    removed : str
        A string that a model adds to its replies. It is removed from the continuation first.
    behind : str or None
        Column whose text precedes the classified text, which follows behind it on a new line. For conversations, use
        the column `lines_before`.

    Examples
    --------
    >>> rule = ClassifiedText("prompt+continuation", first_sentence=True, masked="noun_phrase")
    >>> rule.select_text("The man worked as", " a cook. He", "The man")
    'XYZ worked as a cook.'
    """

    part: ClassifiedPart = "continuation"
    first_sentence: bool = False
    masked: str | None = None
    mask: str = "XYZ"
    everywhere: bool = False
    removed: str = ""
    behind: str | None = None

    @property
    def columns(self) -> list[str]:
        """Return the columns that `classified_texts` needs in addition to the continuation."""
        return ["text", *(name for name in (self.masked, self.behind) if name)]

    def select_text(self, prompt: str, continuation: str, hidden: str | None = None) -> str:
        """Return the text that is classified for one prompt and continuation.

        Parameters
        ----------
        prompt, continuation : str
            The prompt and its continuation.
        hidden : str, optional
            Value of the column `masked`.

        Returns
        -------
        str
            The text.

        Raises
        ------
        DataError
            The text does not begin with `hidden`, and `everywhere` is False.

        References
        ----------
        Esiobu et al. (2023), ROBBIE, preprocessing for the regard classifier.

        Smith et al. (2022), HolisticBias, appendix A.7, for masking everywhere.
        """
        if self.removed:
            continuation = continuation.replace(self.removed, "")
        parts = {"prompt": prompt, "prompt+continuation": prompt + continuation, "continuation": continuation}
        text = parts[self.part]
        if self.first_sentence:
            text = text.split(".", 1)[0] + "."
        if hidden and self.everywhere:
            return re.sub(rf"(?<!\w){re.escape(hidden)}(?!\w)", self.mask, text, flags=re.IGNORECASE)
        if hidden:
            if not text.startswith(hidden):
                raise DataError(
                    f"The text {text[:60]!r} does not begin with {hidden!r}, which must be hidden from the "
                    "classifier.",
                    f"The column {self.masked!r} must contain the words at the beginning of the prompt.",
                )
            return self.mask + text[len(hidden) :]
        return text

    def parameters(self) -> dict[str, Any]:
        """Return the rule as JSON-serialisable data for the manifest. `removed` and `behind` are included only if they
        are set.
        """
        stated = asdict(self)
        for name in ("removed", "behind"):
            if not stated[name]:  # omitted in the rule of runs from before the field existed
                del stated[name]
        return stated


UNSAFE = "_POTENTIALLY_UNSAFE__"
"""Marker that BlenderBot 2.0 appends to possibly offensive replies; the HolisticBias paper removes it."""
MASKED_DESCRIPTOR = ClassifiedText(
    "continuation", masked="descriptor", mask="left-handed", everywhere=True, removed=UNSAFE
)
"""The part of a reply to a sentence about a person that a style classifier gets (HolisticBias, appendix A.6)."""


def check_prompts(frame: pl.DataFrame, rule: ClassifiedText, benchmark: str) -> None:
    """Check that a classified text can be made from every prompt.

    It runs before the model generates text, so that a wrong column does not waste a run.

    Parameters
    ----------
    frame : polars.DataFrame
        The prompts, with the column that the rule masks.
    rule : ClassifiedText
        The rule.
    benchmark : str
        Name of the benchmark, for the message.

    Raises
    ------
    DataError
        No classified text can be made from a prompt. The message names its row.
    """
    if not rule.masked or rule.everywhere or rule.part == "continuation" or rule.masked not in frame.columns:
        return
    hidden = pl.col(rule.masked).cast(pl.String)
    elsewhere = ~pl.col("text").str.starts_with(hidden)
    ended = hidden.str.contains(".", literal=True) if rule.first_sentence else pl.lit(False)
    rows = frame.select(((hidden != "") & (elsewhere | ended)).fill_null(False).arg_true()).to_series()
    if len(rows):
        text, words = frame["text"][int(rows[0])], frame[rule.masked][int(rows[0])]
        stop = text.startswith(words)
        raise DataError(
            f"{benchmark}, prompt {rows[0] + 1}: {rule.masked} is {words!r}, "
            + (
                "which contains a full stop."
                if stop
                else f"and the text {text[:60]!r} does not begin with it."
            ),
            f"The classifier reads {rule.mask} instead of these words"
            + (
                ", and only the first sentence of the text. Write the words without full stops."
                if stop
                else ", so they must be the beginning of the text."
            ),
        )


def classified_texts(frame: pl.DataFrame, rule: ClassifiedText) -> list[str | None]:
    """Return the text that is classified for each row of a table.

    Use it to see exactly what a classifier reads.

    Parameters
    ----------
    frame : polars.DataFrame, n rows
        A table with the columns `text` (the prompt), `continuation`, and those that the rule masks or puts
        before the text.
    rule : ClassifiedText
        The rule.

    Returns
    -------
    list of str or None, length n
        The texts; None if a row has no continuation.

    Raises
    ------
    DataError
        A column is missing.
    """
    if lacking := [name for name in (*rule.columns, "continuation") if name not in frame.columns]:
        raise DataError(
            f"Cannot create the text for the classifier: missing columns {', '.join(lacking)}.",
            "Add these columns to the table of prompts and responses.",
        )
    hidden = _column(frame, rule.masked)
    rows = zip(frame["text"], frame["continuation"], hidden, strict=True)
    texts = [None if said is None else rule.select_text(prompt, said, mask) for prompt, said, mask in rows]
    before = _column(frame, rule.behind)
    return [f"{lines}\n{text}" if text and lines else text for lines, text in zip(before, texts, strict=True)]


def _column(frame: pl.DataFrame, name: str | None) -> Sequence[str | None]:
    return frame[name].to_list() if name else [None] * frame.height
