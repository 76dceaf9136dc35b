"""Who gets in: the login, its waits, its ends, and what a session of somebody else's is worth."""

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from argon2 import Parameters, PasswordHasher, extract_parameters
from fastapi.routing import APIRoute

from evenhand.annotation import Store
from evenhand.annotation.application import first_account, set_password
from evenhand.annotation.application.admin import router
from evenhand.annotation.application.admin.accounts import check_login
from evenhand.annotation.application.admin.sessions import IDLE, LASTS
from evenhand.annotation.application.admin.slowing import Slowing
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
        assert len(cookies) == 3
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
    assert "The name or the password is wrong." in answer.text
    assert stranger.get("/admin").status_code == 303


def test_an_unknown_name_takes_as_long_as_a_wrong_password(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly all of the time is that of one hash, which depends on its parameters and not on the password."""
    computed: list[Parameters] = []
    verify = PasswordHasher.verify

    def recorded(hasher: PasswordHasher, hashed: str, password: str) -> bool:
        computed.append(extract_parameters(hashed))
        return verify(hasher, hashed, password)

    monkeypatch.setattr(PasswordHasher, "verify", recorded)
    for name in (NAME, "nobody", "unknown", "x" * 1000, ""):
        assert check_login(store, name, "some wrong password", clock()) is None
    assert computed == [computed[0]] * 5


def test_guessing_is_slowed_by_account_from_wherever_it_comes(
    new_browser: Callable[..., Browser], clock: Clock
) -> None:
    answers = [new_browser(f"198.51.100.{n}").log_in(NAME, f"guess {n}").status_code for n in range(12)]
    assert answers[:5] == [403] * 5 and set(answers[5:]) == {429}
    assert new_browser("198.51.7.5").log_in().status_code == 429  # its owner waits, too, if they are near,
    clock.later(seconds=61)
    assert new_browser("198.51.7.5").log_in().status_code == 303  # for a minute at most


def test_the_owner_gets_in_while_somebody_guesses_from_changing_networks(
    new_browser: Callable[..., Browser], clock: Clock
) -> None:
    """Six guesses a second for a minute, each from another /64 of one provider."""
    draw = random.Random(1)
    home = new_browser("192.0.2.1")
    assert home.log_in().status_code == 303
    home.post("/admin/logout", "/admin")
    guessing = new_browser("2001:db8::1")
    token, statuses = guessing.token("/admin/login"), []
    guess = {"form_token": token, "name": NAME, "password": "wrongwrongwrong"}
    for n in range(360):
        network = f"2001:db8:{draw.randrange(60_000):x}:{draw.randrange(60_000):x}::1"
        guessing.client._transport.client = (network, 50_000)  # type: ignore[attr-defined]
        statuses.append(guessing.send("/admin/login", guess).status_code)
        clock.later(seconds=1 / 6)
        if n % 45 == 44:  # eight times
            assert new_browser(f"203.0.113.{n % 250}").log_in().status_code == 303
            assert home.log_in().status_code == 303
            home.post("/admin/logout", "/admin")
    assert statuses.count(403) + statuses.count(429) == 360 and statuses.count(403) < 40


def test_a_known_browser_has_a_counter_of_its_own_which_ends(
    new_browser: Callable[..., Browser], clock: Clock, store: Store
) -> None:
    set_password(store, "ben", OTHER, "test", clock())
    home, guesser = new_browser("192.0.2.1"), new_browser("192.0.2.1")
    home.log_in()
    home.post("/admin/logout", "/admin")
    for n in range(8):  # the account has to wait, and so has the network
        guesser.log_in(NAME, f"guess {n}")
    assert guesser.log_in().status_code == 429
    assert [home.log_in(NAME, f"typo {n}").status_code for n in range(7)] == [403] * 5 + [429] * 2
    assert home.log_in("ben", OTHER).status_code == 429  # known for one account, not for another
    known = home.client.cookies["evenhand-known-tiny"]
    clock.later(seconds=2)
    assert home.log_in().status_code == 303
    clock.later(days=91)
    for n in range(6):
        guesser.log_in(NAME, f"guess {n}")
    for forged in (known, known[:-1], "", "x.y", f"{known}x", "W10.x", "é"):
        late = new_browser("192.0.2.1")
        late.client.cookies.set("evenhand-known-tiny", forged.encode("latin-1").decode("ascii", "ignore"))
        assert late.log_in().status_code == 429


@pytest.mark.parametrize(
    "network",
    [
        lambda draw: f"2001:db8:{draw.randrange(65_536):x}:{draw.randrange(65_536):x}::/64",
        lambda draw: f"{draw.randrange(1, 224)}.{draw.randrange(256)}.{draw.randrange(256)}.1",
        lambda draw: f"{draw.randrange(8193, 16_384):x}:{draw.randrange(65_536):x}:1:2::/64",
    ],
)
def test_all_networks_together_try_an_account_less_than_250_times_an_hour(
    network: Callable[[random.Random], str],
) -> None:
    slowing, draw, now = Slowing(), random.Random(3), datetime(2026, 3, 2, tzinfo=UTC)
    looked_at = []
    for second in range(3 * 3600):
        waits = [slowing.begin(NAME, network(draw), now) for _ in range(6)]
        looked_at += [second] * waits.count(0)
        now += timedelta(seconds=1)
    hours = [sum(start <= second < start + 3600 for second in looked_at) for start in range(0, 7201, 100)]
    assert 60 < max(hours) < 250


def test_the_right_password_gives_others_no_more_guesses() -> None:
    """Its owner logs in each minute, which once let those who guess begin anew."""
    slowing, now, looked_at = Slowing(), datetime(2026, 3, 2, tzinfo=UTC), 0
    for second in range(3600):
        looked_at += slowing.begin(NAME, f"2001:db8:0:{second:x}::/64", now) == 0
        if second % 60 == 0 and slowing.begin(NAME, "192.0.2.1", now) == 0:
            slowing.record_success(NAME, "192.0.2.1")
        now += timedelta(seconds=1)
    assert looked_at < 250


def test_a_clock_that_is_set_back_keeps_nobody_waiting() -> None:
    slowing, now = Slowing(), datetime(2026, 3, 2, tzinfo=UTC)
    for _ in range(5):
        slowing.begin(NAME, "192.0.2.1", now)
    assert slowing.begin(NAME, "192.0.2.1", now - timedelta(hours=5)) <= 1


def test_the_log_names_accounts_alone(stranger: Browser, store: Store, clock: Clock) -> None:
    administration.set_account(store, "command line", administration.account(store, NAME) or "")
    for name in ("my secret passphrase", "command line", NAME):
        stranger.log_in(name, "a wrong one")
    assert stranger.log_in("command line", PASSWORD).status_code == 403  # made before such names were refused
    lines = administration.audit_log(store, limit=4)
    assert [line["actor"] for line in lines] == [
        "an unknown name",
        NAME,
        "an unknown name",
        "an unknown name",
    ]
    assert "passphrase" not in repr(administration.audit_log(store))


@pytest.mark.parametrize(
    "name", ["command line", "Command Line", "command  line", "ｃommand line", "An unknown name", "evenhand"]
)
def test_names_that_are_no_accounts_in_the_log_are_reserved(store: Store, clock: Clock, name: str) -> None:
    with pytest.raises(UsageError, match="is a reserved name"):
        set_password(store, name, OTHER, "test", clock())


def test_an_account_can_be_tried_less_than_a_hundred_times_an_hour(
    new_browser: Callable[..., Browser], clock: Clock
) -> None:
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
    "weak",
    [
        "password1234",
        "passwordpassword",
        "abcdefghijkl",
        "aaaaaaaaaaaa",
        "123456789012",
        "tiny",
        "Summer2026!!",
        "!!Summer-2026",
        "rosemary1998?",
        "Password2026!!",
        "p@ssw0rd1234",
        "ben2026ben2026",
        "!!2026$$1999%%",
    ],
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
