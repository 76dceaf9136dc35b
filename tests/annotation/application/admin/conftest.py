"""An application in process, a clock that the test turns, an admin's browser, and people who have judged."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from evenhand.annotation import Store, begin_study
from evenhand.annotation.application import application, set_password
from evenhand.annotation.definition import Answer, Study
from evenhand.annotation.store import ShowItem, UnitDone, people, sittings

ADDRESS = "http://judge.test:8000"
NAME, PASSWORD = "rosa", "violets on a windowsill"


@dataclass
class Clock:
    """The time, as the test has it."""

    now: datetime = field(default_factory=lambda: datetime(2026, 3, 2, 9, 0, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def later(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass
class Browser:
    """A browser: cookies, and forms sent with the token of the page they stand on."""

    client: TestClient

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path, follow_redirects=False)

    def token(self, path: str) -> str:
        found = re.search(r'name="form_token" value="([^"]+)"', self.get(path).text)
        assert found, path
        return found[1]

    def post(self, path: str, page: str, **fields: str) -> httpx.Response:
        return self.send(path, {"form_token": self.token(page), **fields})

    def send(self, path: str, fields: dict[str, str], **headers: str) -> httpx.Response:
        return self.client.post(
            path, data=fields, headers={"Origin": ADDRESS, **headers}, follow_redirects=False
        )

    def log_in(self, name: str = NAME, password: str = PASSWORD) -> httpx.Response:
        return self.post("/admin/login", "/admin/login", name=name, password=password)


def tiny(**more: Any) -> Study:
    """A study of pairs and a rating: two questions, six items, three people each."""
    items = [
        {
            "id": f"item {n}",
            "pair": [
                {
                    "id": f"{side}{n}",
                    "model": f"model {side}",
                    "turns": [{"speaker": "S", "text": f"Said {side}{n}."}],
                }
                for side in "ab"
            ],
        }
        for n in range(6)
    ]
    return Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "tiny",
            "title": "Which of two?",
            "questions": [
                {"id": "better", "kind": "pair", "text": "Which is better?", "reason": {"required": False}},
                {
                    "id": "good",
                    "kind": "likert",
                    "text": "How good is it?",
                    "low": 1,
                    "high": 5,
                    "labels": ["Bad", "Good"],
                },
            ],
            "items": items,
            "assignment": {"annotations_per_item": 3, "items_per_unit": 6},
            **more,
        }
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tiny.sqlite"


@pytest.fixture
def store(file: Path, clock: Clock) -> Iterator[Store]:
    opened = begin_study(file, tiny())
    set_password(opened, NAME, PASSWORD, "test", clock())
    yield opened
    opened.close()


@pytest.fixture
def app(store: Store, clock: Clock) -> FastAPI:
    return application(store, address=ADDRESS, clock=clock)


@pytest.fixture
def new_browser(app: FastAPI) -> Iterator[Callable[..., Browser]]:
    """Another browser; from: the address it comes from."""
    opened: list[TestClient] = []

    def new(come_from: str = "192.0.2.1") -> Browser:
        client = TestClient(app, base_url=ADDRESS, client=(come_from, 50000))
        opened.append(client)
        return Browser(client)

    yield new
    for client in opened:
        client.close()


@pytest.fixture
def stranger(new_browser: Callable[..., Browser]) -> Browser:
    return new_browser()


@pytest.fixture
def admin(new_browser: Callable[..., Browser]) -> Browser:
    """A browser in which the admin is logged in."""
    browser = new_browser()
    assert browser.log_in().headers["location"] == "/admin"
    return browser


def judge(
    store: Store,
    clock: Clock,
    answers: Callable[[ShowItem], dict[str, Answer]],
    *,
    external: str | None = None,
    most: int = 100,
) -> str:
    """Somebody comes by a link, agrees, and judges until their unit is complete; their pseudonym."""
    link = people.make_invites(store, 1, clock(), note="somebody")[0]
    person = people.arrive(store, link.id, clock(), external=external)
    sittings.agree(store, person, clock())
    for _ in range(most):
        step = sittings.step(store, person, clock())
        if not isinstance(step, ShowItem):
            assert isinstance(step, UnitDone), step
            break
        clock.later(seconds=9)
        sittings.answer(store, person, step.presentation, answers(step), clock())
    return person


def first_better(shown: ShowItem) -> dict[str, Answer]:
    """a is better, whichever side it stands on; items are rated by their number."""
    return {
        "better": Answer("a", reason="It answers what was asked."),
        "good": Answer(str(1 + int(shown.item.id.split()[1]) % 5)),
    }
