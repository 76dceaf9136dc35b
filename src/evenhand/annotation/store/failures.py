"""What can go wrong between a person and the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from evenhand.schema import DataError, ServiceUnavailable, UsageError


class LeaseLost(UsageError):
    """The time for a presentation ran out, and its place was given to somebody else."""


class InviteRefused(UsageError):
    """A link that gives no access: unknown, revoked, expired or used up."""


class StoreBusy(ServiceUnavailable):
    """The database did not take a change although it was tried several times; nothing was changed: try again."""


@contextmanager
def sound(where: str) -> Iterator[None]:
    """Check that data read in this context is as evenhand writes it. Raises DataError if it is not.

    where: name of the database for the message. The message does not quote the data, which may be a person's text.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise DataError(
            f"{where} contains invalid data ({type(error).__name__}).",
            "It was changed by another program, or is damaged. Restore a backup.",
        ) from error
