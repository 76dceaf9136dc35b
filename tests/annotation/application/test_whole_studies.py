"""People go through whole studies by plain forms."""

import polars as pl
import pytest

from evenhand.annotation.analysis.conduct import analyse_export
from evenhand.annotation.analysis.options import AnalysisOptions
from evenhand.annotation.definition import SDO7
from evenhand.annotation.exports import read_export, write_export
from evenhand.annotation.store import administration, people, sittings
from tests.annotation.application.browsing import Visitor
from tests.annotation.application.studies import marks_study, pair_study, text_study

PAIR = {"engaging": "left", "engaging-reason": "It is livelier.", "human": "tie"}


def votes(visitor):
    return list(administration.votes(visitor.store))


def test_a_study_of_pairs_from_the_link_to_the_code(stored):
    somebody = Visitor(stored(pair_study()))
    page = somebody.come()
    assert (page.status, page.h1) == (200, "Before you begin")
    assert "Some of it may be rude." in page.text and "pair-0" not in page.source
    page = somebody.send()
    assert page.h1 == "Practice 1 of 1" and ("details", {"class": "instructions", "open": None}) in page.tags
    left = votes_left_side(somebody)
    page = somebody.send(PAIR | {"engaging": "right" if left == "a" else "left"})  # wrong
    assert page.h1 == "About your last answer" and "The first one answers." in page.text
    page = somebody.send()
    for number in (1, 2):
        assert page.h1 == f"{number} of 2"
        assert ("details", {"class": "instructions"} | ({"open": None} if number == 1 else {})) in page.tags
        assert len(page.texts["conversation"]) == 2 and len(page.texts["judged"]) == 4
        assert (
            set(page.texts["bdi"]) == {"person", "Speaker 1", "Speaker 2"} and "model-of" not in page.source
        )
        page = somebody.send(PAIR)
    assert page.h1 == "A few statements"
    asked = [name for name in page.form.offered if name != "skip_all"]
    assert len(asked) == 2 and set(asked) <= {statement.id for statement in SDO7}
    page = somebody.send({asked[0]: "7"})
    assert page.h1 == "About you"
    page = somebody.send({"skip_all": "1"})
    assert page.h1 == "This set is complete" and "https://elsewhere.example/back" in page.links
    code = page.texts["strong"][0]
    assert len(code) >= 6
    page = somebody.send()
    assert page.h1 == "1 of 2"
    somebody.send(PAIR)
    page = somebody.send(PAIR)
    while page.h1 in ("A few statements", "About you"):
        page = somebody.send()
    assert page.h1 == "This set is complete" and not page.forms
    real = [vote for vote in votes(somebody) if vote["role"] == "real"]
    assert len(real) == 8 and {vote["reason"] for vote in real} == {"It is livelier.", None}
    for vote in real:
        if vote["question"] == "engaging":
            assert vote["answer"] == vote["shown_left"]
        else:
            assert vote["answer"] == "tie"


def votes_left_side(visitor):
    """Which conversation of the practice pair stands on the left, as the database drew it."""
    person = administration.persons(visitor.store)[1][0].person
    return sittings.step(visitor.store, person, visitor.clock()).left


def test_texts_with_questions_of_every_kind(stored):
    somebody = Visitor(stored(text_study(["She is a nurse.", "He is a nurse."])))
    somebody.come()
    page = somebody.send()
    assert page.h1 == "1 of 2" and "What stood before" in page.text
    page = somebody.send({"regard": "positive", "regard-reason": "no", "sure": "101", "own": "  mine  "})
    assert page.status == 422 and page.h1 == "1 of 2"
    assert page.texts["title"][0].startswith("Something is missing: ")
    wrong = [text for text in page.texts["wrong"]]
    assert len(wrong) == 2
    links = [link for link in page.links if link.startswith("#q.")]
    assert links == ["#q.regard-reason", "#q.sure"]
    ids = {said.get("id") for _, said in page.tags}
    assert {link[1:] for link in links} <= ids
    assert dict(page.form.fields)["regard-reason"] == "no"
    assert dict(page.form.fields)["own"] == "  mine  "
    assert dict(page.form.fields)["regard"] == "positive"
    page = somebody.send({"regard-reason": "no doubt", "sure": "100"})
    assert page.h1 == "2 of 2"
    page = somebody.send({"regard": "negative", "regard-reason": "so it says", "sure": "0", "fluent": "4"})
    assert page.h1 == "This set is complete"
    said = {(vote["position"], vote["question"]): vote["answer"] for vote in votes(somebody)}
    assert said[0, "sure"] == "100" and said[0, "fluent"] is None and said[0, "own"] == "mine"
    assert said[1, "regard"] == "negative" and said[1, "fluent"] == "4"


