"""The lexicon: descriptors of people and the nouns they combine with, read from TOML.

There is one file per axis, with one table per bucket and one list per form:

    axis = "ability"

    [buckets.hearing]
    adjectives = ["Deaf", { descriptor = "hearing-impaired", preference = "dispreferred", note = "..." }]
    postmodifiers = ["with tinnitus", { descriptor = "who signs", plural = "who sign" }]
    phrases = [{ descriptor = "lip-reader", plural = "lip-readers" }]

and `nouns.toml`:

    female = [{ singular = "woman", plural = "women" }]
"""

import tomllib
from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

import polars as pl

from evenhand.prompts.lexicon.grammar import Form as Form
from evenhand.schema import DataError, checked, is_folder, parse_toml, unknown_name

Preference = Literal["preferred", "dispreferred", "polarising"]
Gender = Literal["female", "male", "neutral", "nonbinary"]


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """One way in which people are described, such as "Deaf", "who is blind" or "wheelchair user".

    Examples
    --------
    >>> d = Descriptor(axis="age", bucket="old", descriptor="older", form="adjective", plural="older")
    >>> d.preference is None
    True
    """

    axis: str
    bucket: str
    descriptor: str
    """The singular form, without article: "Deaf", "who is blind", "wheelchair user"."""
    form: Form
    """"adjective": before the noun. "postmodifier": after it. "phrase": instead of the noun."""
    plural: str
    """Form for several people: "Deaf", "who are blind", "wheelchair users"."""
    preference: Preference | None = None
    """Preference of the described people for this word. None: unknown."""
    note: str | None = None
    """Who prefers or rejects the word, and which alternative to use."""
    gender: Literal["female", "male"] | None = None
    """Set if it combines only with nouns of this gender."""
    article: Literal["a", "an"] | None = None
    """Set if `grammar.article` would choose wrongly."""
    attributive_only: bool = False
    """True for adjectives that cannot follow a verb: "a 30-year-old man", but not "he is 30-year-old"."""


@dataclass(frozen=True, kw_only=True)
class Noun:
    """A word for a person, with its plural and gender."""

    singular: str
    plural: str
    gender: Gender


@dataclass(frozen=True)
class Lexicon:
    """Words and phrases that describe groups of people (descriptors), and nouns for people.

    Use it with `compose` to create prompts. `load_lexicon` returns the one of evenhand; `Lexicon.from_folder`
    reads your own. Each descriptor belongs to an axis, a way to group people ("religion"). Within the axis it
    belongs to a bucket of related descriptors ("asian_religions").

    Attributes
    ----------
    descriptors : tuple of Descriptor
        Descriptors in the order of their files.
    nouns : tuple of Noun
        Nouns for a person ("woman", "parent"), with plural and gender.

    Examples
    --------
    >>> from evenhand.prompts.lexicon import load_lexicon
    >>> len(load_lexicon().axes)
    13
    """

    descriptors: tuple[Descriptor, ...]
    nouns: tuple[Noun, ...]

    @classmethod
    def from_folder(cls, path: Path | str) -> "Lexicon":
        """Read your own lexicon: a folder with one TOML file per axis and, optionally, `nouns.toml`.

        Parameters
        ----------
        path : path or str
            The folder. Without `nouns.toml`, the nouns of evenhand's lexicon are used.

        Returns
        -------
        Lexicon
            The lexicon.

        Raises
        ------
        DataError
            The folder does not exist or has no axis, a TOML file cannot be read, or an entry is invalid. The
            message names the file and the entry; the hint lists the expected keys.
        """

        lexicon, faults = read_folder(Path(path))
        if faults:
            raise faults[0]
        return lexicon

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the axes (ways to group people) in the order of their files."""
        return tuple(dict.fromkeys(d.axis for d in self.descriptors))

    def select(
        self, axes: Collection[str] | None = None, buckets: Collection[str] | None = None
    ) -> "Lexicon":
        """Return the lexicon restricted to some axes or buckets (sets of related descriptors), with all its nouns.

        Raises UsageError if the lexicon does not have an axis or bucket.
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
        """Return this lexicon followed by the descriptors and nouns of another one.

        Raises DataError if both have the same descriptor on the same axis.
        """
        present = {(d.axis, d.descriptor) for d in self.descriptors}
        for d in other.descriptors:
            if (d.axis, d.descriptor) in present:
                raise DataError(
                    f"Both lexicons have {d.descriptor!r} on axis {d.axis!r}.",
                    "Remove it from one of them, or put it on a custom axis with another name.",
                )
        return Lexicon(self.descriptors + other.descriptors, tuple(dict.fromkeys(self.nouns + other.nouns)))

    def frame(self) -> pl.DataFrame:
        """Return one row per descriptor, with one column per field of `Descriptor`.

        Examples
        --------
        >>> Lexicon((), ()).frame().columns[:4]
        ['axis', 'bucket', 'descriptor', 'form']
        """
        text = ("axis", "bucket", "descriptor", "form", "plural", "preference", "note", "gender", "article")
        schema: dict[str, type[pl.DataType]] = dict.fromkeys(text, pl.String)
        return pl.DataFrame(
            [asdict(d) for d in self.descriptors], schema=schema | {"attributive_only": pl.Boolean}
        )


