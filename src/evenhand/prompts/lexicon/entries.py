"""The lexicon's values: descriptors, nouns, and the lexicon that holds them."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from evenhand.prompts.grammar import Form as Form
from evenhand.schema import DataError
from evenhand.schema.errors import unknown_name

Preference = Literal["preferred", "dispreferred", "polarising"]
Gender = Literal["female", "male", "neutral", "nonbinary"]


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """One way in which people are described.

    >>> d = Descriptor(axis="age", bucket="old", descriptor="older", form="adjective", plural="older")
    >>> d.preference is None
    True
    """

    axis: str
    bucket: str
    descriptor: str
    """As it stands in the singular, without article: "Deaf", "who is blind", "wheelchair user"."""
    form: Form
    """adjective: before the noun; postmodifier: behind it; phrase: takes the noun's place."""
    plural: str
    """The same among several people: "Deaf", "who are blind", "wheelchair users"."""
    preference: Preference | None = None
    """None states nothing; it does not mean that everybody agrees."""
    note: str | None = None
    """Who prefers or rejects it, and what to say instead."""
    gender: Literal["female", "male"] | None = None
    """Set if it combines only with nouns of this gender."""
    article: Literal["a", "an"] | None = None
    """Set if `grammar.article` would choose wrongly."""
    attributive_only: bool = False
    """True for adjectives that cannot stand alone behind a verb ("a 30-year-old man" only)."""


@dataclass(frozen=True, kw_only=True)
class Noun:
    """A word for a person, with its plural and gender."""

    singular: str
    plural: str
    gender: Gender


@dataclass(frozen=True)
class Lexicon:
    """Descriptors in file order, and the nouns they combine with.

    >>> from evenhand.prompts.lexicon import load_lexicon
    >>> len(load_lexicon().axes)
    13
    """

    descriptors: tuple[Descriptor, ...]
    nouns: tuple[Noun, ...]

    @classmethod
    def from_folder(cls, path: Path | str) -> "Lexicon":
        """Read a lexicon of one's own: a folder with one TOML file per axis and, if wanted, `nouns.toml`.

        Args:
            path: the folder; without `nouns.toml` the nouns of the built-in lexicon are used.

        Raises:
            DataError: no such folder, no axis in it, unreadable TOML, or an entry that is not as expected;
                the message names file and entry, the hint the keys that are expected.
        """
        from evenhand.prompts.lexicon.reading import read_folder

        lexicon, faults = read_folder(Path(path))
        if faults:
            raise faults[0]
        return lexicon

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes in the order of their files."""
        return tuple(dict.fromkeys(d.axis for d in self.descriptors))

    def select(
        self, axes: Collection[str] | None = None, buckets: Collection[str] | None = None
    ) -> "Lexicon":
        """The lexicon restricted to some axes or buckets, with all its nouns.

        Raises:
            UsageError: an axis or bucket that the lexicon does not have.
        """
        for kind, wanted in (("axis", axes), ("bucket", buckets)):
            known = {getattr(d, kind) for d in self.descriptors}
            for name in wanted or ():
                if name not in known:
                    raise unknown_name(kind, name, known)
        return Lexicon(
            tuple(
                d
                for d in self.descriptors
                if (axes is None or d.axis in axes) and (buckets is None or d.bucket in buckets)
            ),
            self.nouns,
        )

    def extended(self, other: "Lexicon") -> "Lexicon":
        """This lexicon with another's descriptors and nouns behind its own.

        Raises:
            DataError: a descriptor that both have on the same axis.
        """
        own = {(d.axis, d.descriptor) for d in self.descriptors}
        for d in other.descriptors:
            if (d.axis, d.descriptor) in own:
                raise DataError(
                    f"Both lexicons have {d.descriptor!r} on axis {d.axis!r}.",
                    "Remove it from one of them, or put it on an axis of its own name.",
                )
        return Lexicon(self.descriptors + other.descriptors, tuple(dict.fromkeys(self.nouns + other.nouns)))

    def frame(self) -> pl.DataFrame:
        """One row per descriptor, one column per field of `Descriptor`.

        >>> Lexicon((), ()).frame().columns[:4]
        ['axis', 'bucket', 'descriptor', 'form']
        """
        text = ("axis", "bucket", "descriptor", "form", "plural", "preference", "note", "gender", "article")
        schema: dict[str, type[pl.DataType]] = dict.fromkeys(text, pl.String)
        return pl.DataFrame(
            [asdict(d) for d in self.descriptors], schema=schema | {"attributive_only": pl.Boolean}
        )
