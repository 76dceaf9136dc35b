"""What stands behind the "?" of a classifier's name, and how a backend reads it: `NAME?key=value&key=value`."""

from collections.abc import Mapping
from typing import Any, overload
from urllib.parse import unquote

from evenhand.schema import UsageError
from evenhand.schema.errors import unknown_name

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """The bare name and the options behind it.

    name: `NAME` or `NAME?key=value&key=value`; %-escapes are undone in values, so that "%26" is an "&".
    Returns (name, options). Raises UsageError for a part that is no `key=value` or a key given twice.

    >>> split_name("regard?threshold=0.4&batch_tokens=4096")
    ('regard', {'threshold': '0.4', 'batch_tokens': '4096'})
    """
    bare, _, query = name.partition("?")
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise UsageError(
                f"{part!r} in {name!r} is not an option.",
                "Write NAME?key=value&key=value, e.g. regard?threshold=0.4.",
            )
        if key in options:
            raise UsageError(f"The option {key!r} stands twice in {name!r}.", "Give it once.")
        options[key] = unquote(value)
    return bare, options


class Options:
    """Options of one classifier, each taken once by the backend that knows it.

    values: as given; words from a name or Python values. owner: the classifier's name, for messages.

    >>> options = Options("regard", {"threshold": "0.4"})
    >>> options.number("threshold"), options.whole("batch_tokens", 8192)
    (0.4, 8192)
    >>> options.finish()
    """

    def __init__(self, owner: str, values: Mapping[str, Any]) -> None:
        self.owner = owner
        self._values = dict(values)
        self._known: list[str] = []

    def text(self, key: str, default: str | None = None) -> str | None:
        """A string."""
        value = self._take(key, default)
        return value if value is None else str(value)

    def words(self, key: str) -> tuple[str, ...] | None:
        """Strings: a list, or words separated by commas."""
        value = self._take(key, None)
        if value is None or isinstance(value, list | tuple):
            return value if value is None else tuple(str(word) for word in value)
        return tuple(word.strip() for word in str(value).split(","))

    def number(self, key: str, default: float | None = None) -> float | None:
        """A finite number; raises UsageError for anything else."""
        value = self._take(key, default)
        if value is None:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise self._wrong(key, value, "a number") from None
        if number != number or abs(number) == float("inf"):
            raise self._wrong(key, value, "a finite number")
        return number

    @overload
    def whole(self, key: str, default: int) -> int: ...
    @overload
    def whole(self, key: str) -> int | None: ...
    def whole(self, key: str, default: int | None = None) -> int | None:
        """A whole number of at least 1; raises UsageError for anything else."""
        value = self._take(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not str(value).isdecimal() or int(value) < 1:
            raise self._wrong(key, value, "a whole number of at least 1")
        return int(value)

    def flag(self, key: str, default: bool | None = None) -> bool | None:
        """Yes or no; raises UsageError for anything else."""
        value = self._take(key, default)
        word = str(value).lower()
        if value is not None and word not in TRUE + FALSE:
            raise self._wrong(key, value, "true or false")
        return None if value is None else word in TRUE

    def finish(self) -> None:
        """Raise UsageError if an option is left that nobody has taken."""
        for key in self._values:
            raise unknown_name(f"option of the classifier {self.owner!r}", key, self._known or ["none"])

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        value = self._values.pop(key, default)
        return default if value is None else value

    def _wrong(self, key: str, value: Any, expected: str) -> UsageError:
        return UsageError(
            f"The option {key} of the classifier {self.owner!r} is {value!r}; {expected} was expected."
        )
