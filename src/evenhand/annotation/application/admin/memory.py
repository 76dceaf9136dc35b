"""Data of the admin pages in the memory of the process: failed logins, cached numbers, items by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from fastapi import Request

from evenhand.annotation.application.admin.agreement import Live, live
from evenhand.annotation.application.admin.kept import CachedResult
from evenhand.annotation.application.admin.slowing import Slowing
from evenhand.annotation.definition import Item
from evenhand.annotation.store import Progress, Store, administration, list_counted_answers

FRESH = 10.0
"""Seconds for which agreement is cached before it is recomputed."""


@dataclass(frozen=True)
class Memory:
    """Data that one application keeps in memory while it runs."""

    store: Store
    live: CachedResult[Live]
    progress: CachedResult[Progress]
    slowing: Slowing = field(default_factory=Slowing)

    @classmethod
    def create(cls, store: Store, clock: Callable[[], datetime]) -> "Memory":
        """Return the memory of a new application."""
        return cls(
            store,
            CachedResult(lambda: live(store.study.questions, list_counted_answers(store)), fresh=FRESH),
            CachedResult(lambda: administration.progress(store, clock())),
        )

    @cached_property
    def items(self) -> Mapping[str, Item]:
        """Return all items by name, including gold and practice items."""
        study = self.store.study
        practice = study.onboarding.items if study.onboarding else ()
        return {item.id: item for item in (*study.items, *study.hidden.gold, *practice)}


def get_memory(request: Request) -> Memory:
    """Return the memory of the application that handles a request."""
    memory = request.app.state.admin
    assert isinstance(memory, Memory)
    return memory
