"""Forms: check that the application's pages sent them, and read their fields."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from evenhand.annotation.application.protection.address import Address
from evenhand.annotation.application.protection.refusals import RequestRefused

MOST_FIELDS = 2000
TOKEN = "form_token"
"""Name of the hidden field with the form token, which every form has."""

Form = Mapping[str, tuple[str, ...]]
"""The values of a submitted form, by field name."""


def sent_from_here(headers: Mapping[str, str], address: Address) -> bool:
    """Return True if the browser confirms that a form came from a page of this URL.

    If the browser sends Sec-Fetch-Site, it must be the same origin. Then Origin, or else Referer, must match the URL.
    A request without any of these headers is rejected.
    """
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    if origin := headers.get("origin"):
        return address.is_origin(origin)
    return address.is_referer(headers.get("referer", ""))


def read_form(headers: Mapping[str, str], body: bytes) -> Form:
    """Return the fields of a plain form. Raise RequestRefused for any other content."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RequestRefused(
            415, "This is not a form", "Please use the pages of this study to send your answers."
        )
    try:
        fields = parse_qs(
            body.decode("ascii"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:  # UnicodeDecodeError is a ValueError
        raise RequestRefused(
            400, "This form could not be read", "Please go back, reload the page and try again."
        ) from None
    return {name: tuple(values) for name, values in fields.items()}
