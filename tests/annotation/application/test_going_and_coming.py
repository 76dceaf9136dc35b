"""Stopping, mistakes and coming back: nobody becomes two people, no typed text is lost unsaid."""

import pytest

from evenhand.annotation.store import administration, people, sittings
from tests.annotation.application.browsing import Visitor
from tests.annotation.application.studies import marks_study, pair_study, text_study

PAIR = {"engaging": "left", "engaging-reason": "It is livelier.", "human": "tie"}
SHORT = {"engaging-reason": "no"}


def by_shared_link(stored, study=None, uses=None):
    somebody = Visitor(stored(study or pair_study(onboarding=None, rules=[])))
    somebody.come(people.make_invites(somebody.store, 1, somebody.clock(), uses=uses)[0].id)
    somebody.send()
    return somebody


def persons(visitor):
    return administration.progress(visitor.store, visitor.clock()).persons


def stop(visitor, **more):
    visitor.open("/study/leave")
    return visitor.send(more)


@pytest.mark.parametrize("uses", [None, 1, 2])
def test_who_stops_and_comes_back_is_one_person(stored, uses):
    somebody = by_shared_link(stored, uses=uses)
    somebody.send(PAIR)
    place = dict(somebody.page.form.fields)["presentation"]
    page = stop(somebody)
    assert ("in this browser" in page.text) == (uses != 1) and "personal link" not in page.text
    assert somebody.open("/study").status == 403
    somebody.clock.on(days=9)
    page = somebody.open(somebody.link)
    first = page.forms[0]
    assert "another" not in dict(first.fields)
    if uses != 1:
        assert "You have already started" in page.text and "take part only once" in page.text
    somebody.post(somebody.link, first.fields)
    assert dict(somebody.page.form.fields)["presentation"] == place
    assert persons(somebody) == 1


def test_a_shared_link_goes_on_after_its_end_for_who_began_and_for_nobody_else(stored):
    somebody = by_shared_link(stored, uses=1 + 1)
    somebody.another().come(people.invites(somebody.store)[0].id)
    people.revoke(somebody.store, people.invites(somebody.store)[0].id)
    assert somebody.another().open(somebody.link).status == 403
    assert somebody.open(somebody.link).status == 200 and not somebody.page.forms  # a visit that goes on
    stop(somebody)
    somebody.open(somebody.link)
    assert somebody.send().h1 == "1 of 2" and persons(somebody) == 2


def test_a_device_that_others_use_forgets_and_warns_before(stored):
    somebody = by_shared_link(stored)
    page = somebody.open("/study/leave")
    assert "can neither continue nor delete your answers" in page.text
    page = somebody.send({"forget": "1"})
    assert "no longer remembers" in page.text and not dict(somebody.client.cookies)
    page = somebody.open(somebody.link)
    assert "already started" not in page.text
    somebody.send()
    assert persons(somebody) == 2


def test_a_personal_link_is_not_offered_to_be_forgotten(stored):
    somebody = Visitor(stored(pair_study(onboarding=None, rules=[])))
    somebody.come()
    page = somebody.open("/study/leave")
    assert "in any browser" in page.text and not page.form.offered
    assert somebody.send({}).url.endswith("/left?link")


def test_somebody_else_on_the_same_device_is_somebody_else_from_then_on(stored):
    somebody = by_shared_link(stored)
    stop(somebody)
    page = somebody.open(somebody.link)
    somebody.post(somebody.link, page.forms[1].fields)
    assert somebody.page.h1 == "Before you begin" and persons(somebody) == 2
    stop(somebody)
    page = somebody.open(somebody.link)
    somebody.post(somebody.link, page.forms[0].fields)
    assert somebody.page.h1 == "Before you begin" and persons(somebody) == 2


def test_who_withdrew_is_forgotten_by_the_browser(stored):
    somebody = by_shared_link(stored)
    page = somebody.open("/study/withdraw")
    assert "your link no longer lets you in" not in page.text
    somebody.send()
    assert not dict(somebody.client.cookies)
    assert "already started" not in somebody.open(somebody.link).text


