"""Objects by name: those of this package, and those that other packages add through entry points.

Models, classifiers, mitigations, benchmarks, suites and measures all use `Registry`. A misspelt name, a name that two
packages add, and an object that cannot be used therefore give the same kind of error everywhere.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from evenhand.schema.cards import Card
from evenhand.schema.errors import EvenhandError, unknown_name

T = TypeVar("T")


class ExtensionError(EvenhandError):
    """An extension of evenhand from another package cannot be used; the message names the package."""


def make_unusable_card(name: str, error: EvenhandError) -> Card:
    """Return a card for something that is listed but cannot be used, with the reason and what to do.

    Examples
    --------
    >>> make_unusable_card("polite", ExtensionError("It is broken.", "Mend it.")).summary
    'Cannot be used: It is broken.'
    """
    return Card(name, f"Cannot be used: {error.message}", details=error.hint or "")


def stated_card(thing: object, name: str) -> Card | None:
    """Return the card of an object, or None if it has none.

    The card is its attribute `card` or `CARD`; else `CARDS[name]`, or the `CARD` with that name, of the module that
    defines the object.

    >>> class Polite:
    ...     CARD = Card("polite", "Says please.")
    >>> stated_card(Polite, "polite").summary
    'Says please.'
    """
    for attribute in ("card", "CARD"):
        card = _attribute(thing, attribute)
        if isinstance(card, Card):
            return card
    where = _attribute(thing, "__module__")
    module = sys.modules.get(where) if isinstance(where, str) else None
    cards = _attribute(module, "CARDS")
    card = cards.get(name) if isinstance(cards, Mapping) else _attribute(module, "CARD")
    return card if isinstance(card, Card) and card.name == name else None


@dataclass(frozen=True)
class Registry(Generic[T]):
    """Objects of one kind (such as benchmarks) by name; each is loaded when it is needed.

    Other packages add objects with entry points. Names of evenhand come first.

    Notes
    -----
    A name is ambiguous if two packages add it, or if a package adds a name of evenhand. Loading such a name
    is refused with an error that names both packages. Otherwise its meaning could change between two runs.
    """

    kind: str
    """Name of the kind in messages, for example "benchmark"."""
    group: str
    """Entry-point group under which other packages add objects."""
    built_in: Mapping[str, Any] = field(default_factory=dict)
    """Objects of evenhand by name: "module:object" or "module", imported at first use, or the object itself."""
    expected: str = "a function that makes it"
    """Description of a valid object, for messages."""
    accepts: Callable[[Any], bool] = callable
    """Function that returns whether an object is valid."""
    card_of: Callable[[Any, str], Card | None] = stated_card
    """Function of an object and its name that returns the card."""
    needs_card: bool = True
    """Whether objects of other packages need a card. Tests check the cards of evenhand's own objects."""

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self.find_extensions()

    def names(self) -> list[str]:
        """Return all names: first those of evenhand in their order, then those of other packages, sorted.

        Nothing is imported.
        """
        return [
            *self.built_in,
            *(name for name in sorted(self.find_extensions()) if name not in self.built_in),
        ]

    def find_extensions(self) -> dict[str, tuple[EntryPoint, ...]]:
        """Return what other packages add by name; a name has several entries if packages disagree."""
        by_name: dict[str, tuple[EntryPoint, ...]] = {}
        for point in _points(self.group, tuple(sys.path)):
            by_name[point.name] = (*by_name.get(point.name, ()), point)
        return by_name

    def package(self, name: str) -> str:
        """Return the package that adds a name; "evenhand" for built-in ones."""
        return "evenhand" if name in self.built_in else _package(self.find_extensions()[name][0])

    def load(self, name: str) -> T:
        """Return the object with a name.

        Raises UsageError with similar names if the name is unknown. Raises ExtensionError, which names the
        package, if two packages add the name, or if the object cannot be imported, is of another kind, or
        lacks a required card.
        """
        point = self._entry(name)
        loaded = self._load_built_in(name) if point is None else self._load_extension(name, point)
        if not self._is_acceptable(loaded):
            raise self._make_error(
                name, f"is of type {type(loaded).__name__}, but {self.expected} is expected"
            )
        if point is not None and self.needs_card and self.card_of(loaded, name) is None:
            raise self._make_error(
                name,
                "has no card, and cannot be used without one",
                f"Give it an evenhand.schema.Card named {name!r}, as `CARD` of the object or of its module. It "
                "states what it measures or does, its known limitations, its source and its licence.",
            )
        thing: T = loaded
        return thing

    def card(self, name: str) -> Card | None:
        """Return the card of an object by its name; None only if it needs none. Raises the errors of `load`."""
        return self.card_of(self.load(name), name)

    def explain_failure(self, name: str, error: BaseException) -> ExtensionError | None:
        """Return the error to raise if an object of another package fails, with the name of the package.

        None for evenhand's own objects, and for errors with a clear message.
        """
        if (
            isinstance(error, EvenhandError)
            or name not in self.find_extensions()
            or self.package(name) == "evenhand"
        ):
            return None
        return self._make_error(name, f"failed: {type(error).__name__}: {error}")

    def _entry(self, name: str) -> EntryPoint | None:
        points = self.find_extensions().get(name, ())
        packages = [*(["evenhand"] if name in self.built_in else []), *map(_package, points)]
        if not packages:
            raise unknown_name(self.kind, name, self.names())
        if len(packages) > 1:
            raise ExtensionError(
                f"{len(packages)} packages contain a {self.kind} named {name!r}: {', '.join(packages)}.",
                f"Uninstall one of them, or rename the {self.kind} in one of them.",
            )
        return points[0] if points else None

    def _is_acceptable(self, loaded: Any) -> bool:
        try:
            return self.accepts(loaded)
        except Exception:  # an external object that fails when its attributes are read is not evenhand's
            return False

    def _load_built_in(self, name: str) -> Any:
        where = self.built_in[name]
        if not isinstance(where, str):
            return where
        module, _, attribute = where.partition(":")
        return getattr(import_module(module), attribute) if attribute else import_module(module)

    def _load_extension(self, name: str, point: EntryPoint) -> Any:
        try:
            return point.load()
        except (EvenhandError, KeyboardInterrupt):
            raise
        except BaseException as error:  # importing an external module may raise anything, including sys.exit
            raise self._make_error(
                name,
                f"cannot be loaded from {point.value!r}: {type(error).__name__}: {error}",
                f"Install the dependencies of {_package(point)}, or uninstall it.",
            ) from error

    def _make_error(self, name: str, what: str, hint: str | None = None) -> ExtensionError:
        package = self.package(name)
        return ExtensionError(
            f"The {self.kind} {name!r} of the package {package} {what}.",
            hint
            or (
                f"Please report this to the maintainers of {package}. How to add a {self.kind}: "
                "docs/how-to/extend_evenhand.md"
            ),
        )


def _attribute(thing: object, name: str) -> Any:
    """Return an attribute; None if it is missing, or if reading it from an external object fails."""
    try:
        return getattr(thing, name, None)
    except Exception:  # the attribute may be computed and raise any exception
        return None


def _package(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else point.dist.name


@lru_cache(maxsize=64)  # the installed packages depend on the search path, which is read often
def _points(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    # a package may be found twice: as built and as installed
    return tuple({(p.name, p.value, _package(p)): p for p in entry_points(group=group)}.values())
