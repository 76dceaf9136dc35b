"""Nobody gets in, or sends anything, who should not: each test is one of the ways that are tried."""

import re
from datetime import timedelta
from http.cookies import SimpleCookie

import pytest

from evenhand.annotation.application.protection import Limits, Rate, Signatures
from evenhand.annotation.store import administration, people
from tests.annotation.application.browsing import ADDRESS, Visitor
from tests.annotation.application.studies import marks_study, pair_study, text_study

PAIR = {"engaging": "left", "engaging-reason": "It is livelier.", "human": "tie"}
POSTS = ("consent", "answer", "correction", "survey", "next", "withdraw", "leave")
SQL = (
    "' OR '1'='1",
    "'; DROP TABLE persons; --",
    '" OR ""="',
    "1) UNION SELECT token FROM sessions --",
    "\\'; DELETE FROM votes; --",
    "%27%20OR%201=1",
    "admin'/*",
    "x' AND 1=(SELECT COUNT(*) FROM votes) --",
)


def judging(stored, study=None):
    somebody = Visitor(stored(study or pair_study(onboarding=None, rules=[])))
    somebody.come()
    somebody.send()
    return somebody


def votes(visitor):
    return list(administration.votes(visitor.store))


def test_without_a_session_nothing_is_shown_and_nothing_taken(stored):
    somebody = judging(stored)
    stranger = somebody.another()
    for path in ("/study", "/study/withdraw", "/study/leave"):
        page = stranger.open(path)
        assert page.status == 403 and "Who speaks better" not in page.source
    for path in POSTS:
        fields = dict(somebody.page.form.fields) | PAIR
        assert stranger.post(f"/study/{path}", fields).status == 403
    stranger.client.cookies.set("evenhand-person-pairs", "x" * 43, domain="127.0.0.1")
    assert stranger.open("/study").status == 403
    assert not votes(somebody)
    assert "Who speaks better" not in stranger.open("/").source