def test_a_made_up_place_lets_nobody_be_anybody(stored):
    somebody = by_shared_link(stored)
    stranger = somebody.another()
    for made_up in ("x" * 43, administration.persons(somebody.store)[1][0].person, "x" * 5000):
        stranger.client.cookies.clear()
        stranger.client.cookies.set("evenhand-returning-pairs", made_up, domain="127.0.0.1")
        assert "already started" not in stranger.open(somebody.link).text
    stranger.send()
    assert persons(somebody) == 2


def test_a_mistake_leads_to_a_page_that_can_be_opened_again(stored):
    somebody = by_shared_link(stored)
    fields = dict(somebody.page.form.fields) | SHORT | {"engaging": "right"}
    answer = somebody.client.post(
        "/study/answer", data=fields, headers={"origin": somebody.address}, follow_redirects=False
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/study")
    for _ in range(2):
        page = somebody.open("/study")
        typed = dict(page.form.fields)
        assert (typed["engaging"], typed["engaging-reason"]) == ("right", "no")
        # each field beside which something is wrong, at once
        links = [link for link in page.links if link.startswith("#q.")]
        assert links == ["#q.engaging-reason", "#q.human.0"]
    page = somebody.send({"engaging-reason": "It is livelier.", "human": "tie"})
    assert page.h1 == "2 of 2" and page.status == 200
    assert dict(page.form.fields)["engaging-reason"] == ""


def test_a_choice_and_a_reason_that_are_missing_are_told_together(stored):
    somebody = by_shared_link(stored)
    page = somebody.send()
    links = [link for link in page.links if link.startswith("#q.")]
    assert links == ["#q.engaging.0", "#q.engaging-reason", "#q.human.0"]
    assert {link[1:] for link in links} <= {said.get("id") for _, said in page.tags}


def test_what_was_typed_is_there_after_stopping(stored):
    somebody = by_shared_link(stored)
    form = somebody.page.form
    assert somebody.page.aside == ["leave", "withdraw"] and "/study/leave" not in somebody.page.links
    fields = [(name, value) for name, value in form.fields if name != "engaging-reason"]
    page = somebody.post(form.action, [*fields, ("engaging-reason", "because"), ("aside", "leave")])
    assert page.h1 == "Stop for now?" and "a day at most" in page.text
    page = somebody.open("/study")  # Continue the study
    assert page.status == 200 and dict(page.form.fields)["engaging-reason"] == "because"
    assert "Something is missing" not in page.source
    stop(somebody)
    somebody.open(somebody.link)
    somebody.post(somebody.link, somebody.page.forms[0].fields)
    assert dict(somebody.page.form.fields)["engaging-reason"] == "because"
    assert not list(administration.votes(somebody.store))
    somebody.send(PAIR)
    assert "a day at most" not in somebody.open("/study/leave").text
    somebody.open("/study")
    page = somebody.post("/study/answer", [*somebody.page.form.fields, ("aside", "https://evil.example")])
    assert page.h1 == "2 of 2"


def test_what_was_typed_into_a_survey_is_there_after_a_mistake(stored):
    survey = [{"kind": "scale", "id": "sdo", "use": "sdo7", "draw": 2, "skippable": False}]
    somebody = by_shared_link(stored, pair_study(onboarding=None, rules=[], survey=survey))
    somebody.send(PAIR)
    page = somebody.send(PAIR)
    first, second = page.form.offered
    page = somebody.send({first: "7"})
    assert page.status == 422 and dict(page.form.fields)[first] == "7"
    assert [link for link in page.links if link.startswith("#q.")] == [f"#q.{second}.1"]
    assert somebody.send({second: "1"}).h1 == "This set is complete"


def ending(**more):
    return pair_study(rules=[{"rule": "onboarding_below", "mark": 1, "action": "block"}], **more)


def test_an_onboarding_that_can_end_the_study_says_so_before_and_shows_its_code(stored):
    completion = {
        "code": "C0MPLETE",
        "address": "https://elsewhere.example/done",
        "not_passed_code": "SCR33NED",
        "not_passed_address": "https://elsewhere.example/screened",
    }
    somebody = Visitor(stored(ending(completion=completion)))
    page = somebody.come()
    assert "check" in page.text and "the study ends there for you" in page.text
    page = somebody.send()
    assert page.h1 == "Check 1 of 1" and "the study ends there for you" in page.text
    assert "practice" not in page.text.lower()
    while page.forms:
        wrong = {"engaging": _wrong_side(somebody)} if page.h1.startswith("Check") else {}
        page = somebody.send(PAIR | wrong if wrong else {})
    assert page.h1 == "Thank you for trying"
    assert "SCR33NED" in page.text and "https://elsewhere.example/screened" in page.links
    assert "C0MPLETE" not in page.source and "https://elsewhere.example/done" not in page.links


def _wrong_side(visitor):
    person = administration.persons(visitor.store)[1][0].person
    left = sittings.step(visitor.store, person, visitor.clock()).left
    return "right" if left == "a" else "left"


def test_practice_that_ends_nothing_is_called_practice(stored):
    somebody = Visitor(stored(pair_study()))
    page = somebody.come()
    assert "for practice" in page.text and "ends there" not in page.text
    assert "up to 2 sets" in page.text and "2 pairs of conversations each" in page.text
    page = somebody.send()
    assert page.h1 == "Practice 1 of 1" and "for practice" in page.text
    assert "Please answer within 30 minutes" in page.text and "UTC" not in page.text
    alone = Visitor(stored(text_study(["One.", "Two."])))
    assert "one set of 2 texts" in alone.come().text


def test_lines_within_a_paragraph_are_joined_and_points_of_a_list_are_not(stored):
    text = "You see one\ntext.\n\nThink of:\n- one\n  thing\n- another"
    somebody = Visitor(stored(marks_study(instructions=text)))
    somebody.come()
    page = somebody.send()
    assert page.texts["own"][:2] == ["You see one text.", "Think of:\n- one thing\n- another"]


def test_a_partner_called_by_a_letter_has_a_name_beside_speakers(stored):
    def talk(name, partner):
        turns = [{"speaker": partner, "text": "Hi"}, {"speaker": "B", "text": "Hello"}]
        return {"id": name, "speaker": "B", "turns": turns}

    items = [{"id": "pair", "pair": [talk("one", "A"), talk("two", "Ana")]}]
    somebody = Visitor(stored(pair_study(items=items, onboarding=None, rules=[])))
    somebody.come()
    page = somebody.send()
    assert set(page.texts["bdi"]) == {"Partner", "Ana", "Speaker 1", "Speaker 2"}


def asked_in_order(page):
    """The questions in the order in which they stand, by their fields."""
    names = [
        said.get("name", "")
        for tag, said in page.tags
        if tag in ("input", "select", "textarea") and said.get("type") != "hidden"
    ]
    return list(dict.fromkeys(name.split("-turn-")[0] for name in names))


def test_marks_stand_in_their_place_among_the_questions(stored):
    rude = {
        "kind": "choice",
        "id": "rude",
        "text": "Rude?",
        "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
    }
    marks = [question.model_dump() for question in marks_study().questions]
    last = Visitor(stored(marks_study(name="last", questions=[rude, *marks])))
    last.come()
    page = last.send()
    assert asked_in_order(page) == ["rude", "odd", "dull"]
    assert page.texts["said"][-4:-2] == page.texts["said"][-2:] == ["Well, thank you.", "Good bye."]
    page = last.send({"rude": "no", "odd-turn-3": "rude"})
    first = Visitor(stored(marks_study(name="first", questions=[*marks, rude])))
    first.come()
    assert asked_in_order(first.send()) == ["odd", "dull", "rude"]
    letter = Visitor(
        stored(marks_study(name="letter", questions=[rude, *marks], items=[{"id": "t", "text": "Hi"}]))
    )
    letter.come()
    page = letter.send()
    assert asked_in_order(page) == ["rude", "odd", "dull"] and "turn 1" not in page.text
    letter.send({"rude": "yes", "odd-turn-0": "false"})
    for visitor, said in ((last, {("odd", 3): "rude"}), (letter, {("odd", 0): "false"})):
        votes = list(administration.votes(visitor.store))
        assert {(v["question"], v["turn"]): v["answer"] for v in votes if v["turn"] is not None} == said
