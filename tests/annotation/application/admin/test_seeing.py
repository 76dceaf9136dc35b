"""What the admin is shown: progress, agreement, people, answers, links, the log, downloads; all of it escaped."""

import csv
import html
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from fastapi.testclient import TestClient

from evenhand.annotation import Store, begin_study, read_export
from evenhand.annotation.application import application, set_password
from evenhand.annotation.application.admin.agreement import live
from evenhand.annotation.application.admin.kept import CachedResult
from evenhand.annotation.application.admin.memory import Memory
from evenhand.annotation.definition import Answer
from evenhand.annotation.store import (
    CountedAnswer,
    ShowItem,
    administration,
    list_counted_answers,
    people,
    sittings,
)
from evenhand.stats import krippendorff_alpha
from tests.annotation.application.admin.conftest import (
    ADDRESS,
    NAME,
    PASSWORD,
    Browser,
    Clock,
    first_better,
    judge,
    tiny,
)

PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea><svg/onload=alert(1)>",
    "{{ 7*7 }}{% raw %}",
    "javascript:alert(1)",
    '<a href="javascript:alert(1)">x</a>',
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202e<b>turned</b>",
)
ALLOWED = {
    "a",
    "article",
    "body",
    "button",
    "code",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "head",
    "header",
    "html",
    "input",
    "label",
    "li",
    "link",
    "main",
    "meta",
    "nav",
    "ol",
    "option",
    "p",
    "progress",
    "section",
    "select",
    "span",
    "strong",
    "summary",
    "table",
    "tbody",
    "td",
    "textarea",
    "th",
    "thead",
    "time",
    "title",
    "tr",
    "ul",
}


class Elements(HTMLParser):
    """What a browser would make of a page: names of elements, attributes, addresses."""

    def __init__(self, page: str):
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "action")]


def harmless(page: str) -> None:
    found = Elements(page)
    assert found.names <= ALLOWED, found.names - ALLOWED
    assert not {name for name in found.attributes if name.startswith("on") or name == "style"}
    assert all(address.startswith(("/", "#")) for address in found.addresses), found.addresses
    assert "49{%" not in page and "\u202e" not in page


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def showing_of(page: str, item: str) -> str:
    """What a person's page says of one item."""
    return next(part for part in map(text_of, page.split("<article")) if f" {item} " in part)


def test_progress_and_sides_are_what_people_did(store: Store, clock: Clock, admin: Browser) -> None:
    lefts = []

    def answers(shown: ShowItem) -> dict[str, Answer]:
        lefts.append(shown.left == "a")
        return first_better(shown)

    for _ in range(3):
        judge(store, clock, answers)
    page = text_of(admin.get("/admin").text)
    assert "18 of 18 votes" in page and "36 answers" in text_of(admin.get("/admin").text)
    assert "Items complete 6 of 6" in page
    assert "People 3" in page
    assert "Seconds an item (median) 9.0" in page
    live_now, _ = Memory.create(store, clock).live.look(patience=10)
    assert live_now is not None
    assert (live_now.sides[0].left, live_now.sides[0].chosen) == (sum(lefts), 18)
    page = text_of(admin.get("/admin").text)
    assert f"left {sum(lefts)} of 18 times" in page
    # everybody chose a; ratings go by the item alone
    assert "not measurable: everybody gave the same answer to everything" in page
    assert "1.00" in page


def test_agreement_is_krippendorffs_own_example() -> None:
    table = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, np.nan, np.nan, np.nan],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, np.nan, 3],
            [np.nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, np.nan],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, np.nan],
        ]
    )
    rows = [
        CountedAnswer(f"unit {unit}", "good", str(int(value)), "a")
        for (_, unit), value in np.ndenumerate(table)
        if not np.isnan(value)
    ]
    found = live(tiny().questions[1:], rows).agreements[0]
    assert found.alpha is not None and round(found.alpha.estimate, 4) == 0.8491  # as published, interval
    assert found.alpha.low < 0.8491 < found.alpha.high


@pytest.mark.parametrize(
    "answers, why",
    [
        ([], "no item has two votes yet"),
        (["3"], "no item has two votes yet"),
        (["3", "3"], "the same answer"),
    ],
)
def test_what_cannot_be_measured_says_why(answers: list[str], why: str) -> None:
    rows = [CountedAnswer("one", "good", answer, "a") for answer in answers]
    found = live(tiny().questions[1:], rows).agreements[0]
    assert found.alpha is None and why in (found.why_not or "")


def test_who_is_left_out_does_not_count_towards_agreement(store: Store, clock: Clock) -> None:
    people_there = [judge(store, clock, first_better) for _ in range(2)]
    assert len(list_counted_answers(store)) == 24
    administration.review(store, people_there[0], "rejected", "", NAME, clock())
    assert len(list_counted_answers(store)) == 12
    administration.review(store, people_there[0], None, "", NAME, clock())
    administration.block(store, people_there[1], True, NAME, clock())
    assert len(list_counted_answers(store)) == 12


