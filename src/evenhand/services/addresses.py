"""Parse and check the URL of a service."""

from urllib.parse import SplitResult, urlsplit

from evenhand.schema import UsageError


def address_parts(address: str) -> SplitResult:
    """Return the parts of a URL of a server.

    Raises UsageError for a URL with a password or in an invalid form. URLs whose host is ambiguous (with `@`
    or a backslash) are also refused: libraries differ in where the host begins, so another server could be
    contacted than the one that was checked.

    Examples
    --------
    >>> address_parts("http://localhost:8000/v1").port
    8000
    """
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  # read here, because an invalid port raises an error only when read
        host = parts.hostname or ""
        host.encode("idna")  # as in name resolution: no label is empty or longer than 63 characters
        if host.isascii():
            host.encode().decode("idna")  # names in other alphabets, in their own spelling (xn--...)
        if not address.isprintable() or " " in address:
            raise ValueError("it contains a space or a control character")
        if "\\" in address:
            raise ValueError("it contains a backslash")
    except ValueError as error:
        raise UsageError(
            f"{address!r} is not a valid URL of a service: {error}.",
            "Expected http://host:port/path or https://host/path.",
        ) from error
    if "@" in parts.netloc:
        raise UsageError(
            f"The URL of {parts.hostname} contains a name or a password before the @. URLs are stored with the "
            "run.",
            "Remove it from the URL, and give the API key in an environment variable.",
        )
    return parts
