"""What the admin's pages keep in the memory of the process: failed logins, and agreement as last computed."""

from dataclasses import dataclass, field

from fastapi import Request

from evenhand.annotation.application.admin.agreement import LiveAgreement
from evenhand.annotation.application.admin.slowing import Slowing


@dataclass(frozen=True)
class Memory:
    """One application's own; gone with the process."""

    live: LiveAgreement
    slowing: Slowing = field(default_factory=Slowing)


def memory_of(request: Request) -> Memory:
    """The memory of the application that a request came to."""
    memory = request.app.state.admin
    assert isinstance(memory, Memory)
    return memory
