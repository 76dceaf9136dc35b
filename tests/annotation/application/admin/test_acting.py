"""What the admin does: pause, review, block, withdraw; never by a forged form, and each with a line in the log."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from evenhand.annotation import Store, begin_study
from evenhand.annotation.application import application, set_password
from evenhand.annotation.application.admin import router
from evenhand.annotation.definition import Answer
from evenhand.annotation.store import EndVisit, ShowItem, administration, people, sittings
from evenhand.schema import UsageError
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

ACTIONS: dict[str, dict[str, str]] = {
    "/admin/pause": {"paused": "yes"},
    "/admin/people/PERSON/review": {"decision": "reject", "note": "no"},
    "/admin/people/review": {"whom": "named", "names": "PERSON", "decision": "reject", "note": ""},
    "/admin/people/PERSON/block": {"blocked": "yes"},
    "/admin/people/PERSON/withdraw": {"password": PASSWORD},
    "/admin/links": {"number": "2", "uses": "1", "days": "", "note": ""},
    "/admin/links/revoke": {"invite": "INVITE"},
    "/admin/export": {"kind": "csv"},
    "/admin/account": {
        "password": PASSWORD,
        "chosen": "a kettle, two spoons",
        "again": "a kettle, two spoons",
    },
    "/admin/logout": {},
}


def state(store: Store) -> str:
    """Everything that an action of the admin could change, but for the lines of wrong tries in the log."""
    with sqlite3.connect(f"file:{store.engine.url.database}?mode=ro", uri=True) as database:
        tables = [
            name
            for (name,) in database.execute("select name from sqlite_master where type = 'table'")
            if name not in ("audit", "sqlite_sequence")
        ]
        rows = {name: database.execute(f"select * from {name}").fetchall() for name in sorted(tables)}
    database.close()
    return json.dumps(rows, default=repr, sort_keys=True)


def filled(action: str, store: Store, person: str) -> tuple[str, dict[str, str]]:
    invite = people.invites(store)[0].id
    fields = {
        name: text.replace("INVITE", invite).replace("PERSON", person)
        for name, text in ACTIONS[action].items()
    }
    return action.replace("PERSON", person), fields


def test_all_actions_are_tried_here() -> None:
    there = {
        route.path.replace("{person}", "PERSON")
        for route in router.routes
        if isinstance(route, APIRoute) and "POST" in route.methods
    }
    assert there == {*ACTIONS, "/admin/login"}


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_a_forged_form_changes_nothing(
    action: str, store: Store, clock: Clock, admin: Browser, new_browser: Callable[..., Browser]
) -> None:
    person = judge(store, clock, first_better)
    path, fields = filled(action, store, person)
    elsewhere = new_browser()
    elsewhere.log_in()
    theirs, ours = elsewhere.token("/admin"), admin.token("/admin")
    before = state(store)
    forged: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, {}),
        ({"form_token": ""}, {}),
        ({"form_token": theirs}, {}),
        ({"form_token": ("A" if ours[0] != "A" else "B") + ours[1:]}, {}),
        ({"form_token": ours}, {"Origin": "https://evil.example"}),
        ({"form_token": ours}, {"Origin": "null"}),
        ({"form_token": ours}, {"Origin": f"{ADDRESS}.evil.example"}),
        ({"form_token": ours}, {"Sec-Fetch-Site": "cross-site"}),
        ({"form_token": ours}, {"Sec-Fetch-Site": "same-site"}),
        ({"form_token": ours}, {"Content-Type": "text/plain"}),
    ]
    for token, headers in forged:
        answer = admin.send(path, {**fields, **token}, **headers)
        assert answer.status_code in (403, 415), (token, headers)
    assert state(store) == before
    assert admin.send(path, {**fields, "form_token": ours}).status_code in (200, 303)


@pytest.mark.parametrize("action", sorted(set(ACTIONS) - {"/admin/logout"}))
def test_forms_with_parts_missing_doubled_or_absurd_change_nothing(
    action: str, store: Store, clock: Clock, admin: Browser
) -> None:
    person = judge(store, clock, first_better)
    path, fields = filled(action, store, person)
    before = state(store)
    for name in fields:
        for value in (
            [],
            [fields[name], fields[name]],
            ["\x00"],
            ["' OR 1=1 --"],
            ["\ud800".encode("utf-8", "surrogatepass").decode("latin-1")],
        ):
            if value == [] or len(value) == 2 or name not in ("note",):
                sent: dict[str, object] = {**fields, name: value, "form_token": admin.token("/admin")}
                answer = admin.client.post(
                    path, data=sent, headers={"Origin": ADDRESS}, follow_redirects=False
                )
                assert answer.status_code in (400, 403, 404, 422, 429), (name, value, answer.status_code)
                clock.later(seconds=70)
    assert state(store) == before


def test_while_paused_nobody_gets_anything_new(store: Store, clock: Clock, admin: Browser) -> None:
    admin.post("/admin/pause", "/admin", paused="yes")
    assert "Paused." in admin.get("/admin").text
    invite = people.make_invites(store, 1, clock())[0]
    person = people.arrive(store, invite.id, clock())
    sittings.agree(store, person, clock())
    step = sittings.step(store, person, clock())
    assert isinstance(step, EndVisit) and step.why == "paused"
    admin.post("/admin/pause", "/admin", paused="no")
    assert isinstance(sittings.step(store, person, clock()), ShowItem)


def test_rejected_votes_do_not_count_and_can_be_taken_back(
    store: Store, clock: Clock, admin: Browser
) -> None:
    person = judge(store, clock, first_better)
    page = f"/admin/people/{person}"
    admin.post(f"{page}/review", page, decision="reject", note="asked their flatmate")
    row = administration.persons(store)[1][0]
    assert (row.review, row.note) == ("rejected", "asked their flatmate")
    assert administration.progress(store, clock()).votes == 0
    admin.post(f"{page}/review", page, decision="none", note="")
    assert administration.progress(store, clock()).votes == 6
    admin.post(f"{page}/review", page, decision="accept", note="")
    assert administration.persons(store)[1][0].review == "accepted"


def reviews(store: Store) -> dict[str, str | None]:
    return {row.person: row.review for row in administration.persons(store)[1]}


def test_several_are_reviewed_at_once(store: Store, clock: Clock, admin: Browser) -> None:
    first, second, third = (judge(store, clock, first_better) for _ in range(3))
    admin.post(f"/admin/people/{first}/review", f"/admin/people/{first}", decision="none", note="kept")

    def send(**fields: object) -> int:
        token = admin.token("/admin/people")
        data = {"form_token": token, "note": "", "decision": "reject", **fields}
        answer = admin.client.post(
            "/admin/people/review", data=data, headers={"Origin": ADDRESS}, follow_redirects=False
        )
        return answer.status_code

    assert admin.get("/admin/people").text.count('type="checkbox" name="person"') == 3
    assert send(whom="ticked", person=[first, second]) == 303
    assert reviews(store) == {first: "rejected", second: "rejected", third: None}
    assert administration.progress(store, clock()).votes == 6, "the votes of one are left"
    assert {row.note for row in administration.persons(store)[1] if row.person == first} == {"kept"}
    assert send(whom="ticked", decision="none", person=[first, second]) == 303
    assert administration.progress(store, clock()).votes == 18
    before = state(store)
    assert send(whom="named", names=f"{third}\nnobody", decision="accept") == 422
    assert send(whom="ticked", decision="accept") == 422
    assert send(whom="found", search="", state="", total="2", decision="accept") == 409
    assert send(whom="found", search="", state="anything", total="3", decision="accept") == 400
    assert state(store) == before, "of all or of none"
    assert send(whom="found", search=second, state="", total="1", decision="accept", note="paid") == 303
    assert reviews(store) == {first: None, second: "accepted", third: None}
    assert send(whom="found", search="", state="done", total="3", decision="accept") == 303
    assert set(reviews(store).values()) == {"accepted"}


def test_several_are_named_by_their_codes(tmp_path: Path, clock: Clock) -> None:
    store = begin_study(tmp_path / "coded.sqlite", tiny(completion={"per_unit_codes": True}))
    both = [judge(store, clock, first_better) for _ in range(2)]
    codes = {row.person: row.code for row in administration.persons(store)[1]}
    found = people.find_pseudonyms(store, [str(codes[both[0]]), both[1], "nothing"])
    assert found == {codes[both[0]]: both[0], both[1]: both[1]}
    administration.review(store, list(found.values()), "accepted", None, "test", clock())
    assert set(reviews(store).values()) == {"accepted"}
    with pytest.raises(UsageError):
        administration.review(store, [both[0], "p-nobody"], "rejected", None, "test", clock())
    assert set(reviews(store).values()) == {"accepted"}
    store.close()


def test_who_is_blocked_gets_nothing_more(store: Store, clock: Clock, admin: Browser) -> None:
    person = judge(store, clock, first_better)
    sittings.next_unit(store, person, clock())
    page = f"/admin/people/{person}"
    admin.post(f"{page}/block", page, blocked="yes")
    step = sittings.step(store, person, clock())
    assert isinstance(step, EndVisit) and step.why == "blocked"
    admin.post(f"{page}/block", page, blocked="no")
    assert administration.persons(store)[1][0].state != "blocked"


def test_withdrawing_asks_for_the_password_again(store: Store, clock: Clock, admin: Browser) -> None:
    person = judge(store, clock, first_better)
    page = f"/admin/people/{person}"
    answer = admin.post(f"{page}/withdraw", page, password="a guess of somebody at the screen")
    assert answer.status_code == 403
    assert administration.persons(store)[0] == 1
    assert admin.post(f"{page}/withdraw", page, password=PASSWORD).status_code == 303
    assert administration.persons(store)[0] == 0


def test_withdrawing_leaves_no_trace_in_the_files(
    store: Store, clock: Clock, admin: Browser, file: Path
) -> None:
    reason, external, note = "Quokkas smile at dawn.", "prolific:5f3a9b27c1", "Their mother rang us up."

    def said(_: ShowItem) -> dict[str, Answer]:
        return {"better": Answer("a", reason=reason), "good": Answer("5")}

    kept = judge(store, clock, first_better)
    person = judge(store, clock, said, external=external)
    page = f"/admin/people/{person}"
    admin.post(f"{page}/review", page, decision="accept", note=note)
    admin.post(f"{page}/block", page, blocked="yes")
    files = [file, *file.parent.glob(f"{file.name}-*")]

    def holds(text: str) -> bool:
        return any(text.encode() in path.read_bytes() for path in files if path.exists())

    assert holds(person) and holds(reason) and holds(note) and holds(kept)
    assert not holds(external)
    assert admin.post(f"{page}/withdraw", page, password=PASSWORD).status_code == 303
    for path in files:
        for text in (person, reason, note):
            assert not path.exists() or text.encode() not in path.read_bytes(), (path.name, text)
    assert holds(kept)
    log = [(line["actor"], line["action"], line["subject"]) for line in administration.audit_log(store)]
    assert log[0] == (NAME, "withdraw", "")
    assert not any(person in str(line.values()) for line in administration.audit_log(store))
    exported = admin.post("/admin/export", "/admin/export", kind="jsonl").text
    assert person not in exported and kept in exported


def test_every_action_and_login_stands_in_the_log(
    store: Store, clock: Clock, admin: Browser, stranger: Browser
) -> None:
    person = judge(store, clock, first_better)
    stranger.log_in("nobody", "a guess")
    for action in (
        "/admin/pause",
        "/admin/people/PERSON/review",
        "/admin/people/review",
        "/admin/people/PERSON/block",
        "/admin/links",
        "/admin/links/revoke",
        "/admin/export",
        "/admin/people/PERSON/withdraw",
        "/admin/account",
        "/admin/logout",
    ):
        path, fields = filled(action, store, person)
        before = administration.audit_log(store)[0]
        clock.later(seconds=1)
        admin.post(path, "/admin", **fields)
        line = administration.audit_log(store)[0]
        assert line != before and (line["actor"], line["at"]) == (NAME, clock()), action
    actions = [line["action"] for line in administration.audit_log(store)]
    for known in (
        "password right",
        "password wrong",
        "pause",
        "review: rejected",
        "block",
        "invites made",
        "invite revoked",
        "exported",
        "withdraw",
        "password set",
        "logged out",
    ):
        assert known in actions, known
    admin.log_in(NAME, "a kettle, two spoons")
    page = admin.get("/admin/log").text
    assert "192.0.2.1" in page and "password wrong" in page and PASSWORD not in page


def test_no_secret_is_written_into_the_log(
    store: Store, clock: Clock, admin: Browser, stranger: Browser
) -> None:
    stranger.log_in(NAME, "typed into the wrong field")
    made = people.make_invites(store, 1, clock())[0]
    admin.post("/admin/links/revoke", "/admin/links", invite=made.id)
    written = json.dumps(administration.audit_log(store), default=str)
    token = admin.client.cookies["evenhand-admin-tiny"]
    assert "typed into" not in written and token not in written and PASSWORD not in written


def test_a_study_that_others_see_is_not_changed_by_looking(
    store: Store, clock: Clock, admin: Browser
) -> None:
    person = judge(store, clock, first_better)
    admin.get("/admin")
    before = state(store)
    for route in router.routes:
        if isinstance(route, APIRoute) and "GET" in route.methods:
            admin.get(route.path.replace("{person}", person))
    assert state(store) == before


def test_all_of_it_works_on_postgresql(postgres_address: str, clock: Clock) -> None:
    store = begin_study(postgres_address, tiny())
    set_password(store, NAME, PASSWORD, "test", clock())
    person, kept = judge(store, clock, first_better), judge(store, clock, first_better)
    with TestClient(application(store, address=ADDRESS, clock=clock), base_url=ADDRESS) as client:
        browser = Browser(client)
        browser.log_in()
        page = f"/admin/people/{person}"
        assert "12 of 18 votes" in browser.get("/admin").text
        for path in (
            page,
            "/admin/people?search=p-&state=done",
            "/admin/links",
            "/admin/export",
            "/admin/log?page=2",
        ):
            assert browser.get(path).status_code == 200, path
        browser.post("/admin/pause", "/admin", paused="yes")
        browser.post(f"{page}/review", page, decision="reject", note="no")
        browser.post("/admin/links", "/admin/links", number="2", uses="1", days="", note="")
        assert browser.post("/admin/export", "/admin/export", kind="csv").text.count(kept) == 12
        browser.post(f"{page}/withdraw", page, password=PASSWORD)
        assert administration.persons(store)[0] == 1
        assert "Paused." in browser.get("/admin").text
    store.close()
