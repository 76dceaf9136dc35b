"""Read tables of a user's TOML file key by key; errors name file and key."""

import re
from collections.abc import Mapping
from typing import Any

from evenhand.schema import DataError

Pair = tuple[str, str]
NAME = re.compile(r"\w[\w. -]{0,59}")
NAME_RULE = "at most 60 letters, digits, _, -, full stops and spaces, the first a letter or digit"


class TomlTable:
    """A table of a TOML file that records which keys were read.

    content: the table. where: file and key, for error messages. expected: the documented format, for error messages.
    All methods that read a key raise a DataError if the value is invalid, or the key is missing and required.
    """

    def __init__(self, content: Mapping[str, Any], where: str, expected: str):
        self.content = content
        self.where = where
        self.expected = expected
        self.asked: set[str] = set()

    def wrong(self, key: str, what: str, expected: str) -> DataError:
        """Return a DataError that states that the value of a key is invalid, and what was expected."""
        return DataError(f"{self.where}, {key}: {what}; expected {expected}.", self.expected)

    def refuse_unknown(self) -> None:
        """Raise a DataError if the table has a key that was not read."""
        if unknown := sorted(self.content.keys() - self.asked):
            known = ", ".join(sorted(self.asked))
            raise DataError(f"{self.where}: unknown key {unknown[0]!r}; known: {known}.", self.expected)

    def table(self, key: str, *, needed: bool = True) -> "TomlTable":
        """Return the table below a key. A table that is missing and not `needed` is empty."""
        value = self._value(key, None if needed else {})
        if not isinstance(value, dict):
            raise self.wrong(key, f"{_short_repr(value)} is not a table", f"[{key}] with keys below it")
        return TomlTable(value, f"{self.where}, [{key}]", self.expected)

    def tables(self, key: str) -> list["TomlTable"]:
        """Return the tables of a list of tables. The result is empty if the key is missing."""
        value = self._value(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self.wrong(key, f"{_short_repr(value)} is not a list of tables", "[{...}, ...]")
        return [
            TomlTable(entry, f"{self.where}, {key}, entry {number}", self.expected)
            for number, entry in enumerate(value, 1)
        ]

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text that is not empty. The default, used if the key is missing, may be empty."""
        value = self._value(key, default)
        if not isinstance(value, str) or (not value.strip() and value != default):
            raise self.wrong(key, f"{_short_repr(value)} is not a text", "a text that is not empty")
        return value

    def name(self, key: str) -> str:
        """Return a text that may be part of a file name (see NAME_RULE)."""
        value = self.text(key)
        if not NAME.fullmatch(value):
            raise self.wrong(key, f"{_short_repr(value)} cannot be part of a file's name", NAME_RULE)
        return value

    def texts(self, key: str, *, needed: bool = True) -> tuple[str, ...]:
        """Return a list of texts. It has at least one text if it is `needed`, and is empty if the key is missing."""
        value = self._value(key, None if needed else [])
        if not isinstance(value, list) or (needed and not value):
            raise self.wrong(key, f"{_short_repr(value)} is not a list of texts", '["...", ...]')
        for number, entry in enumerate(value, 1):
            if not isinstance(entry, str) or not entry.strip():
                raise self.wrong(f"{key}, entry {number}", f"{_short_repr(entry)} is not a text", '"..."')
        return tuple(value)

    def pairs(
        self, key: str, *, needed: bool = True, second_needed: bool = False, alone: bool = False
    ) -> tuple[Pair, ...]:
        """Return a list of pairs of texts.

        needed: the list must have at least one pair. second_needed: the second text of a pair must not be empty. alone:
        the value is a single pair instead of a list of pairs.
        """
        value = self._value(key, None if needed else [])
        entries = [value] if alone else value
        if not isinstance(entries, list) or (needed and not entries):
            raise self.wrong(key, f"{_short_repr(value)} is not a list of pairs", '[["...", "..."], ...]')
        for number, entry in enumerate(entries, 1):
            is_pair = isinstance(entry, list) and len(entry) == 2 and all(isinstance(t, str) for t in entry)
            if not is_pair or not entry[0].strip() or (second_needed and not entry[1].strip()):
                at = key if alone else f"{key}, entry {number}"
                raise self.wrong(at, f"{_short_repr(entry)} is not a pair of texts", '["...", "..."]')
        return tuple((first, second) for first, second in entries)

    def terms(self, key: str, length: int | None = None) -> tuple[tuple[tuple[str, int], ...], ...]:
        """Return a list of terms, each a list of tokens [text, id].

        length: number of tokens of each term, if it is fixed. The result is empty if the key is missing.
        """
        value = self._value(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, f"{_short_repr(value)} is not a list", '[[["...", 1], ...], ...]')
        for number, term in enumerate(value, 1):
            right = isinstance(term, list) and term and all(_is_piece(piece) for piece in term)
            if not right or (length is not None and len(term) != length):
                raise self.wrong(
                    f"{key}, entry {number}",
                    f"{_short_repr(term)} is not a list of pieces",
                    '[["...", 1], ...]',
                )
        return tuple(tuple((text, number) for text, number in term) for term in value)

    def flag(self, key: str, default: bool) -> bool:
        """Return a boolean."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{_short_repr(value)} is neither true nor false", "true or false")
        return value

    def whole_number(self, key: str) -> int:
        """Return an integer of at least 0."""
        value = self._value(key, None)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(key, f"{_short_repr(value)} is not a whole number", "a whole number from 0")
        return value

    def share(self, key: str, default: float) -> float:
        """Return a number above 0 and below 1."""
        value = self._value(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1:
            raise self.wrong(key, f"{_short_repr(value)} is not a share", "a number between 0 and 1")
        return float(value)

    def _value(self, key: str, default: Any) -> Any:
        self.asked.add(key)
        if key not in self.content and default is None:
            raise DataError(f"{self.where}: the key {key!r} is missing.", self.expected)
        return self.content.get(key, default)


def _is_piece(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], int)
        and not isinstance(value[1], bool)
    )


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