def test_numbers_are_shown_again_for_some_seconds_and_then_renewed() -> None:
    ticks, made = [0.0], iter(range(10))
    keeping = CachedResult(lambda: next(made), fresh=10, clock=lambda: ticks[0])
    assert keeping.look(patience=10) == (0, 0)
    ticks[0] = 9
    assert keeping.look(patience=10) == (0, 9)
    ticks[0] = 11
    assert keeping.look(patience=10) == (1, 0)


def test_a_page_does_not_wait_for_what_takes_long() -> None:
    ticks, go_on = [0.0], Event()
    made = iter([lambda: "first", lambda: go_on.wait(60) and "second"])
    keeping = CachedResult(lambda: next(made)(), clock=lambda: ticks[0])
    assert keeping.look(patience=60) == ("first", 0)
    ticks[0] = 5
    assert keeping.look(patience=0) == ("first", 5)
    assert keeping.look(patience=0) == ("first", 5)  # nothing is begun twice
    go_on.set()
    assert keeping.look(patience=60)[0] == "second"


def test_what_fails_is_tried_again_at_the_next_look(caplog: pytest.LogCaptureFixture) -> None:
    made = iter([lambda: 1 / 0, lambda: 7])
    keeping = CachedResult(lambda: next(made)())
    assert keeping.look(patience=60)[0] is None
    assert keeping.look(patience=60)[0] == 7
    assert "could not be computed" in caplog.text


def test_people_are_found_by_state_pseudonym_and_note(store: Store, clock: Clock, admin: Browser) -> None:
    there = [judge(store, clock, first_better) for _ in range(3)]
    administration.review(store, there[0], "accepted", "wrote to us on Monday", NAME, clock())
    assert all(person in admin.get("/admin/people").text for person in there)
    assert there[0] in (page := admin.get("/admin/people?search=monday").text) and there[1] not in page
    assert there[2] in (page := admin.get(f"/admin/people?search={there[2]}").text) and there[1] not in page
    assert "0 people found" in text_of(admin.get("/admin/people?state=blocked").text)
    assert "3 people found" in text_of(admin.get("/admin/people?state=done").text)
    for nonsense in (
        "page=0",
        "page=-1",
        "page=x",
        "page=99999999999",
        "state=%00",
        "search=%27%20OR%201=1--",
        "page=٣",
    ):
        assert admin.get(f"/admin/people?{nonsense}").status_code == 200, nonsense


def test_a_long_list_is_cut_into_parts(store: Store, clock: Clock, admin: Browser) -> None:
    invite = people.make_invites(store, 1, clock(), uses=None)[0]
    there = [people.arrive(store, invite.id, clock()) for _ in range(120)]
    seen = [
        set(re.findall(r'href="/admin/people/([^"?]+)"', admin.get(f"/admin/people?page={n}").text))
        for n in (1, 2, 3)
    ]
    assert [len(part) for part in seen] == [50, 50, 20]
    assert set.union(*seen) == set(there)
    assert "Part 2 of 3" in text_of(admin.get("/admin/people?page=2").text)


def test_a_persons_page_shows_texts_answers_times_and_what_was_expected(tmp_path: Path, clock: Clock) -> None:
    gold = {**tiny().items[0].model_dump(mode="json"), "id": "gold 0", "expected": {"better": "b"}}
    for turn, side in enumerate(gold["pair"]):
        side["id"] = f"gold conversation {turn}"
    study = tiny(
        hidden={"gold": [gold], "gold_per_unit": 1},
        rules=[{"rule": "gold_below", "mark": 1.0, "least": 1, "action": "flag"}],
    )
    store = begin_study(tmp_path / "gold.sqlite", study)
    set_password(store, NAME, PASSWORD, "test", clock())
    person = judge(store, clock, first_better)
    with TestClient(application(store, address=ADDRESS, clock=clock), base_url=ADDRESS) as client:
        browser = Browser(client)
        browser.log_in()
        page = text_of(browser.get(f"/admin/people/{person}").text)
        right = showing_of(browser.get(f"/admin/people/{person}").text, "gold 0")
        sides = re.search(r"What they read Left (gold conversation \d)", right)
        assert sides, right
        chosen, expected = ("left", "right") if sides[1].endswith("0") else ("right", "left")
        assert f"Which is better? {chosen} (model model a)" in right
        assert f"wrong, expected: {expected} (model model b)" in right
        assert "gold below" in page and "0 of 1" in page
        assert "Said a3." in page and "model b" in page and "9.0 seconds" in page
        assert "It answers what was asked." in page
        assert browser.get("/admin/people/p-nobody").status_code == 404
    store.close()


