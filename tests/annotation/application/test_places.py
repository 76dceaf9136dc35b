"""Nobody comes into somebody else's place, and nobody is kept out because somebody else tried."""

import pytest

from evenhand.annotation.application.protection import Limits, Rate, Signatures
from evenhand.annotation.store import people
from tests.annotation.application.browsing import ADDRESS, Visitor
from tests.annotation.application.studies import pair_study

PROLIFIC = "5f0000000000000000000001"
BAD = (
    "",
    "%20",
    "%00",
    "%ff",
    "%ed%a0%80",
    "{{%25PROLIFIC_PID%25}}",
    "%7B%7B%25PROLIFIC_PID%25%7D%7D",
    "a b",
    "a%0A",
    "a" * 201,
    "%22%3E%3Cscript%3E",
    "a&PROLIFIC_PID=b",
    "a&workerId=b",
)


def shared(visitor, uses=None):
    return people.make_invites(visitor.store, 1, visitor.clock(), uses=uses)[0].id


def whose(visitor):
    token = visitor.client.cookies.get("evenhand-person-pairs")
    known = token and people.session(visitor.store, token, visitor.clock())
    return known and known[1]


def from_network(visitor, address):
    visitor.client.headers["x-forwarded-for"] = address
    return visitor


def test_somebodys_id_leads_into_their_place_by_no_other_link(stored):
    victim = Visitor(stored(pair_study()))
    link, query = shared(victim), f"?PROLIFIC_PID={PROLIFIC}"
    victim.come(link, query)
    thief = victim.another()
    for invite in (shared(victim, 1), shared(victim, 2), shared(victim)):
        thief.come(invite, query)
        assert whose(thief) and whose(thief) != whose(victim)
    again = victim.another()
    again.come(link, query)
    assert whose(again) == whose(victim)
    people.revoke(victim.store, link)
    late = victim.another()
    assert late.come(link, query).status == 403 and whose(late) is None
    assert victim.open("/study").h1 == "Before you begin"  # who is there goes on


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_an_id_is_refused_and_never_cut(stored, bad):
    somebody = Visitor(stored(pair_study()))
    link = somebody.link_of(shared(somebody))
    page = somebody.open(f"{link}?PROLIFIC_PID={bad}")
    assert page.status == 400 and page.h1 == "This link is incomplete" and not page.forms
    somebody.open(link)
    fields = dict(somebody.page.form.fields) | {"PROLIFIC_PID": bad}
    assert somebody.post(link, fields).status == 400 and whose(somebody) is None


@pytest.mark.parametrize("good", [PROLIFIC, "A2XKJ7Q9PLMNB1", "a" * 200, "3f2c-77_b"])
def test_ids_of_platforms_are_taken_whole(stored, good):
    somebody = Visitor(stored(pair_study()))
    link = shared(somebody)
    somebody.come(link, f"?workerId={good}")
    same, other = somebody.another(), somebody.another()
    same.come(link, f"?workerId={good}")
    other.come(link, f"?workerId={good[:-1]}")
    assert whose(same) == whose(somebody) != whose(other)


def test_a_planted_visitor_is_not_the_one_who_planted_it(stored):
    thief = Visitor(stored(pair_study()), proxied=True)
    link = thief.link_of(shared(thief))
    thief.open(link)
    planted, thiefs_page = thief.client.cookies["evenhand-visitor-pairs"], thief.page.form.fields
    victim = from_network(thief.another(), "192.0.2.7")
    victim.client.cookies.set("evenhand-visitor-pairs", planted, domain="127.0.0.1", path="/")
    victim.open(link)
    victim.send()
    for _ in range(2):
        thief.post(link, thiefs_page)
        assert whose(thief) and whose(thief) != whose(victim)
        thief.client.cookies.clear()
        thief.client.cookies.set("evenhand-visitor-pairs", planted, domain="127.0.0.1", path="/")
        thief.open(link)
        thief.send()
        assert whose(thief) != whose(victim)
    # made to send the thief's own page, from elsewhere
    other = from_network(thief.another(), "192.0.2.8")
    other.client.cookies.set("evenhand-visitor-pairs", planted, domain="127.0.0.1", path="/")
    other.post(link, thiefs_page)
    thief.client.cookies.clear()
    thief.client.cookies.set("evenhand-visitor-pairs", planted, domain="127.0.0.1", path="/")
    thief.post(link, thiefs_page)
    assert whose(other) and whose(thief) and whose(other) != whose(thief)


def test_two_pages_of_one_browser_are_one_person(stored):
    somebody = Visitor(stored(pair_study()))
    link = somebody.link_of(shared(somebody))
    first, second = (somebody.open(link).form.fields for _ in range(2))
    somebody.post(link, first)
    person = whose(somebody)
    assert somebody.post(link, second).h1 == "Before you begin" and whose(somebody) == person


def test_wrong_links_do_not_keep_out_who_has_a_right_one(stored):
    somebody = Visitor(stored(pair_study()), limits=Limits(wrong_invites=Rate(5, 0.001)))
    assert [somebody.client.get(f"/i/bogus{n}").status_code for n in range(7)] == [403] * 5 + [429] * 2
    assert somebody.come().h1 == "Before you begin"


def test_used_up_links_and_forged_forms_do_not_keep_out_who_has_a_right_one(stored):
    few = Limits(spent_invites=Rate(5, 0.001), posts_of_address=Rate(5, 0.001))
    somebody = Visitor(stored(pair_study()), limits=few)
    used_up = shared(somebody)
    people.revoke(somebody.store, used_up)
    assert [somebody.another().come(used_up).status for _ in range(7)] == [403] * 5 + [429] * 2
    link = Signatures(somebody.store.secret).invite_token(shared(somebody))
    forged = [
        somebody.another().client.post(
            f"/i/{link}", data={"form_token": "x"}, headers={"origin": ADDRESS, "cookie": cookie}
        )
        for cookie in [f"evenhand-visitor-pairs={'v' * 30}{n}" for n in range(7)]
    ]
    assert [answer.status_code for answer in forged] == [403] * 5 + [429] * 2
    assert somebody.another().come(shared(somebody, 1)).h1 == "Before you begin"
