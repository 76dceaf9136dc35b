"""Drafts of unsent answers, kept in memory for a day so that a page can be reopened after a mistake."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock

Typed = Mapping[str, tuple[str, ...]]
"""Values sent for each field, by name."""


@dataclass(frozen=True)
class Draft:
    """Unsent answers of one person to one form."""

    page: str
    """Identifier of the presentation, or of the survey block, to which the draft belongs."""
    typed: Typed
    sent: bool
    """Whether it was submitted, so that its errors must be shown."""


@dataclass
class Drafts:
    """The last draft of each person, as long as there is room; lost when the process ends."""

    clock: Callable[[], datetime]
    most_bytes: int = 32 * 1024 * 1024
    """Maximum size of all drafts; the oldest are dropped first. A form has at most 1 MiB."""
    lasts: timedelta = timedelta(days=1)
    _kept: dict[str, tuple[datetime, str, bool, bytes]] = field(default_factory=dict)
    _bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def keep(self, person: str, page: str, typed: Typed, *, sent: bool) -> None:
        """Store a form, replacing the person's last one."""
        content = json.dumps({name: list(values) for name, values in typed.items()}, ensure_ascii=False)
        written = content.encode("utf-8", "surrogatepass")
        with self._lock:
            self._forget(person)
            self._kept[person] = (self.clock(), page, sent, written)
            self._bytes += len(written)
            while self._kept and (self._bytes > self.most_bytes or self._is_old(next(iter(self._kept)))):
                self._forget(next(iter(self._kept)))

    def of(self, person: str, page: str) -> Draft | None:
        """Return a person's draft for a page; None if there is none, or only for another page."""
        with self._lock:
            if person not in self._kept or self._is_old(person) or self._kept[person][1] != page:
                return None
            _, _, sent, written = self._kept[person]
        content = json.loads(written.decode("utf-8", "surrogatepass"))
        return Draft(page, {name: tuple(values) for name, values in content.items()}, sent)

    def unsent(self, person: str) -> bool:
        """Return whether a person has a draft."""
        with self._lock:
            return person in self._kept and not self._is_old(person)

    def forget(self, person: str) -> None:
        """Delete a person's draft."""
        with self._lock:
            self._forget(person)

    def _is_old(self, person: str) -> bool:
        return self.clock() - self._kept[person][0] > self.lasts

    def _forget(self, person: str) -> None:
        if person in self._kept:
            self._bytes -= len(self._kept.pop(person)[3])
