"""The admin's pages in headless Chromium: axe finds no violation, nothing is wider than a phone or asked abroad."""

import threading
from collections.abc import Iterator

import pytest
import uvicorn

from evenhand.annotation import Store
from evenhand.annotation.application import application
from evenhand.annotation.application.serving import listen
from evenhand.annotation.store import administration, people
from tests.annotation.application.admin.conftest import NAME, PASSWORD, Clock, first_better, judge
from tests.annotation.application.test_in_a_browser import Screen

pytestmark = pytest.mark.browser
BROKEN = """() => {
    const found = []
    for (const one of document.querySelectorAll('main button, main thead th')) {
        const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT)
        while (texts.nextNode()) {
            const text = texts.currentNode
            if (text.parentElement.closest('.quiet')) continue
            for (const word of text.data.matchAll(/\\S+/g)) {
                const range = document.createRange()
                range.setStart(text, word.index)
                range.setEnd(text, word.index + word[0].length)
                const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)))
                if (lines.size > 1) found.push(word[0])
            }
        }
    }
    return found
}"""
"""Words of buttons and column heads that stand on two lines."""


@pytest.fixture
def address(store: Store, clock: Clock) -> Iterator[str]:
    """Where the study is served, by a thread."""
    listening = listen("127.0.0.1", 0)
    there = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(
        uvicorn.Config(application(store, address=there, clock=clock), log_level="warning", ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield there
    server.should_exit = True
    thread.join(20)
    listening.close()


@pytest.mark.slow
@pytest.mark.parametrize("width, scheme", [(400, "light"), (1280, "dark")])
def test_axe_finds_nothing_and_everything_fits(
    chromium, store: Store, clock: Clock, address: str, width: int, scheme: str
) -> None:
    there = [judge(store, clock, first_better) for _ in range(3)]
    administration.review(store, there[0], "accepted", "A note that is rather long, " * 8, NAME, clock())
    people.make_invites(store, 3, clock(), note="first term")
    screen = Screen(chromium, store, address, width=width, scheme=scheme)
    screen.page.goto(f"{address}/admin/login")
    assert screen.violations() == []
    screen.page.fill("#name", NAME)
    screen.page.fill("#password", "wrong")
    screen.click("main button")
    assert screen.violations() == []
    screen.page.fill("#name", NAME)
    screen.page.fill("#password", PASSWORD)
    screen.click("main button")
    assert screen.h1 == "Overview"
    for path in ("", "/people", f"/people/{there[0]}", "/links", "/export", "/log", "/account"):
        screen.page.goto(f"{address}/admin{path}")
        screen.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert screen.violations() == [], path
        screen.fits()
        assert screen.page.evaluate(BROKEN) == [], path
    assert all(url.startswith(address) for url in screen.asked)
    assert not [heard for heard in screen.heard if "favicon" not in heard and "403" not in heard], (
        screen.heard
    )
    screen.context.close()


@pytest.mark.slow
def test_somebody_is_rejected_by_keyboard_alone(chromium, store: Store, clock: Clock, address: str) -> None:
    person = judge(store, clock, first_better)
    screen = Screen(chromium, store, address)
    screen.page.goto(f"{address}/admin/login")
    screen.tab_to("#name")
    screen.page.keyboard.type(NAME)
    screen.tab_to("#password")
    screen.page.keyboard.type(PASSWORD)
    screen.enter()
    screen.page.goto(f"{address}/admin/people")
    screen.tab_to(f"a[href='/admin/people/{person}']")
    screen.enter()
    screen.tab_to("#note")
    screen.page.keyboard.type("asked their flatmate")
    screen.tab_to("button[value=reject]")
    screen.enter()
    assert administration.persons(store)[1][0].review == "rejected"
    screen.context.close()
