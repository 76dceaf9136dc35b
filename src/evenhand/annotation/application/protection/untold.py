"""Log entries of failures: place and kind of the error, without anything that people wrote."""

from collections.abc import Iterator
from traceback import extract_tb

from evenhand.schema import WriteError

FRAMES = 30


def in_one_line(error: BaseException) -> str | None:
    """Return a one-line message for an error that the operator must fix, such as a full disk; None for other errors."""
    return " ".join(error.message.split()) if isinstance(error, WriteError) else None


def without_values(error: BaseException) -> str:
    """Return a traceback without error messages, which may repeat participants' data: only files, lines and types."""
    return "\n".join(line for one in _chain(error) for line in _describe(one))


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain:
        chain.append(following)
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
    return chain[::-1]


def _describe(error: BaseException) -> Iterator[str]:
    for frame in extract_tb(error.__traceback__)[-FRAMES:]:
        yield f"  {frame.filename}, line {frame.lineno}, in {frame.name}"
    yield f"{type(error).__module__}.{type(error).__qualname__}"
