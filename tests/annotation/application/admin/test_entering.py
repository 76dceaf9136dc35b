"""Who gets in: the login, its waits, its ends, and what a session of somebody else's is worth."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from evenhand.annotation import Store
from evenhand.annotation.application import first_account, set_password
from evenhand.annotation.application.admin import router
from evenhand.annotation.application.admin.sessions import IDLE, LASTS
from evenhand.annotation.store import administration, people
from evenhand.schema import UsageError
from tests.annotation.application.admin.conftest import ADDRESS, NAME, PASSWORD, Browser, Clock

OTHER = "a kettle, two spoons"


def routes() -> list[tuple[str, str]]:
    """Every page and action of the admin but the login, as method and path."""
    return [
        (method, route.path.replace("{person}", "p-nobody"))
        for route in router.routes
        if isinstance(route, APIRoute) and route.path != "/admin/login"
        for method in route.methods
    ]


def test_no_page_of_the_admin_is_shown_without_a_session(stranger: Browser) -> None:
    found = routes()
    assert len(found) >= 15
    for method, path in found:
        answer = stranger.client.request(
            method,
            path,
            data={"paused": "yes"} if method == "POST" else None,
            headers={"Origin": ADDRESS},
            follow_redirects=False,
        )
        if method == "GET":
            assert (answer.status_code, answer.headers["location"]) == (303, "/admin/login"), path
        else:
            assert answer.status_code == 403, path
        assert "Which of two?" not in answer.text


def test_a_persons_session_is_none_of_an_admin(
    store: Store, clock: Clock, stranger: Browser, new_browser: Callable[..., Browser]
) -> None:
    invite = people.make_invites(store, 1, clock())[0]
    person = people.arrive(store, invite.id, clock())
    token = people.open_session(store, "person", person, clock(), timedelta(days=1))
    admins = new_browser()
    admins.log_in()
    seen = admins.client.cookies["evenhand-seen-tiny"]
    for name in ("evenhand-admin-tiny", "evenhand-person-tiny", "evenhand-seen-tiny"):
        stranger.client.cookies.set(name, seen if "seen" in name else token)
    for method, path in routes():
        answer = stranger.client.request(
            method,
            path,
            data={} if method == "POST" else None,
            headers={"Origin": ADDRESS},
            follow_redirects=False,
        )
        assert answer.status_code in (303, 403) and answer.headers.get("location") in (
            None,
            "/admin/login",
        ), path


def test_login_gives_a_new_session_and_logout_ends_it(admin: Browser, store: Store, clock: Clock) -> None:
    before = admin.client.cookies["evenhand-admin-tiny"]
    assert admin.get("/admin").status_code == 200
    cookie = admin.client.cookies
    assert admin.post("/admin/logout", "/admin").headers["location"] == "/admin/login"
    assert "evenhand-admin-tiny" not in cookie
    assert people.session(store, before, clock()) is None
    admin.log_in()
    assert admin.client.cookies["evenhand-admin-tiny"] != before


def test_a_session_planted_in_the_browser_is_forgotten_at_the_login(
    stranger: Browser, store: Store, clock: Clock
) -> None:
    planted = people.open_session(store, "admin", "mallory", clock(), timedelta(hours=1))
    stranger.client.cookies.set("evenhand-admin-tiny", planted, domain="judge.test", path="/")
    stranger.log_in()
    assert stranger.client.cookies.get("evenhand-admin-tiny", domain="judge.test") != planted
    assert people.session(store, planted, clock()) is None


def test_cookies_are_kept_from_scripts_and_over_https_from_the_network(
    store: Store, clock: Clock, stranger: Browser
) -> None:
    for cookie in stranger.log_in().headers.get_list("set-cookie"):
        assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Path=/" in cookie
    from fastapi.testclient import TestClient

    from evenhand.annotation.application import application

    secure = "https://judge.test"
    with TestClient(application(store, address=secure, clock=clock), base_url=secure) as client:
        token = re.search(r'name="form_token" value="([^"]+)"', client.get("/admin/login").text)
        assert token
        answer = client.post(
            "/admin/login",
            data={"form_token": token[1], "name": NAME, "password": PASSWORD},
            headers={"Origin": secure},
            follow_redirects=False,
        )
        cookies = answer.headers.get_list("set-cookie")
        assert len(cookies) == 2
        for cookie in cookies:
            assert cookie.startswith("__Host-") and "Secure" in cookie


@pytest.mark.parametrize(
    "name, password", [(NAME, "wrong"), ("nobody", PASSWORD), ("", ""), (NAME, "x" * 100_000)]
)
def test_a_wrong_password_and_an_unknown_name_are_told_alike(
    stranger: Browser, name: str, password: str
) -> None:
    answer = stranger.log_in(name, password)
    assert answer.status_code == 403
    assert "Name and password do not belong together." in answer.text
    assert stranger.get("/admin").status_code == 303


def test_an_unknown_name_takes_as_long_as_a_wrong_password(store: Store, clock: Clock) -> None:
    import time

    from evenhand.annotation.application.admin.accounts import check_login

    def fastest(name: str) -> float:
        took = []
        for _ in range(5):
            start = time.perf_counter()
            assert check_login(store, name, "some wrong password", clock()) is None
            took.append(time.perf_counter() - start)
        return min(took)

    assert 0.5 < fastest("nobody") / fastest(NAME) < 2


def test_guessing_is_slowed_by_account_from_wherever_it_comes(
    new_browser: Callable[..., Browser], clock: Clock
) -> None:
    answers = [new_browser(f"198.51.100.{n}").log_in(NAME, f"guess {n}").status_code for n in range(12)]
    assert answers[:5] == [403] * 5 and set(answers[5:]) == {429}
    assert new_browser("203.0.113.5").log_in().status_code == 429  # its owner waits, too,
    clock.later(seconds=61)
    assert new_browser("203.0.113.5").log_in().status_code == 303  # for a minute at most


def test_an_account_can_be_tried_less_than_a_hundred_times_an_hour(
    new_browser: Callable[..., Browser], clock: Clock
) -> None:
    from evenhand.annotation.application.admin.slowing import Slowing

    slowing, looked_at, until = Slowing(), 0, clock() + timedelta(hours=1)
    while clock() < until:
        wait = slowing.begin(NAME, f"198.51.100.{looked_at % 250}", clock())
        looked_at += wait == 0
        clock.later(seconds=max(wait, 0.001))
    assert 60 < looked_at < 100


def test_guessing_is_slowed_by_network_whatever_the_name(
    new_browser: Callable[..., Browser], clock: Clock
) -> None:
    browser = new_browser()
    answers = [browser.log_in(f"name{n}", "guess").status_code for n in range(8)]
    assert answers == [403] * 5 + [429] * 3
    assert int(browser.log_in("name9", "guess").headers["retry-after"]) >= 1
    assert new_browser("203.0.113.5").log_in().status_code == 303
    for _ in range(12):  # each time twice as long, up to a quarter of an hour
        clock.later(seconds=1000)
        assert browser.log_in("name", "guess").status_code == 403
        assert browser.log_in("name", "guess").status_code == 429
    clock.later(seconds=800)
    assert browser.log_in("name", "guess").status_code == 429


def test_an_idle_session_ends(admin: Browser, clock: Clock, store: Store) -> None:
    token = admin.client.cookies["evenhand-admin-tiny"]
    for _ in range(4):
        clock.now += IDLE - timedelta(minutes=2)
        assert admin.get("/admin").status_code == 200
    clock.now += IDLE + timedelta(minutes=2)
    assert admin.get("/admin").headers["location"] == "/admin/login"
    assert people.session(store, token, clock()) is None


def test_a_session_ends_after_half_a_day_however_much_it_is_used(admin: Browser, clock: Clock) -> None:
    begun = clock()
    while clock() - begun < LASTS - timedelta(minutes=20):
        assert admin.get("/admin").status_code == 200
        clock.later(minutes=20)
    clock.later(minutes=21)
    assert admin.get("/admin").headers["location"] == "/admin/login"


def test_a_stamp_cannot_be_forged_or_brought_from_another_session(
    admin: Browser, new_browser: Callable[..., Browser], clock: Clock
) -> None:
    stamp = admin.client.cookies["evenhand-seen-tiny"]
    moment, _, signature = stamp.partition(".")
    other = new_browser()
    other.log_in()
    good = admin.client.cookies["evenhand-admin-tiny"]
    for forged in (
        f"{int(moment) + 3600}.{signature}",
        "",
        ".",
        f"{moment}.",
        "9" * 300 + ".x",
        f"-1.{signature}",
        other.client.cookies["evenhand-seen-tiny"],
    ):
        thief = new_browser()
        thief.client.cookies.set("evenhand-admin-tiny", good)
        thief.client.cookies.set("evenhand-seen-tiny", forged)
        assert thief.get("/admin").status_code == 303, forged
        admin.log_in()
        good = admin.client.cookies["evenhand-admin-tiny"]


def test_another_password_ends_all_sessions(admin: Browser, new_browser: Callable[..., Browser]) -> None:
    elsewhere = new_browser()
    elsewhere.log_in()
    answer = admin.post("/admin/account", "/admin/account", password=PASSWORD, chosen=OTHER, again=OTHER)
    assert answer.headers["location"] == "/admin"
    assert elsewhere.get("/admin").status_code == 303
    assert admin.get("/admin").status_code == 200
    assert elsewhere.log_in().status_code == 403
    assert elsewhere.log_in(NAME, OTHER).status_code == 303


@pytest.mark.parametrize(
    "said, chosen, again",
    [
        ("wrong", OTHER, OTHER),
        (PASSWORD, OTHER, "something else entirely"),
        (PASSWORD, "short", "short"),
        (PASSWORD, PASSWORD, PASSWORD),
        (PASSWORD, "rosarosarosarosa", "rosarosarosarosa"),
        (PASSWORD, "y" * 500, "y" * 500),
    ],
)
def test_a_password_is_not_changed_where_something_is_wrong(
    admin: Browser, said: str, chosen: str, again: str, clock: Clock, store: Store
) -> None:
    before = administration.account(store, NAME)
    answer = admin.post("/admin/account", "/admin/account", password=said, chosen=chosen, again=again)
    assert answer.status_code in (403, 422)
    assert administration.account(store, NAME) == before


@pytest.mark.parametrize(
    "weak", ["password1234", "passwordpassword", "abcdefghijkl", "aaaaaaaaaaaa", "123456789012", "tiny"]
)
def test_passwords_that_are_tried_first_are_refused(store: Store, clock: Clock, weak: str) -> None:
    with pytest.raises(UsageError):
        set_password(store, "ben", weak, "test", clock())


@pytest.mark.parametrize(
    "good",
    [
        "пароль из четырёх слов",
        "correct horse battery",
        "x9!" * 5 + "qu",
        "🦊 fox and 🐇 hare",
        "l" + "ong words " * 12,
    ],
)
def test_any_letters_make_a_password_and_none_is_cut(
    store: Store, clock: Clock, stranger: Browser, good: str
) -> None:
    set_password(store, "ben", good, "test", clock())
    assert stranger.log_in("ben", good[:-1]).status_code == 403
    assert stranger.log_in("ben", good).status_code == 303


def test_the_printed_password_opens_nothing_but_the_choice_of_another_and_ends(
    tmp_path: Path, clock: Clock
) -> None:
    from fastapi.testclient import TestClient

    from evenhand.annotation import begin_study
    from evenhand.annotation.application import application
    from tests.annotation.application.admin.conftest import tiny

    store = begin_study(tmp_path / "new.sqlite", tiny())
    printed = first_account(store, clock())
    assert printed and first_account(store, clock()) is None
    assert printed not in (administration.account(store, "admin") or "")
    browser = Browser(TestClient(application(store, address=ADDRESS, clock=clock), base_url=ADDRESS))
    assert browser.log_in("admin", printed).headers["location"] == "/admin/account"
    for path in ("/admin", "/admin/people", "/admin/log"):
        assert browser.get(path).headers["location"] == "/admin/account"
    assert browser.post("/admin/export", "/admin/account", kind="csv").headers["location"] == "/admin/account"
    browser.post("/admin/account", "/admin/account", password=printed, chosen=OTHER, again=OTHER)
    assert browser.get("/admin").status_code == 200
    browser.client.close()

    unused = begin_study(tmp_path / "unused.sqlite", tiny())
    printed = first_account(unused, clock())
    clock.later(days=8)
    browser = Browser(TestClient(application(unused, address=ADDRESS, clock=clock), base_url=ADDRESS))
    assert browser.log_in("admin", str(printed)).status_code == 403
    browser.client.close()
    store.close()
    unused.close()


def test_passwords_are_stored_as_argon2id(store: Store) -> None:
    stored = administration.account(store, NAME)
    assert stored and stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$") and PASSWORD not in stored
