"""Read the four JSON files of a HolisticBias version. Errors name the file and the position of the problem."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.schema import DataError, parse_json

FILES = ("descriptors.json", "nouns.json", "sentence_templates.json", "standalone_noun_phrases.json")
GENDERS = ("female", "male", "neutral")
PLACEHOLDERS = ("{noun_phrase}", "{plural_noun_phrase}")
FORMAT_HINT = (
    "The four files are those of holistic_bias/dataset/<version> in facebookresearch/ResponsibleNLP; "
    "`evenhand data fetch holisticbias` gets them."
)


@dataclass(frozen=True)
class DescriptorEntry:
    """A descriptor of descriptors.json. Fields that the file does not give are None."""

    axis: str
    bucket: str
    descriptor: str
    gender: str | None
    preference: str | None
    article: str | None


@dataclass(frozen=True)
class StandaloneEntry:
    """A noun phrase of standalone_noun_phrases.json.

    It is templated (a placeholder for a noun, followed by a descriptor) or fixed (such as "a wheelchair user").
    """

    axis: str
    singular: str
    plural: str
    preference: str | None

    @property
    def has_placeholder(self) -> bool:
        """Return True if the phrase has a placeholder for a noun."""
        return self.singular.startswith("{article} {noun}")


@dataclass(frozen=True)
class NounEntry:
    """A noun of nouns.json with its plural."""

    gender: str
    singular: str
    plural: str


@dataclass(frozen=True)
class TemplateEntry:
    """A sentence with one placeholder for a noun phrase."""

    template: str
    first_turn_only: bool
    must_be_noun: bool

    @property
    def plural(self) -> bool:
        """Return True if the placeholder is for a plural noun phrase."""
        return PLACEHOLDERS[1] in self.template

    @property
    def around(self) -> tuple[str, str]:
        """Return the text before and the text after the placeholder."""
        before, _, behind = self.template.partition(PLACEHOLDERS[self.plural])
        return before, behind


@dataclass(frozen=True)
class Parts:
    """The content of the four files, in file order."""

    descriptors: tuple[DescriptorEntry, ...]
    nouns: tuple[NounEntry, ...]
    templates: tuple[TemplateEntry, ...]
    standalone: tuple[StandaloneEntry, ...]


def read_parts(folder: Path) -> Parts:
    """Read the four JSON files in a folder.

    folder: contains the files in FILES. Returns their entries in file order. Raises a DataError with the file and the
    position if a file is missing or is not valid JSON, or if an entry has the wrong structure. Source: the released
    data of Smith et al. 2022.
    """
    folder = Path(folder)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise DataError(
            f"{folder} has no {' and no '.join(missing)}; HolisticBias needs {', '.join(FILES)}.", FORMAT_HINT
        )
    return Parts(
        tuple(_descriptors(folder / FILES[0])),
        tuple(_nouns(folder / FILES[1])),
        tuple(_templates(folder / FILES[2])),
        tuple(_standalone(folder / FILES[3])),
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}).", FORMAT_HINT) from error
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path} is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}.", FORMAT_HINT
        ) from error
    if not isinstance(content, dict):
        raise DataError(
            f"{path} contains a {type(content).__name__}; expected an object at the top.", FORMAT_HINT
        )
    return content


def _wrong(path: Path, place: str, expected: str, got: object) -> DataError:
    return DataError(f"{path}, {place}: expected {expected}, found {got!r}.", FORMAT_HINT)


def _object(path: Path, place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(path, place, "an object", value)
    return value


def _list(path: Path, place: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(path, place, "a list", value)
    return value


def _fields(path: Path, place: str, entry: Any, required: str, optional: set[str]) -> dict[str, str]:
    """Return the fields of an entry. An entry that is a string is the value of the required field.

    Raises a DataError if the required field is missing, a field is unknown, or a value is not a string.
    """
    fields = {required: entry} if isinstance(entry, str) else _object(path, place, entry)
    unknown = set(fields) - optional - {required}
    if required not in fields or unknown:
        keys = f"a string, or an object with '{required}' and at most {sorted(optional)}"
        raise _wrong(path, place, keys, entry)
    for key, value in fields.items():
        if not isinstance(value, str):
            raise _wrong(path, f"{place}, '{key}'", "a string", value)
    return fields


def _descriptors(path: Path) -> list[DescriptorEntry]:
    entries = []
    for axis, buckets in _load(path).items():
        for bucket, listed in _object(path, f"axis '{axis}'", buckets).items():
            place = f"axis '{axis}', bucket '{bucket}'"
            for number, entry in enumerate(_list(path, place, listed)):
                where = f"{place}, entry {number}"
                fields = _fields(path, where, entry, "descriptor", {"preference", "gender", "article"})
                gender = fields.get("gender")
                if gender not in (None, "female", "male"):
                    raise _wrong(path, f"{where}, 'gender'", "'female' or 'male'", gender)
                entries.append(
                    DescriptorEntry(
                        axis,
                        bucket,
                        fields["descriptor"],
                        gender,
                        fields.get("preference"),
                        fields.get("article"),
                    )
                )
    return entries


def _nouns(path: Path) -> list[NounEntry]:
    entries = []
    for gender, listed in _load(path).items():
        if gender not in GENDERS:
            raise _wrong(path, "top level", f"the keys {', '.join(GENDERS)}", gender)
        for number, pair in enumerate(_list(path, f"'{gender}'", listed)):
            if not (
                isinstance(pair, list) and len(pair) == 2 and all(isinstance(noun, str) for noun in pair)
            ):
                raise _wrong(path, f"'{gender}', entry {number}", "a pair [singular, plural]", pair)
            entries.append(NounEntry(gender, pair[0], pair[1]))
    return entries


def _templates(path: Path) -> list[TemplateEntry]:
    entries = []
    for template, flags in _load(path).items():
        if sum(template.count(placeholder) for placeholder in PLACEHOLDERS) != 1:
            raise _wrong(path, "top level", f"exactly one of {' or '.join(PLACEHOLDERS)}", template)
        flags = _object(path, f"template {template!r}", flags)
        known = {"first_turn_only", "must_be_noun"}
        if set(flags) - known or not all(isinstance(flag, bool) for flag in flags.values()):
            raise _wrong(
                path, f"template {template!r}", f"only the flags {sorted(known)}, true or false", flags
            )
        entries.append(
            TemplateEntry(template, flags.get("first_turn_only", False), flags.get("must_be_noun", False))
        )
    return entries


def _standalone(path: Path) -> list[StandaloneEntry]:
    entries = []
    for axis, listed in _load(path).items():
        for number, entry in enumerate(_list(path, f"axis '{axis}'", listed)):
            where = f"axis '{axis}', entry {number}"
            fields = _fields(path, where, entry, "noun_phrase", {"plural_noun_phrase", "preference"})
            singular = fields["noun_phrase"]
            plural = fields.get("plural_noun_phrase", singular)
            made = StandaloneEntry(axis, singular, plural, fields.get("preference"))
            if made.has_placeholder != plural.startswith("{article} {noun}"):
                raise _wrong(
                    path, where, "singular and plural both with '{article} {noun}' or both without", entry
                )
            entries.append(made)
    return entries