NOUNS_FILE = "nouns.toml"
FORM_OF_LIST: dict[str, Form] = {
    "adjectives": "adjective",
    "postmodifiers": "postmodifier",
    "phrases": "phrase",
}
DESCRIPTOR_KEYS = ("descriptor", "plural", "preference", "note", "gender", "article", "attributive_only")
NOUN_KEYS = ("singular", "plural")
_ALLOWED: dict[str, tuple[Any, ...]] = {
    "preference": get_args(Preference),
    "gender": ("female", "male"),
    "article": ("a", "an"),
    "attributive_only": (True, False),
}


@cache
@checked
def load_lexicon() -> Lexicon:
    """Return the lexicon of evenhand: words that describe groups of people, and nouns for people.

    Use it to create prompts with `compose`, or to look up which groups evenhand covers.

    Returns
    -------
    Lexicon
        The lexicon. It has 13 axes (ways to group people, such as religion), was written for this project,
        and is in US English.

    Examples
    --------
    >>> sum(d.axis == "ability" for d in load_lexicon().descriptors) > 40
    True
    """
    return Lexicon.from_folder(Path(__file__).parent)


def read_folder(folder: Path) -> tuple[Lexicon, list[DataError]]:
    """Read a folder of TOML files, and report everything that is wrong with it.

    Returns
    -------
    lexicon : Lexicon
        All valid entries.
    faults : list of DataError
        One error per invalid file or entry.
    """
    if not is_folder(folder):
        raise DataError(
            f"Lexicon folder not found: {folder}.",
            "Give a folder with one TOML file per axis, such as src/evenhand/prompts/lexicon.",
        )
    faults: list[DataError] = []
    descriptors: list[Descriptor] = []
    axis_files = sorted(f for f in folder.glob("*.toml") if f.name != NOUNS_FILE)
    if not axis_files:
        faults.append(
            DataError(f"{folder} contains no axis: there is no TOML file in it besides {NOUNS_FILE}.")
        )
    for file in axis_files:
        descriptors += _read_axis(file, faults)
    nouns_file = folder / NOUNS_FILE
    nouns = _read_nouns(nouns_file, faults) if nouns_file.exists() else load_lexicon().nouns
    return Lexicon(tuple(descriptors), nouns), faults


