"""What can go wrong between a person and the database."""

from evenhand.schema import ServiceUnavailable, UsageError


class LeaseLost(UsageError):
    """The time for a presentation ran out, and its place was given to somebody else."""


class InviteRefused(UsageError):
    """A link that lets nobody in: unknown, revoked, expired or used up."""


class StoreBusy(ServiceUnavailable):
    """The database did not take a change although it was tried several times; nothing was changed: try again."""
