"""The database of a human evaluation: annotators, what they were shown, and their judgements."""

from typing import Any

import lazy_loader

_attached, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _attached(name)
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] not in ("sqlalchemy", "alembic"):
            raise
        from evenhand.schema import UsageError

        raise UsageError(
            f"The database of judgements requires {error.name}, which is not installed.",
            "Install it: pip install 'evenhand[annotate]'",
        ) from error
