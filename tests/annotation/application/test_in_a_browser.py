"""In headless Chromium: a whole study by keyboard on a phone, no violation that axe finds, no payload that runs."""

import threading

import pytest
import uvicorn

from evenhand.annotation.application import application, invite_link
from evenhand.annotation.application.protection import Limits, Rate
from evenhand.annotation.application.serving import listen
from evenhand.annotation.store import administration, people
from tests.annotation.application.clocks import Clock
from tests.annotation.application.payloads import PAYLOADS
from tests.annotation.application.studies import marks_study, pair_study, text_study
from tests.annotation.application.test_hostile_texts import hostile_pair_study

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

pytestmark = pytest.mark.browser


@pytest.fixture
def served(stored):
    """Serve a study in a thread; returns its store and address."""
    running = []

    def serve(study):
        store = stored(study)
        listening = listen("127.0.0.1", 0)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = application(store, address=address, limits=Limits(posts_of_session=Rate(1000, 100)))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        running.append((server, thread, listening))
        return store, address

    yield serve
    for server, thread, listening in running:
        server.should_exit = True
        thread.join(20)
        listening.close()


class Screen:
    """A page that remembers what it was asked for and what it heard."""

    def __init__(self, chromium, store, address, *, width=400, scheme="light"):
        self.context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.page, self.store, self.address, self.width = self.context.new_page(), store, address, width
        self.heard, self.asked = [], []
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.heard.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def come(self, uses=1):
        invite = people.make_invites(self.store, 1, Clock()(), uses=uses)[0].id
        self.link = invite_link(self.store, self.address, invite)
        self.page.goto(self.link)
        self.click("button")

    @property
    def h1(self):
        return self.page.inner_text("h1")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def enter(self):
        with self.page.expect_navigation():
            self.press("Enter")

    def click(self, selector):
        with self.page.expect_navigation():
            self.page.click(selector)

    def tab_to(self, selector):
        """By the tab key alone, as often as it takes; what has the focus is always to be seen."""
        for _ in range(60):
            self.press("Tab")
            if self.page.evaluate("s => document.activeElement.matches(s)", selector):
                box = self.page.evaluate(
                    "() => { const b = document.activeElement.getBoundingClientRect();"
                    "return [b.top >= -1, b.bottom <= innerHeight + 1, b.left >= -1, b.right <= innerWidth + 1] }"
                )
                assert all(box), (selector, box)
                return
        raise AssertionError(f"the tab key does not lead to {selector}")

    def fits(self):
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.width

    def violations(self):
        axe = pytest.importorskip(
            "axe_playwright_python.sync_playwright", reason="axe is not installed"
        ).Axe()
        found = axe.run(self.page, options={"runOnly": {"type": "tag", "values": RULES}}).response
        assert len(found["passes"]) > 10
        return [
            (self.page.url, violation["id"], [node["html"] for node in violation["nodes"]])
            for violation in found["violations"]
        ]


def judge_by_keyboard(screen, reason):
    """From the top of a page with a pair: side, reason, the other question, send."""
    screen.fits()
    screen.tab_to("input[name=engaging]")
    screen.press("ArrowDown", "Space")
    screen.tab_to("textarea")
    screen.page.keyboard.type(reason)
    screen.tab_to("input[name=human]")
    screen.press("Space")
    screen.tab_to("button")
    screen.enter()


def test_a_whole_study_by_keyboard_on_a_phone(chromium, served):
    store, address = served(pair_study())
    screen = Screen(chromium, store, address)
    invite = people.make_invites(store, 1, Clock()())[0].id
    screen.page.goto(invite_link(store, address, invite))
    screen.press("Tab")
    assert screen.page.evaluate("document.activeElement.className") == "skip"
    screen.press("Enter")
    screen.page.wait_for_function("document.activeElement.id === 'main'")
    screen.press("Tab")  # to the only button
    screen.enter()
    assert screen.h1 == "Before you begin"
    screen.tab_to("button")
    screen.enter()
    assert screen.h1 == "Practice 1 of 1"
    judge_by_keyboard(screen, "no")  # too short a reason: the page comes back, its summary in focus
    assert screen.page.evaluate("document.activeElement.className") == "problems"
    screen.fits()
    screen.press("Tab", "Enter")
    screen.page.wait_for_function("document.activeElement.id === 'q.engaging-reason'")
    screen.page.keyboard.type(", not that one")
    screen.tab_to("button")
    screen.enter()
    if screen.h1 == "About your last answer":
        screen.tab_to("button")
        screen.enter()
    for _ in range(2):
        for place in ("1 of 2", "2 of 2"):
            assert screen.h1 == place
            judge_by_keyboard(screen, "It is livelier.")
        while screen.h1 in ("A few statements", "About you"):
            screen.fits()
            screen.tab_to("input[type=radio]")
            screen.press("Space", "ArrowDown")
            screen.tab_to("button")
            screen.enter()
        assert screen.h1 == "This set is complete"
        if screen.page.query_selector("form"):
            screen.tab_to("button")
            screen.enter()
    said = list(administration.votes(store))
    assert sum(vote["role"] == "real" for vote in said) == 8
    assert {vote["reason"] for vote in said if vote["role"] == "real" and vote["question"] == "engaging"} == {
        "It is livelier."
    }
    assert {url.split("/")[2] for url in screen.asked} == {address.split("/")[2]}
    assert [text for text in screen.heard if "422" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1200, "dark")])