@pytest.mark.parametrize("token", ["", "x", None, "another session's"])
def test_forged_form_tokens_do_nothing(stored, token):
    somebody = judging(stored)
    fields = dict(somebody.page.form.fields) | PAIR
    if token == "another session's":
        other = somebody.another()
        other.come()
        token = dict(other.page.form.fields)["form_token"]
    fields = {name: value for name, value in fields.items() if name != "form_token"}
    page = somebody.post("/study/answer", fields if token is None else fields | {"form_token": token})
    assert page.status == 403 and "does not belong" in page.h1 and not votes(somebody)
    for path in POSTS:
        assert somebody.post(f"/study/{path}", {"form_token": token or ""}).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ADDRESS + "0"},
        {"origin": ADDRESS + ".evil.example"},
        {"origin": ADDRESS + "#"},
        {"origin": ADDRESS + "/"},
        {"origin": "", "referer": ""},
        {"origin": "", "referer": "https://evil.example/?" + ADDRESS},
        {"origin": "", "referer": ADDRESS + "@evil.example/"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_forms_of_other_sites_do_nothing_though_they_know_the_token(stored, headers):
    somebody = judging(stored)
    fields = dict(somebody.page.form.fields) | PAIR
    assert somebody.post("/study/answer", fields, headers=headers).status == 403
    assert not votes(somebody)
    assert (
        somebody.post("/study/answer", fields, headers={"origin": "", "referer": ADDRESS + "/study"}).h1
        == "2 of 2"
    )


def test_a_form_sent_again_is_taken_once(stored):
    somebody = judging(stored)
    first = somebody.page
    somebody.send(PAIR)
    before = votes(somebody)
    somebody.page = first
    page = somebody.send(PAIR | {"engaging": "right", "engaging-reason": "changed my mind"})
    assert page.h1 == "2 of 2" and "had already sent that page" in page.text
    assert votes(somebody) == before


def test_somebody_elses_presentation_and_made_up_ones_are_refused(stored):
    somebody = judging(stored)
    other = somebody.another()
    other.come()
    other.send()
    for name in (dict(other.page.form.fields)["presentation"], "made-up", "", "../1", *SQL):
        fields = dict(somebody.page.form.fields) | PAIR | {"presentation": name}
        for path in ("answer", "correction"):
            assert (
                somebody.client.post(f"/study/{path}", data=fields, headers={"origin": ADDRESS}).status_code
                == 403
            )
    assert not votes(somebody)
    fields = [*somebody.page.form.fields, *PAIR.items(), ("presentation", "x")]
    assert somebody.post("/study/answer", fields).status == 400
    assert somebody.open("/study").h1 == "1 of 2"


def test_what_the_page_did_not_offer_is_a_problem_and_not_an_answer(stored):
    somebody = judging(stored)
    for more in (
        {"engaging": "a"},
        {"engaging": "tie"},
        {"human": "b"},
        {"engaging-reason": "x" * 50_000},
        {"role": "gold"},
        {"engaging": "left\x00"},
    ):
        fields = dict(somebody.page.form.fields) | PAIR | more
        assert somebody.post("/study/answer", fields).status == 422
    fields = [*(dict(somebody.page.form.fields) | PAIR).items(), ("engaging", "right")]
    assert somebody.post("/study/answer", fields).status == 422
    assert not votes(somebody)


@pytest.mark.parametrize("sent", SQL)
def test_sql_in_every_field_is_text(stored, sent):
    somebody = judging(stored, text_study(["One.", "Two."]))
    good = {"regard": "positive", "regard-reason": "good words", "sure": "5"}
    somebody.send(good | {"regard-reason": sent, "own": sent})
    assert somebody.page.h1 == "2 of 2"
    assert {v["question"]: v["reason"] for v in votes(somebody)}["regard"] == sent
    assert {v["question"]: v["answer"] for v in votes(somebody)}["own"] == sent
    for name in ("regard", "fluent", "sure"):
        assert (
            somebody.post("/study/answer", dict(somebody.page.form.fields) | good | {name: sent}).status
            == 422
        )
        somebody.open("/study")
    assert somebody.post("/study/answer", dict(somebody.page.form.fields) | good | {sent: sent}).status == 422
    token = dict(somebody.page.form.fields)["form_token"]
    assert somebody.post("/study/survey", {"form_token": token, "survey": sent}).h1 == "2 of 2"
    assert somebody.client.get("/study", params={"notice": sent}).status_code == 200
    stranger = somebody.another()
    assert stranger.client.get(f"/i/{sent}").status_code in (403, 404)
    invite = people.make_invites(somebody.store, 1, somebody.clock(), uses=None)[0].id
    stranger.come(invite)
    stranger.open(stranger.link)
    fields = dict(stranger.page.form.fields)
    assert stranger.post(stranger.link, fields | {"PROLIFIC_PID": sent}).h1 == "This link is incomplete"
    assert stranger.post(stranger.link, fields | {"page": sent, "another": sent}).h1 == "Before you begin"
    assert administration.progress(somebody.store, somebody.clock()).persons == 3
    assert len(votes(somebody)) == 4


def test_links_that_let_nobody_in(stored):
    somebody = Visitor(stored(pair_study()))
    now = somebody.clock()
    old = people.make_invites(somebody.store, 1, now, lasts=timedelta(hours=1))[0].id
    gone = people.make_invites(somebody.store, 1, now)[0].id
    people.revoke(somebody.store, gone)
    full = people.make_invites(somebody.store, 1, now, uses=2)[0].id
    for _ in range(2):
        somebody.another().come(full)
    somebody.clock.on(hours=2)
    for invite in (old, gone, full, "never made"):
        page = somebody.another().come(invite)
        assert page.status == 403 and page.h1 == "This link is not valid"
    good = Signatures(somebody.store.secret).invite_token("any")
    others = Signatures(b"0" * 32).invite_token(gone)
    for token in (good[:-1], good[:-1] + "~", "." + good, others, "x.y.z", "%00", "a" * 5000, "é"):
        assert somebody.client.get(f"/i/{token}").status_code == 403
    form_token = Signatures(somebody.store.secret).form_token("x")
    assert Signatures(somebody.store.secret).invite(form_token) is None


def test_sessions_end_and_change_when_somebody_comes(stored):
    somebody = Visitor(stored(pair_study()))
    invite = people.make_invites(somebody.store, 1, somebody.clock())[0].id
    somebody.client.cookies.set("evenhand-person-pairs", "planted-by-somebody-else", domain="127.0.0.1")
    somebody.come(invite)
    first = somebody.client.cookies["evenhand-person-pairs"]
    assert first != "planted-by-somebody-else" and len(first) >= 40
    somebody.open(somebody.link)
    somebody.send()
    assert somebody.client.cookies["evenhand-person-pairs"] != first
    thief = somebody.another()
    thief.client.cookies.set("evenhand-person-pairs", first, domain="127.0.0.1")
    assert thief.open("/study").status == 403
    assert somebody.open("/study").status == 200
    somebody.clock.on(days=8)
    page = somebody.open("/study")
    assert page.status == 403 and page.h1 == "Please open your link again"


def test_cookies_say_what_browsers_need(stored):
    for address, prefix, secure in ((ADDRESS, "", False), ("https://judge.example.org", "__Host-", True)):
        somebody = Visitor(stored(pair_study()), address)
        path = somebody.link_of(people.make_invites(somebody.store, 1, somebody.clock())[0].id)
        page = somebody.client.get(path)
        cookie = SimpleCookie(page.headers["set-cookie"])[f"{prefix}evenhand-visitor-pairs"]
        assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")
        assert bool(cookie["secure"]) is secure and cookie["domain"] == ""


def test_a_browser_without_cookies_is_told(stored):
    somebody = Visitor(stored(pair_study()))
    somebody.open(somebody.link_of(people.make_invites(somebody.store, 1, somebody.clock())[0].id))
    somebody.client.cookies.clear()
    assert somebody.send().h1 == "Your browser sent no cookie"


PATHS = (
    "/static/../serving.py",
    "/static/..%2f..%2fserving.py",
    "/static/%2e%2e/%2e%2e/etc/passwd",
    "/static//etc/passwd",
    "/static/style.css%00.css",
    "/static/....//....//etc/passwd",
    "/static/",
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/study/../admin/../../x",
    "/docs",
    "/redoc",
    "/openapi.json",
    "/.env",
    "/.git/config",
    "/study/",
)


@pytest.mark.parametrize("path", PATHS)
def test_paths_lead_nowhere_else(stored, path):
    somebody = Visitor(stored(marks_study()))
    answer = somebody.client.get(path, follow_redirects=False)
    assert answer.status_code == 404 and "root:" not in answer.text and "location" not in answer.headers


def test_other_hosts_are_turned_away(stored):
    somebody = judging(stored)
    for host in (
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8000.evil.example",
        "",
        "localhost:8000",
    ):
        for method in ("GET", "POST"):
            answer = somebody.client.request(method, "/study", headers={"host": host})
            assert answer.status_code == 421 and "Who speaks" not in answer.text
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert somebody.client.get("/health", headers={"host": "10.0.0.3:8000"}).text == "ok\n"
    forwarded = {"x-forwarded-host": "127.0.0.1:8000", "host": "evil.example"}
    assert somebody.client.get("/", headers=forwarded).status_code == 421
    behind = Visitor(somebody.store, proxied=True)
    assert behind.client.get("/", headers=forwarded).status_code == 200


def test_large_and_odd_bodies_are_refused(stored):
    somebody = judging(stored)
    fields = dict(somebody.page.form.fields) | PAIR
    large = fields | {"engaging-reason": "x" * (1024 * 1024)}
    assert somebody.post("/study/answer", large).status == 413
    kind = {"content-type": "application/x-www-form-urlencoded", "origin": ADDRESS}

    def pieces():
        for _ in range(20):
            yield b"x" * 100_000

    assert somebody.client.post("/study/answer", content=pieces(), headers=kind).status_code == 413
    said = kind | {"content-length": "99999999999999999999"}
    assert somebody.client.post("/study/answer", content=b"", headers=said).status_code == 413
    for content, status in (
        (b"a=%ff%fe", 400),
        (b"\xff\xfe=1", 400),
        (b"&".join(b"f%d=1" % number for number in range(3000)), 400),
    ):
        assert somebody.client.post("/study/answer", content=content, headers=kind).status_code == status
    token = fields["form_token"]
    for other in ("application/json", "multipart/form-data; boundary=x", "text/plain", ""):
        answer = somebody.client.post(
            "/study/answer", content=f"form_token={token}", headers={"content-type": other, "origin": ADDRESS}
        )
        assert answer.status_code == 415
    assert not votes(somebody)


def test_who_guesses_links_has_to_wait(stored):
    somebody = Visitor(stored(pair_study()), limits=Limits(wrong_invites=Rate(5, 0.001)))
    statuses = [somebody.client.get(f"/i/guess-{number}").status_code for number in range(8)]
    assert statuses == [403] * 5 + [429] * 3
    answer = somebody.client.get("/i/guess")
    assert int(answer.headers["retry-after"]) > 60


def test_who_sends_too_much_has_to_wait_and_others_need_not(stored):
    somebody = Visitor(stored(pair_study()), limits=Limits(posts_of_session=Rate(3, 0.001)))
    somebody.come()
    statuses = [somebody.send().status] + [
        somebody.post("/study/consent", {"form_token": "x"}).status for _ in range(4)
    ]
    assert statuses == [200, 403, 403, 429, 429]
    other = somebody.another()
    other.come()
    assert other.send().status == 200


def test_every_answer_carries_the_headers(stored):
    for address in (ADDRESS, "https://judge.example.org"):
        somebody = Visitor(stored(pair_study()), address)
        style = re.search(r'href="(/static/style[^"]+)"', somebody.open("/").source).group(1)
        for method, path, status in (
            ("GET", "/", 200),
            ("GET", "/study", 403),
            ("GET", "/nothing", 404),
            ("DELETE", "/study", 405),
            ("POST", "/study/answer", 403),
            ("GET", "/study/answer", 303),
            ("GET", "/health", 200),
            ("GET", style, 200),
        ):
            answer = somebody.client.request(method, path, follow_redirects=False)
            assert answer.status_code == status, (method, path)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "script" not in policy and "unsafe" not in policy
            for part in ("form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
                assert part in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert answer.headers["cross-origin-opener-policy"] == "same-origin"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert ("strict-transport-security" in answer.headers) is address.startswith("https")
            kept = "public, max-age=31536000, immutable" if path == style else "no-store"
            assert answer.headers["cache-control"] == kept
            assert "server" not in answer.headers and "<script" not in answer.text


def test_what_fails_inside_says_nothing_of_the_inside(stored, caplog):
    somebody = judging(stored)
    somebody.store.close()
    with somebody.store.engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE persons RENAME TO elsewhere")
        connection.commit()
    page = somebody.open("/study")
    assert page.status == 500 and page.h1 == "Something went wrong on our side"
    assert "persons" not in page.source and "Traceback" not in page.source
    assert page.headers["content-security-policy"]
    assert "/study" in caplog.text


def test_behind_a_proxy_people_are_counted_by_what_the_proxy_says_last(stored):
    strict = {"limits": Limits(wrong_invites=Rate(2, 0.001))}
    behind, bare = (Visitor(stored(pair_study()), proxied=proxied, **strict) for proxied in (True, False))

    def guess(visitor, number, last):
        headers = {"x-forwarded-for": f"198.51.100.{number}, {last}"}
        return visitor.client.get("/i/guess", headers=headers).status_code

    assert [guess(behind, number, "192.0.2.1") for number in range(4)] == [403, 403, 429, 429]
    assert guess(behind, 9, "192.0.2.2") == 403
    assert [guess(bare, number, f"192.0.2.{number}") for number in range(4)] == [403, 403, 429, 429]


def test_behind_a_proxy_the_last_of_several_lines_is_believed(stored):
    """A proxy may add its word as a line of its own, behind those that the asker sent."""
    behind = Visitor(stored(pair_study()), proxied=True, limits=Limits(wrong_invites=Rate(2, 0.001)))

    def guess(number, last):
        lines = [("x-forwarded-for", f"198.51.100.{number}"), ("x-forwarded-for", last)]
        return behind.client.get("/i/guess", headers=lines).status_code

    assert [guess(number, "192.0.2.1") for number in range(4)] == [403, 403, 429, 429]
    assert guess(9, "192.0.2.2") == 403
    hosts = [("x-forwarded-host", "127.0.0.1:8000"), ("x-forwarded-host", "evil.example")]
    assert behind.client.get("/", headers=hosts).status_code == 421
    assert behind.client.get("/", headers=hosts[::-1]).status_code == 200
