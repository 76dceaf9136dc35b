"""Download an export."""

import tempfile
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from evenhand.annotation.application.admin.showing import admin_page
from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.protection import RequestRefused
from evenhand.annotation.application.sessions import BrowserSession, read_checked_form, single
from evenhand.annotation.exports import write_export_apart
from evenhand.annotation.store import administration

KINDS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


def choose(request: Request, session: BrowserSession) -> Response:
    """Return the page with an explanation of exports and a button per format."""
    return admin_page(request, session, "admin_export.html.j2")


def download(request: Request, session: BrowserSession) -> Response:
    """Return all judgements as a file. It is written completely first, so that a download is never truncated.

    Another process writes it, because this process could serve no pages for seconds.
    """
    context = get_context(request)
    kind = single(read_checked_form(request, session), "kind")
    if kind not in KINDS:
        raise RequestRefused(400, "There is no such export", "Please go back and choose one.")
    now = context.clock()
    folder = tempfile.TemporaryDirectory(prefix="evenhand-export-")
    try:
        name = f"{context.store.study.name}-{now:%Y%m%d-%H%M}.{kind}"
        file = write_export_apart(context.store, Path(folder.name) / name)
        administration.record(context.store, session.subject, "exported", name, now)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        file,
        media_type=KINDS[kind],
        filename=name,
        content_disposition_type="attachment",
        background=BackgroundTask(folder.cleanup),
    )
