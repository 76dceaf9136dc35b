"""The URLs of the pages for annotators."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response

from evenhand.annotation.application.pages import arriving, leaving, outside, sending, showing

router = APIRouter()


def _get(path: str, endpoint: Callable[..., Response]) -> None:
    router.add_api_route(path, endpoint, methods=["GET", "HEAD"], response_model=None)


def _post(path: str, endpoint: Callable[..., Any]) -> None:
    router.add_api_route(path, endpoint, methods=["POST"], response_model=None)
    _get(path, showing.back)


_get("/", outside.front)
_get("/health", outside.health)
_get("/static/{name}", outside.static)
_get("/i/{token}", arriving.knock)
router.add_api_route("/i/{token}", arriving.arrive, methods=["POST"], response_model=None)
_get("/study", showing.study)
_post("/study/consent", sending.consent)
_post("/study/answer", sending.answer)
_post("/study/correction", sending.correction)
_post("/study/survey", sending.survey)
_post("/study/next", sending.next_unit)
_get("/study/withdraw", leaving.ask_withdraw)
router.add_api_route("/study/withdraw", leaving.withdraw, methods=["POST"], response_model=None)
_get("/study/leave", leaving.ask_leave)
router.add_api_route("/study/leave", leaving.leave, methods=["POST"], response_model=None)
_get("/left", leaving.show_stopped_page)
_get("/withdrawn", leaving.withdrawn)
