"""Errors between annotators and the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from evenhand.schema import DataError, ServiceUnavailable, UsageError


class LeaseLost(UsageError):
    """The assignment of an item has expired, and the item was given to another annotator."""


class InviteRefused(UsageError):
    """A link that gives no access: unknown, revoked, expired or used up."""


class StoreBusy(ServiceUnavailable):
    """The database did not accept a change after several attempts. Nothing was changed, so the call can be repeated."""


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
