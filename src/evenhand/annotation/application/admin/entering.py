"""Log in and out, choose a password, and confirm the password before deleting data."""

from math import ceil

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.admin.accounts import (
    Login,
    check_login,
    logged_name,
    must_choose,
    set_password,
)
from evenhand.annotation.application.admin.devices import find_device, remember_device
from evenhand.annotation.application.admin.memory import get_memory
from evenhand.annotation.application.admin.sessions import ACCOUNT, LOGIN, find_admin_session, log_in, log_out
from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.protection import Form, RequestRefused
from evenhand.annotation.application.sessions import (
    BrowserSession,
    form_token,
    get_client,
    get_visitor,
    read_checked_form,
    single,
)
from evenhand.annotation.store import administration
from evenhand.schema import UsageError

WRONG = "The name or the password is wrong."


def ask(request: Request) -> Response:
    """Return the login form."""
    if find_admin_session(request) is not None:
        return RedirectResponse("/admin", 303)
    return _login_page(request, None, 200)


def enter(request: Request) -> Response:
    """Log an administrator in."""
    form = read_checked_form(request, get_visitor(request))
    name = single(form, "name")
    login = checked_login(request, name, single(form, "password"), "login")
    if login is None:
        return _login_page(request, WRONG, 403)
    response = RedirectResponse(ACCOUNT if login.must_choose else "/admin", 303)
    log_in(request, response, login.name)
    remember_device(request, response, login.name)
    return response


def leave(request: Request, session: BrowserSession) -> Response:
    """End the session."""
    read_checked_form(request, session)
    context = get_context(request)
    administration.record(context.store, session.subject, "logged out", session.subject, context.clock())
    response = RedirectResponse(LOGIN, 303)
    log_out(request, response)
    return response


def account(request: Request, session: BrowserSession) -> Response:
    """Return the form for a new password."""
    return _account_page(request, session, None, 200)


def change_password(request: Request, session: BrowserSession) -> Response:
    """Change the password. Every session of the account ends, and this browser gets a new one."""
    context = get_context(request)
    form = read_checked_form(request, session)
    if checked_login(request, session.subject, single(form, "password"), "another password") is None:
        return _account_page(request, session, "The current password is wrong.", 403)
    chosen = single(form, "chosen")
    if chosen != single(form, "again"):
        return _account_page(request, session, "The two entries of the new password differ.", 422)
    if chosen == single(form, "password"):
        return _account_page(request, session, "The new password must differ from the current one.", 422)
    try:
        set_password(context.store, session.subject, chosen, session.subject, context.clock())
    except UsageError as error:
        return _account_page(request, session, f"{error.message} {error.hint or ''}", 422)
    response = RedirectResponse("/admin", 303)
    log_in(request, response, session.subject)
    return response


def checked_login(request: Request, name: str, password: str, why: str) -> Login | None:
    """Check a name and password, and record the result in the audit log; return None if they do not match.

    why: reason for requesting the password, for the log. Raises RequestRefused (429) while further attempts must wait.
    """
    context = get_context(request)
    slowing, now, client = get_memory(request).slowing, context.clock(), get_client(request)
    device = find_device(request, name)
    wait = slowing.begin(name, client, now, device=device)
    if wait > 0:
        raise RequestRefused(
            429,
            "Too many wrong passwords",
            f"Please wait {ceil(wait)} seconds, then go back and try again. Each further wrong password increases "
            "this time.",
            wait=wait,
        )
    login = check_login(context.store, name, password, now)
    what = "password wrong" if login is None else "password right"
    administration.record(context.store, logged_name(context.store, name), what, why, now, client)
    if login is not None:
        slowing.record_success(name, client, device=device)
    return login


def check_password(request: Request, session: BrowserSession, form: Form) -> None:
    """Raise RequestRefused unless the form contains the admin's password; called before data are deleted."""
    if checked_login(request, session.subject, single(form, "password"), "deletion") is None:
        raise RequestRefused(403, "Wrong password", "Nothing was changed. Go back and try again.")


def _login_page(request: Request, wrong: str | None, status: int) -> Response:
    cookies = Response()
    visitor = get_visitor(request, cookies)
    page = get_context(request).page(
        "admin_login.html.j2", status=status, form_token=form_token(request, visitor), wrong=wrong
    )
    for cookie in cookies.headers.getlist("set-cookie"):
        page.headers.append("set-cookie", cookie)
    return page


def _account_page(request: Request, session: BrowserSession, wrong: str | None, status: int) -> Response:
    context = get_context(request)
    return context.page(
        "admin_account.html.j2",
        status=status,
        form_token=form_token(request, session),
        admin=session.subject,
        wrong=wrong,
        must=must_choose(context.store, session.subject),
    )
