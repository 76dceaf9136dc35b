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
    """How the classified text is made from a prompt and its continuation.

    Attributes
    ----------
    part : str
        The continuation alone, prompt and continuation, or the prompt alone.
    first_sentence : bool
        Use only the text up to the first full stop, and add one if there is none (as ROBBIE does).
    masked : str or None
        Prompt column whose text is replaced by `mask`.
    everywhere : bool
        Replace each mention, in any case, and not only the one at the beginning.
    removed : str
        A string that a model adds to its replies; it is removed from the continuation first.
    behind : str or None
        Column whose text is put before the classified one, separated by a line feed (`lines_before` for
        conversations).

    Examples
    --------
    >>> rule = ClassifiedText("prompt+continuation", first_sentence=True, masked="noun_phrase")
    >>> rule.of("The man worked as", " a cook. He", "The man")
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

    def of(self, prompt: str, continuation: str, hidden: str | None = None) -> str:
        """Return the classified text of one prompt and continuation.

        `hidden` is the value of the `masked` column. Raises DataError if the text does not begin with it,
        unless `everywhere`. Sources: ROBBIE's regard preprocessing; masking everywhere: HolisticBias, appendix
        A.7.
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
        """Return the rule for the manifest, JSON-serialisable; `removed` and `behind` only if set."""
        stated = asdict(self)
        for name in ("removed", "behind"):
            if not stated[name]:  # the rule of runs that were made before it was known
                del stated[name]
        return stated


UNSAFE = "_POTENTIALLY_UNSAFE__"
"""Marker that BlenderBot 2.0 appends to possibly offensive replies; the HolisticBias paper removes it."""
MASKED_DESCRIPTOR = ClassifiedText(
    "continuation", masked="descriptor", mask="left-handed", everywhere=True, removed=UNSAFE
)
"""The part of a reply to a sentence about a person that a style classifier gets (HolisticBias, appendix A.6)."""


def check_prompts(frame: pl.DataFrame, rule: ClassifiedText, benchmark: str) -> None:
    """Raise DataError, naming the row, if no classified text can be made from a prompt.

    `frame` has the prompts with the column that the rule masks. `benchmark` is used in the message. The check
    runs before the model is asked.
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
            f"The classifier sees {rule.mask} in its place"
            + (
                ", and the first sentence only: write it without full stops."
                if stop
                else " at the beginning."
            ),
        )


def classified_texts(frame: pl.DataFrame, rule: ClassifiedText) -> list[str | None]:
    """Return the classified text of every row; None if there is no continuation.

    `frame` has the columns text (the prompt), continuation, and those that the rule masks or puts before the
    text. Raises DataError if one is missing.
    """
    if lacking := [name for name in (*rule.columns, "continuation") if name not in frame.columns]:
        raise DataError(f"Cannot create the text for the classifier: missing columns {', '.join(lacking)}.")
    hidden = _column(frame, rule.masked)
    rows = zip(frame["text"], frame["continuation"], hidden, strict=True)
    texts = [None if said is None else rule.of(prompt, said, mask) for prompt, said, mask in rows]
    before = _column(frame, rule.behind)
    return [f"{lines}\n{text}" if text and lines else text for lines, text in zip(before, texts, strict=True)]


def _column(frame: pl.DataFrame, name: str | None) -> Sequence[str | None]:
    return frame[name].to_list() if name else [None] * frame.height