def test_marks_stand_beside_the_judged_turns_only(stored):
    somebody = Visitor(stored(marks_study()))
    somebody.come()
    page = somebody.send()
    assert set(page.form.offered) == {"odd-turn-1", "odd-turn-3", "dull-turn-1", "dull-turn-3"}
    somebody.send({"odd-turn-3": "rude", "dull-turn-1": "yes"})
    marks = {(v["question"], v["turn"]): v["answer"] for v in votes(somebody) if v["turn"] is not None}
    assert marks == {("odd", 3): "rude", ("dull", 1): "yes"}


def test_a_turn_gets_several_marks_which_are_rows_of_their_own(stored, tmp_path):
    options = [{"id": name, "label": name.title()} for name in ("rude", "false", "dull")]
    asked = {"kind": "marks", "id": "odd", "text": "Mark what is odd.", "options": options, "several": True}
    somebody = Visitor(stored(marks_study(questions=[asked])))
    somebody.come()
    page = somebody.send()
    assert page.form.offered == {f"odd-turn-{turn}": ["rude", "false", "dull"] for turn in (1, 3)}
    marked = [("odd-turn-1", "rude"), ("odd-turn-1", "dull"), ("odd-turn-3", "dull")]
    twice = somebody.post(page.form.action or page.url, [*page.form.fields, *marked, marked[0]])
    assert (
        twice.status == 422 and [field for field in twice.form.fields if field[0] in dict(marked)] == marked
    )
    somebody.post(page.form.action or page.url, [*page.form.fields, *marked])
    exported = read_export(write_export(somebody.store, tmp_path / "votes.jsonl"))
    rows = exported.votes.filter(measurement="marks").select("turn", "answer").sort("turn", "answer").rows()
    assert rows == [(1, "dull"), (1, "rude"), (3, "dull")]
    table = analyse_export(exported, AnalysisOptions()).tables.marks.filter(pl.col("turn").is_null())
    assert dict(table.select("option", "n_marked").rows()) == {"dull": 1, "rude": 1}


def test_a_personal_link_leads_back_to_the_same_person_in_another_browser(stored):
    somebody = Visitor(stored(pair_study()))
    invite = people.make_invites(somebody.store, 1, somebody.clock())[0].id
    somebody.come(invite)
    somebody.send()
    place = dict(somebody.page.form.fields)["presentation"]
    elsewhere = somebody.another()
    elsewhere.come(invite)
    assert dict(elsewhere.page.form.fields)["presentation"] == place
    assert administration.progress(somebody.store, somebody.clock()).persons == 1


def test_a_shared_link_makes_one_person_a_browser_and_a_name_from_elsewhere_one_everywhere(stored):
    somebody = Visitor(stored(pair_study()))
    invite = people.make_invites(somebody.store, 1, somebody.clock(), uses=None)[0].id
    count = lambda: administration.progress(somebody.store, somebody.clock()).persons  # noqa: E731
    somebody.come(invite)
    page = somebody.open(somebody.link)
    assert "You have already started" in page.text
    twice = page.form.fields
    somebody.send()
    somebody.post(somebody.link, twice)  # the button, pressed again
    assert count() == 2
    for _ in range(2):
        somebody.another().come(invite, "?PROLIFIC_PID=5f0c&STUDY_ID=x")
    assert count() == 3
    somebody.another().come(invite)
    assert count() == 4