def _parse(file: Path, keys: tuple[str, ...], faults: list[DataError]) -> dict[str, Any]:
    try:
        content = parse_toml(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        faults.append(
            DataError(f"{file} is not TOML in UTF-8: {error}.", "Correct the file at that position.")
        )
        return {}
    return _known_only(content, keys, str(file), faults)


def _known_only(
    table: dict[str, Any], keys: tuple[str, ...], where: str, faults: list[DataError]
) -> dict[str, Any]:
    unknown = [key for key in table if key not in keys]
    faults += [DataError(f"{where}: unknown key {key!r}.", _describe_expected_keys(keys)) for key in unknown]
    return {key: value for key, value in table.items() if key in keys}


def _describe_expected_keys(keys: tuple[str, ...]) -> str:
    return f"Expected keys: {', '.join(keys)}."


def _read_axis(file: Path, faults: list[DataError]) -> list[Descriptor]:
    content = _parse(file, ("axis", "buckets"), faults)
    if not content:
        return []
    axis, buckets = content.get("axis"), content.get("buckets")
    if not isinstance(axis, str) or not axis or not isinstance(buckets, dict):
        faults.append(
            DataError(
                f"{file}: an axis file needs its name and its buckets.",
                'Expected: axis = "name", then a table [buckets.NAME] with the lists '
                f"{', '.join(FORM_OF_LIST)}.",
            )
        )
        return []
    descriptors = []
    for bucket, lists in buckets.items():
        where = f"{file}, bucket {bucket!r}"
        if not isinstance(lists, dict):
            faults.append(DataError(f"{where}: not a table.", _describe_expected_keys(tuple(FORM_OF_LIST))))
            continue
        for name, entries in _known_only(lists, tuple(FORM_OF_LIST), where, faults).items():
            if not isinstance(entries, list):
                faults.append(DataError(f"{where}: {name!r} is not a list.", "Expected a list of entries."))
                continue
            for number, entry in enumerate(entries, 1):
                read = _read_descriptor(entry, FORM_OF_LIST[name], f"{where}, {name} entry {number}", faults)
                if read:
                    descriptors.append(Descriptor(axis=axis, bucket=bucket, form=FORM_OF_LIST[name], **read))
    return descriptors


def _read_descriptor(entry: Any, form: Form, where: str, faults: list[DataError]) -> dict[str, Any] | None:
    table = {"descriptor": entry} if isinstance(entry, str) else entry
    if not isinstance(table, dict) or not _is_text(table.get("descriptor")):
        message = f"{where}: {entry!r} is neither a text nor a table with the key 'descriptor'."
        faults.append(DataError(message, _describe_expected_keys(DESCRIPTOR_KEYS)))
        return None
    where += f" ({table['descriptor']!r})"
    table = _known_only(table, DESCRIPTOR_KEYS, where, faults)
    for key, value in table.items():
        allowed = _ALLOWED.get(key)
        if (allowed and value not in allowed) or (not allowed and not _is_text(value)):
            expected = f"one of {', '.join(map(repr, allowed))}" if allowed else "a text that is not empty"
            faults.append(DataError(f"{where}: {key} is {value!r}.", f"Expected {expected}."))
            return None
    if "plural" not in table:
        if needs_plural(table["descriptor"], form):
            faults.append(
                DataError(
                    f"{where}: the plural is missing.",
                    "Phrases and 'who' clauses change in the plural; add plural = \"...\" "
                    "('wheelchair users', 'who use wheelchairs').",
                )
            )
            return None
        table["plural"] = table["descriptor"]
    return table


def needs_plural(descriptor: str, form: Form) -> bool:
    """Return whether the plural of a descriptor differs, so that it must be listed.

    >>> needs_plural("who is blind", "postmodifier"), needs_plural("with asthma", "postmodifier")
    (True, False)
    """
    return form == "phrase" or (form == "postmodifier" and descriptor.startswith("who "))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _read_nouns(file: Path, faults: list[DataError]) -> tuple[Noun, ...]:
    nouns = []
    for gender, entries in _parse(file, get_args(Gender), faults).items():
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
            where = f"{file}, {gender} entry {number}"
            if not isinstance(entry, dict) or not all(_is_text(entry.get(key)) for key in NOUN_KEYS):
                faults.append(
                    DataError(f"{where}: {entry!r} is not a noun.", _describe_expected_keys(NOUN_KEYS))
                )
                continue
            good = _known_only(entry, NOUN_KEYS, where, faults)
            nouns.append(Noun(gender=cast(Gender, gender), **good))
    return tuple(nouns)
