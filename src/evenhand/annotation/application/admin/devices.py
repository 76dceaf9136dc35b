"""Browsers in which an account was logged in before: wrong passwords elsewhere do not delay them."""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from fastapi import Request, Response
from itsdangerous import BadData, URLSafeSerializer

from evenhand.annotation.application.context import Context, get_context

KNOWN_FOR = timedelta(days=90)
"""Time after the last login for which a browser is known."""
LONGEST = 500


def find_device(request: Request, account: str) -> str | None:
    """Return the identifier of the browser if this account was logged in to in it, otherwise None."""
    context = get_context(request)
    cookie = request.cookies.get(_name(context), "")
    try:
        whose, device, moment = _make_serializer(context).loads(cookie[:LONGEST])
    except (BadData, ValueError, TypeError):
        return None
    known = whose == account and context.clock() - datetime.fromtimestamp(moment, UTC) < KNOWN_FOR
    return str(device) if known else None


def remember_device(request: Request, response: Response, account: str) -> None:
    """Remember this browser from now on; a known one keeps its counter. The cookie alone gives no access."""
    context = get_context(request)
    device = find_device(request, account) or secrets.token_urlsafe(16)
    response.set_cookie(
        _name(context),
        str(_make_serializer(context).dumps([account, device, int(context.clock().timestamp())])),
        max_age=int(KNOWN_FOR.total_seconds()),
        path="/",
        secure=context.address.secure,
        httponly=True,
        samesite="lax",
    )


def _make_serializer(context: Context) -> URLSafeSerializer:
    return URLSafeSerializer(
        context.store.secret, salt="evenhand.admin.device", signer_kwargs={"digest_method": hashlib.sha256}
    )


def _name(context: Context) -> str:
    return f"{'__Host-' if context.address.secure else ''}evenhand-known-{context.store.study.name}"