@pytest.fixture
def poisoned(tmp_path: Path, clock: Clock) -> tuple[Store, str]:
    """A study in which every text from outside is a payload, and what somebody said, too."""
    payload = "".join(PAYLOADS)
    items = [
        {"id": f"{payload[:80]}{n}", "text": payload, "context": payload, "model": payload[:100]}
        for n in range(2)
    ]
    study = tiny(
        title=payload,
        items=items,
        questions=[
            {
                "id": "tone",
                "kind": "choice",
                "text": payload,
                "options": [{"id": "x", "label": payload}, {"id": "y", "label": "Y"}],
                "reason": {"required": False},
            },
            {"id": "free", "kind": "text", "text": payload},
        ],
        assignment={"annotations_per_item": 2, "items_per_unit": 2},
    )
    store = begin_study(tmp_path / "poisoned.sqlite", study)
    set_password(store, NAME, PASSWORD, "test", clock())

    def said(_: ShowItem) -> dict[str, Answer]:
        return {"tone": Answer("x", reason=payload), "free": Answer(payload)}

    person = judge(store, clock, said, external=payload)
    administration.review(store, person, "accepted", payload, payload[:60], clock())
    administration.record(store, payload, payload, payload, clock(), payload)
    people.make_invites(store, 1, clock(), note=payload)
    return store, person


def test_texts_from_outside_do_nothing(poisoned: tuple[Store, str], clock: Clock) -> None:
    store, person = poisoned
    with TestClient(application(store, address=ADDRESS, clock=clock), base_url=ADDRESS) as client:
        browser = Browser(client)
        for payload in PAYLOADS[:3]:
            harmless(browser.log_in(payload, payload).text)
        browser.log_in()
        Memory.create(store, clock).live.look(10)
        for path in (
            "/admin",
            "/admin/people",
            f"/admin/people/{person}",
            "/admin/links",
            "/admin/export",
            "/admin/log",
            "/admin/account",
        ):
            page = browser.get(path)
            assert page.status_code == 200, path
            harmless(page.text)
            assert "default-src 'none'" in page.headers["content-security-policy"]
        for payload in PAYLOADS:
            for answer in (
                browser.client.get(
                    "/admin/people", params={"search": payload, "state": payload, "page": payload}
                ),
                browser.client.get("/admin/people/" + payload.replace("/", "%2F")),
                browser.client.get("/admin/log", params={"page": payload}),
            ):
                assert answer.status_code in (200, 404)
                harmless(answer.text)
    store.close()


def test_exports_are_downloaded_as_files(store: Store, clock: Clock, admin: Browser, tmp_path: Path) -> None:
    for _ in range(2):
        judge(store, clock, first_better)
    answer = admin.post("/admin/export", "/admin/export", kind="jsonl")
    assert answer.headers["content-disposition"].startswith('attachment; filename="tiny-')
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    (tmp_path / "got.jsonl").write_bytes(answer.content)
    got = read_export(tmp_path / "got.jsonl")
    assert got.votes.height == 24 and got.study["name"] == "tiny"
    assert len(answer.text.splitlines()) == 25 and json.loads(answer.text.splitlines()[1])["person"]
    table = admin.post("/admin/export", "/admin/export", kind="csv")
    assert len(list(csv.DictReader(io.StringIO(table.text)))) == 24
    assert admin.post("/admin/export", "/admin/export", kind="../../etc/passwd").status_code == 400


def test_links_are_shown_whole_and_made_as_asked(store: Store, clock: Clock, admin: Browser) -> None:
    answer = admin.post("/admin/links", "/admin/links", number="3", uses="0", days="14", note="first term")
    assert answer.status_code == 303
    made = people.invites(store)
    assert [(one.uses, one.note) for one in made] == [(None, "first term")] * 3
    assert made[0].expires is not None and (made[0].expires - clock()).days == 14
    page = admin.get("/admin/links").text
    shown = re.findall(rf"{ADDRESS}/i/\S+?(?=<)", page)
    assert len(shown) == 3
    assert admin.client.get(shown[0].removeprefix(ADDRESS)).status_code == 200
    for wrong in (
        {"number": "0"},
        {"number": "1001"},
        {"uses": "-1"},
        {"days": "x"},
        {"note": "n" * 201},
        {"number": "²"},
    ):
        fields = {"number": "1", "uses": "1", "days": "", "note": ""} | wrong
        assert admin.post("/admin/links", "/admin/links", **fields).status_code == 422, wrong
    assert len(people.invites(store)) == 3
    admin.post("/admin/links/revoke", "/admin/links", invite=made[0].id)
    assert [one.revoked for one in people.invites(store)] == [True, False, False]
    assert "revoked" in text_of(admin.get("/admin/links").text)


