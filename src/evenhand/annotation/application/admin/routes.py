"""The URLs of the admin pages; all except the login require a session."""

from fastapi import APIRouter

from evenhand.annotation.application.admin import (
    entering,
    exporting,
    journal,
    links,
    listing,
    overview,
    person,
)
from evenhand.annotation.application.admin.sessions import ACCOUNT, LOGIN, LOGOUT, Endpoint, private

router = APIRouter()


def _get(path: str, endpoint: Endpoint) -> None:
    router.add_api_route(path, private(endpoint), methods=["GET"], response_model=None)


def _post(path: str, endpoint: Endpoint) -> None:
    router.add_api_route(path, private(endpoint), methods=["POST"], response_model=None)


router.add_api_route(LOGIN, entering.ask, methods=["GET"], response_model=None)
router.add_api_route(LOGIN, entering.enter, methods=["POST"], response_model=None)
_post(LOGOUT, entering.leave)
_get(ACCOUNT, entering.account)
_post(ACCOUNT, entering.change_password)
_get("/admin", overview.overview)
_post("/admin/pause", overview.pause)
_get("/admin/people", listing.everybody)
_post("/admin/people/review", listing.review_several)
_get("/admin/people/{person}", person.person)
_post("/admin/people/{person}/review", person.review)
_post("/admin/people/{person}/block", person.block)
_post("/admin/people/{person}/withdraw", person.withdraw)
_get("/admin/links", links.links)
_post("/admin/links", links.make)
_post("/admin/links/revoke", links.revoke)
_get("/admin/export", exporting.choose)
_post("/admin/export", exporting.download)
_get("/admin/log", journal.journal)