def test_a_preview_and_a_look_at_the_link_use_nothing_up(stored):
    somebody = Visitor(stored(pair_study()))
    invite = people.make_invites(somebody.store, 1, somebody.clock())[0].id
    path = somebody.link_of(invite)
    for _ in range(3):
        assert somebody.client.get(path).status_code == 200
        assert somebody.client.head(path).status_code == 200
    page = somebody.open(path + "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&workerId=w")
    assert page.h1 == "This is a preview" and not page.forms
    assert people.invites(somebody.store)[0].used == 0


def test_stopping_and_coming_back(stored):
    somebody = Visitor(stored(pair_study()))
    somebody.come()
    link = somebody.link
    somebody.send()
    somebody.open("/study/leave")
    page = somebody.send()
    assert page.h1 == "You have stopped for now" and not dict(somebody.client.cookies)
    assert somebody.open("/study").status == 403
    somebody.open(link)
    assert somebody.send().h1 == "Practice 1 of 1"


def test_withdrawing_deletes_everything_and_closes_the_link(stored):
    somebody = Visitor(stored(pair_study()))
    somebody.come()
    link = somebody.link
    somebody.send()
    somebody.send(PAIR)
    assert votes(somebody)
    assert "This deletes everything" in somebody.open("/study/withdraw").text and votes(somebody)
    assert somebody.send().h1 == "Your answers have been deleted"
    assert not votes(somebody) and administration.persons(somebody.store)[0] == 0
    assert somebody.open("/study").status == 403
    for visitor in (somebody, somebody.another()):  # said before there is a button to press
        page = visitor.open(link)
        assert (page.status, page.h1) == (403, "This link is not valid") and not page.forms
        assert "withdrew" in page.text


def test_what_others_took_over_is_said_kindly(stored):
    study = marks_study(assignment={"annotations_per_item": 1, "items_per_unit": 1, "lease_minutes": 10})
    first = Visitor(stored(study))
    first.come()
    first.send()
    mine = first.page
    second = first.another()
    second.come()
    assert second.send().h1 == "Nothing is free just now"
    first.clock.on(minutes=11)
    assert second.open("/study").h1 == "1 of 1"
    second.send()
    first.page = mine
    page = first.send({"odd-turn-1": "rude"})
    assert page.status == 200 and "The time for the last item had run out" in page.text
    assert page.h1 == "Everything has been judged"


def test_every_way_to_end(stored):
    somebody = Visitor(
        stored(pair_study(rules=[{"rule": "onboarding_below", "mark": 1.0, "action": "block"}]))
    )
    somebody.come()
    somebody.send()
    left = votes_left_side(somebody)
    somebody.send(PAIR | {"engaging": "right" if left == "a" else "left"})
    page = somebody.send()
    assert page.h1 == "Thank you for trying"
    administration.pause(somebody.store, True, "admin", somebody.clock())
    other = somebody.another()
    other.come()
    other.send()
    assert other.page.h1 == "The study is taking a break"
    administration.pause(somebody.store, False, "admin", somebody.clock())
    person = administration.persons(other.store)[1][0].person
    administration.block(other.store, person, True, "admin", other.clock())
    assert other.open("/study").h1 == "You have done your part"


@pytest.mark.parametrize(("language", "page_language"), [("de", "en"), ("en-GB", "en-GB")])
def test_languages_are_named(stored, language, page_language):
    somebody = Visitor(stored(text_study(["Sie ist nett."], language=language)))
    somebody.come()
    page = somebody.send()
    assert page.tags[0] == ("html", {"lang": page_language})
    named = [said.get("lang") for tag, said in page.tags if (tag, said.get("class")) == ("p", "said")]
    assert named == [None, None] if language.startswith("en") else named == ["de", "de"]