def test_axe_finds_nothing_on_any_page(chromium, served, width, scheme):
    found = []

    def look(screen, *paths):
        for path in paths:
            screen.page.goto(screen.address + path)
            screen.fits()
            found.extend(screen.violations())

    store, address = served(pair_study())
    screen = Screen(chromium, store, address, width=width, scheme=scheme)
    look(screen, "/", "/study", "/nothing", "/left", "/withdrawn", "/i/wrong")
    screen.come(uses=None)
    look(screen, "/study", "/study/leave", "/study/withdraw", screen.link.removeprefix(address))
    screen.page.goto(address + "/study/leave")
    screen.click("main form button >> nth=0")
    found.extend(screen.violations())
    look(screen, screen.link.removeprefix(address))
    screen.click("main button >> nth=0")
    while screen.page.goto(address + "/study") and screen.page.query_selector("main form"):
        found.extend(screen.violations())
        if screen.page.query_selector("form[action='/study/answer']"):
            screen.click("main form button")  # empty: the page with its problems
            screen.fits()
            found.extend(screen.violations())
            for name in ("engaging", "human"):
                screen.page.check(f"input[name={name}] >> nth=0")
            screen.page.fill("textarea", "It is livelier.")
        screen.click("main form button")
    found.extend(screen.violations())
    person = administration.persons(store)[1][0].person
    administration.block(store, person, True, "admin", Clock()())
    look(screen, "/study")
    marks = [question.model_dump() for question in marks_study().questions]
    number = {"kind": "likert", "id": "odd_at_all", "text": "How odd?", "labels": ["Not", "Very"]}
    marks_last = marks_study(name="last", questions=[number, marks[0] | {"required": True}])
    for study in (text_study(["She is a nurse."], language="de"), marks_study(), marks_last):
        other = Screen(chromium, *served(study), width=width, scheme=scheme)
        other.come()
        other.click("main form button")
        found.extend(other.violations())
        other.click("main form button")
        other.fits()
        found.extend(other.violations())
    assert found == []


def test_no_payload_runs_asks_or_leads_anywhere(chromium, served):
    store, address = served(hostile_pair_study())
    screen = Screen(chromium, store, address)
    screen.page.add_init_script("window.alert = () => { document.title = 'run' }")
    screen.come()
    screen.click("main form button")
    screen.fits()
    shown = screen.page.eval_on_selector_all(".said", "all => all.length")
    assert shown == 200
    screen.page.fill("textarea >> nth=0", PAYLOADS[0])
    screen.click("main form button")  # what was typed comes back
    assert screen.page.input_value("textarea >> nth=0") == PAYLOADS[0]
    screen.page.mouse.move(200, 400)
    screen.page.wait_for_timeout(300)
    assert screen.page.title() != "run" and screen.page.evaluate("document.scripts.length") == 0
    assert {url.split("/")[2] for url in screen.asked} == {address.split("/")[2]}
    assert [text for text in screen.heard if "422" not in text] == []


def test_going_back_after_a_mistake_shows_the_page_again(chromium, served):
    store, address = served(pair_study(onboarding=None, rules=[]))
    screen = Screen(chromium, store, address)
    screen.come()
    screen.click("main form button")
    for reason in ("no", "nay"):
        screen.page.fill("textarea", reason)
        screen.click("main form button")
        assert screen.page.input_value("textarea") == reason
    screen.click("footer button")
    assert screen.h1 == "Stop for now?"
    screen.page.go_back()
    assert screen.h1 == "1 of 2" and screen.page.input_value("textarea") == "nay"
    assert screen.page.query_selector(".problems") is None  # put aside, not sent
    screen.page.go_back()
    assert screen.h1 == "1 of 2"
    screen.page.go_forward()
    assert screen.page.input_value("textarea") == "nay"


def test_the_line_beside_what_is_wrong_is_as_high_as_its_question(chromium, served):
    screen = Screen(chromium, *served(pair_study(onboarding=None, rules=[])))
    screen.come()
    screen.click("main form button")
    screen.click("main form button")
    beside = screen.page.eval_on_selector_all(
        ".wrong",
        """all => all.map(wrong => {
            const asked = wrong.querySelector("legend").getBoundingClientRect();
            return [getComputedStyle(wrong).borderLeftStyle, wrong.tagName,
                    Math.abs(wrong.getBoundingClientRect().top - asked.top) < 2];
        })""",
    )
    assert beside == [["solid", "DIV", True]] * 2