def test_pages_keep_their_outline(store: Store, clock: Clock, admin: Browser) -> None:
    """One first heading, a language, a title of its own, labels for all that is typed, heads for all tables."""
    person = judge(store, clock, first_better)
    titles = []
    for path in (
        "/admin",
        "/admin/people",
        f"/admin/people/{person}",
        "/admin/links",
        "/admin/export",
        "/admin/log",
        "/admin/account",
    ):
        page = admin.get(path).text
        assert page.count("<h1>") == 1 and '<html lang="en">' in page
        titles += re.findall(r"<title>([^<]+)</title>", page)
        for name in re.findall(r'<(?:input|select|textarea)(?![^>]*type="hidden")[^>]*\bid="([^"]+)"', page):
            assert f'<label for="{name}">' in page, (path, name)
        assert page.count("<table") == page.count("<thead") and "<th>" not in page
    assert len(set(titles)) == 7


def test_withdrawn_people_are_not_there(store: Store, clock: Clock, admin: Browser) -> None:
    person = judge(store, clock, first_better)
    sittings.withdraw(store, person, clock())
    assert admin.get(f"/admin/people/{person}").status_code == 404
    assert person not in admin.get("/admin/people").text


def test_alpha_of_the_page_is_that_of_the_votes(store: Store, clock: Clock) -> None:
    rng = np.random.default_rng(3)
    said: list[tuple[str, int]] = []

    def rated(shown: ShowItem) -> dict[str, Answer]:
        value = int(rng.integers(1, 6))
        said.append((shown.item.id, value))
        return {"better": Answer("a"), "good": Answer(str(value))}

    for _ in range(3):
        judge(store, clock, rated)
    table = np.array([[value for item, value in said if item == f"item {n}"] for n in range(6)], float).T
    found, _ = Memory.create(store, clock).live.look(10)
    assert found is not None and found.agreements[1].alpha is not None
    assert found.agreements[1].alpha.estimate == pytest.approx(krippendorff_alpha(table, "interval").estimate)


def test_choices_are_shown_by_side_and_model(store: Store, clock: Clock, admin: Browser) -> None:
    chosen = {}

    def answers(shown: ShowItem) -> dict[str, Answer]:
        number = int(shown.item.id.split()[1])
        answer = "ab"[number % 2]
        chosen[shown.item.id] = f"{'left' if answer == shown.left else 'right'} (model model {answer})"
        return {"better": Answer(answer), "good": Answer("4")}

    page = admin.get(f"/admin/people/{judge(store, clock, answers)}").text
    for item, words in chosen.items():
        assert f" Which is better? {words} How good is it? 4 " in showing_of(page, item)
    assert len({words.split()[0] for words in chosen.values()}) == 2


def test_a_withdrawal_is_the_persons_in_the_log_and_on_their_link(
    store: Store, clock: Clock, admin: Browser
) -> None:
    person, other = judge(store, clock, first_better), judge(store, clock, first_better)
    many = people.make_invites(store, 1, clock(), uses=3, note="many")[0]
    two = [people.arrive(store, many.id, clock(), external=name) for name in ("x", "y")]
    for gone in (person, two[0]):
        sittings.withdraw(store, gone, clock())
    log = text_of(admin.get("/admin/log").text)
    assert "the person withdraw –" in log
    states = [
        text_of(row).split("Revoke")[0]
        for row in admin.get("/admin/links").text.split("<tbody")[1].split("<tr")
        if "somebody" in row or "many" in row
    ]
    assert "2 of 3 1 withdrew" in states[0] and "open" in states[0]
    assert "used up" in states[1] and "withdr" not in states[1]
    assert "withdrawn" in states[2] and "used up" not in states[2]
    assert [one.withdrawn for one in people.invites(store)] == [1, 0, 1]
    page = f"/admin/people/{other}"
    admin.post(f"{page}/withdraw", page, password=PASSWORD)
    assert f"{NAME} withdraw –" in text_of(admin.get("/admin/log").text)


def test_what_was_typed_stays_where_a_number_is_wrong(admin: Browser) -> None:
    typed = {"number": "5000", "uses": "3", "days": "14", "note": 'first "term"'}
    answer = admin.post("/admin/links", "/admin/links", **typed)
    assert answer.status_code == 422
    fields = dict(re.findall(r'<input id="(\w+)"[^>]* value="([^"]*)"', answer.text))
    assert {name: html.unescape(text) for name, text in fields.items()} == typed


def test_a_pause_ends_by_a_button_that_says_so(admin: Browser) -> None:
    assert "Pause the study" in admin.get("/admin").text
    admin.post("/admin/pause", "/admin", paused="yes")
    assert "Give out items again" in admin.get("/admin").text
