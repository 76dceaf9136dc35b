"""One person's way: consent, onboarding, units, surveys, the end; and pages that are sent twice or late."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from evenhand.annotation.definition import Answer
from evenhand.annotation.store import (
    AskConsent,
    AskSurvey,
    EndVisit,
    LeaseLost,
    ShowCorrection,
    ShowItem,
    Store,
    UnitDone,
    administration,
    begin_study,
    sittings,
)
from evenhand.schema import UsageError
from tests.annotation.store.persons import START, WHO, check, come, pair, rows, show, study, work

HOUR = timedelta(hours=1)
A = {"who": Answer("a")}


@pytest.fixture
def begin(new_address: Callable[[], str]) -> Callable[..., Store]:
    stores = []

    def begin(*arguments: object, **fields: object) -> Store:
        stores.append(begin_study(new_address(), study(*arguments, **fields)))
        return stores[-1]

    yield begin
    for store in stores:
        store.close()


def alone(**more: object) -> dict:
    return {"annotations_per_item": 1, "items_per_unit": 2, "units_per_person": 1} | more


def test_consent_comes_first_and_is_given_once(begin: Callable[..., Store]) -> None:
    store = begin()
    person = come(store, agreed=False)
    assert sittings.step(store, person, START) == AskConsent()
    sittings.agree(store, person, START)
    sittings.agree(store, person, START + HOUR)
    assert rows(store, "SELECT count(*) AS n FROM persons WHERE agreed_at IS NOT NULL")[0].n == 1
    assert isinstance(sittings.step(store, person, START), ShowItem)


def test_a_reload_shows_the_same(begin: Callable[..., Store]) -> None:
    store = begin(assignment={"shuffle_questions": True}, questions=[WHO, WHO | {"id": "again"}])
    person = come(store)
    first = show(store, person)
    assert first.until == START + timedelta(minutes=30)
    assert (first.position, first.length, first.onboarding) == (0, 4, False)
    assert {*first.questions} == {"who", "again"}
    again = show(store, person, START + timedelta(minutes=10))
    assert again == type(first)(**{**vars(first), "until": START + timedelta(minutes=40)})


def test_an_answer_sent_twice_counts_once_and_the_first_stays(begin: Callable[..., Store]) -> None:
    store = begin()
    person = come(store)
    first = show(store, person)
    sittings.answer(store, person, first.presentation, A, START + timedelta(seconds=7))
    sittings.answer(store, person, first.presentation, {"who": Answer("b")}, START + HOUR)
    (row,) = administration.votes(store)
    assert (row["answer"], row["seconds"]) == ("a", 7.0)
    assert show(store, person).position == 1
    check(store)


def test_nobody_answers_for_another(begin: Callable[..., Store]) -> None:
    store = begin()
    one, other = come(store), come(store)
    shown = show(store, one)
    show(store, other)
    for foreign in (shown.presentation, "x", "", "' OR 1=1 --", "\x00", "\ud800"):
        with pytest.raises(UsageError):
            sittings.answer(store, other, foreign, A, START)
    with pytest.raises(UsageError, match="no question 'colour'"):
        sittings.answer(store, one, shown.presentation, {"colour": Answer("a")}, START)
    with pytest.raises(UsageError, match="does not take part"):
        sittings.step(store, "p-nobody", START)
    assert not list(administration.votes(store))


def test_a_late_answer_counts_while_nobody_took_the_place(begin: Callable[..., Store]) -> None:
    store = begin(2, assignment=alone())
    person = come(store)
    shown = show(store, person)
    sittings.answer(store, person, shown.presentation, A, START + 5 * HOUR)
    check(store)
    assert [row["item"] for row in administration.votes(store)] == [shown.item.id]


def test_what_ran_out_goes_to_others_and_late_answers_are_refused(begin: Callable[..., Store]) -> None:
    store = begin(2, assignment=alone())
    late, other = come(store), come(store)
    shown = show(store, late)
    assert sittings.step(store, other, START + timedelta(minutes=29)) == EndVisit("all given out")
    taken = show(store, other, START + timedelta(minutes=31))
    with pytest.raises(LeaseLost):
        sittings.answer(store, late, shown.presentation, A, START + timedelta(minutes=32))
    check(store)
    # nothing is left of the first unit; the other's is given out
    assert sittings.step(store, late, START + timedelta(minutes=33)) == EndVisit("all given out")
    sittings.answer(store, other, taken.presentation, A, START + timedelta(minutes=34))
    work(store, other, START + timedelta(minutes=35))
    assert sittings.step(store, late, START + timedelta(minutes=36)) == EndVisit("nothing left")
    assert Counter(row["person"] for row in administration.votes(store)) == {other: 2}
    check(store)


def test_being_there_keeps_a_lease(begin: Callable[..., Store]) -> None:
    store = begin(2, assignment=alone())
    person, other = come(store), come(store)
    for number in range(6):
        show(store, person, START + number * timedelta(minutes=25))
        assert sittings.step(store, other, START + number * timedelta(minutes=25)) == EndVisit(
            "all given out"
        )


def test_a_unit_is_topped_up_for_what_it_lost(begin: Callable[..., Store]) -> None:
    store = begin(4, assignment=alone(items_per_unit=4), hidden={"duplicates_per_unit": 2})
    late = come(store)
    shown = show(store, late)
    sittings.answer(store, late, shown.presentation, A, START)
    other = come(store)
    work(store, other, START + HOUR, most=2)  # takes the other three, answers one
    there = sittings.step(store, late, START + HOUR + timedelta(minutes=10))
    # nothing is free: what is left of the unit is the answer given, and its repetition if it was drawn
    assert isinstance(there, UnitDone) or (isinstance(there, ShowItem) and there.item.id == shown.item.id)
    late_again = come(store)
    assert sittings.step(store, late_again, START + HOUR + timedelta(minutes=11)) == EndVisit("all given out")
    check(store)

    store = begin(8, assignment=alone(items_per_unit=4))
    late = come(store)
    shown = show(store, late)
    sittings.answer(store, late, shown.presentation, A, START)
    others = [come(store), come(store)]
    work(store, others[0], START + HOUR)
    show(store, others[1], START + HOUR)  # all that is left: the three
    sittings.withdraw(store, others[0], START + HOUR)  # whose four places open again
    assert isinstance(work(store, late, START + HOUR), UnitDone)
    mine = [row["item"] for row in administration.votes(store, person=late)]
    assert len(mine) == len({*mine}) == 4
    check(store)


def onboarding(*answers: str, **more: object) -> dict:
    items = [
        pair(f"on{n}", expected={"who": answer}, explanation=f"It is {answer}.")
        for n, answer in enumerate(answers)
    ]
    return {"items": items} | more


def test_onboarding_comes_first_explains_and_is_passed(begin: Callable[..., Store]) -> None:
    store = begin(onboarding=onboarding("a", "b"), rules=[{"rule": "onboarding_below", "mark": 0.5}])
    person = come(store)
    first = show(store, person)
    assert (first.item.id, first.onboarding, first.position, first.length) == ("on0", True, 0, 2)
    sittings.answer(store, person, first.presentation, A, START)
    second = show(store, person)
    sittings.answer(store, person, second.presentation, A, START)
    there = sittings.step(store, person, START)
    assert there == ShowCorrection(second, ("who",))
    assert sittings.step(store, person, START) == there
    sittings.read_correction(store, person, second.presentation, START)
    sittings.read_correction(store, person, second.presentation, START)
    assert not show(store, person).onboarding
    assert [row["correct"] for row in administration.votes(store)] == [True, False]
    assert {row["role"] for row in administration.votes(store)} == {"onboarding"}


def test_who_fails_onboarding_may_try_as_often_as_the_study_says(begin: Callable[..., Store]) -> None:
    store = begin(onboarding=onboarding("b", attempts=2), rules=[{"rule": "onboarding_below"}])
    failing, learning = come(store), come(store)
    assert work(store, failing, judge=lambda item, question: "a") == EndVisit("not passed")
    assert len(list(administration.votes(store, person=failing))) == 2
    shown = show(store, learning)
    sittings.answer(store, learning, shown.presentation, A, START)
    sittings.read_correction(store, learning, shown.presentation, START)
    shown = show(store, learning)
    assert shown.onboarding
    sittings.answer(store, learning, shown.presentation, {"who": Answer("b")}, START + HOUR)
    assert not show(store, learning, START + HOUR).onboarding
    assert administration.progress(store, START).persons_by_state["not passed"] == 1


def test_hidden_items_look_like_the_others(begin: Callable[..., Store]) -> None:
    gold = [pair(f"g{n}", expected={"who": "a"}) for n in range(3)]
    store = begin(24, hidden={"gold": gold, "gold_per_unit": 1, "duplicates_per_unit": 1})
    person = come(store)
    work(store, person)
    answered = list(administration.votes(store))
    roles = Counter(row["role"] for row in answered)
    assert roles == {"real": 8, "gold": 2, "duplicate": 2}
    assert len({row["item"] for row in answered if row["role"] == "gold"}) == 2
    by_unit: dict[str, list] = {}
    for row in answered:
        by_unit.setdefault(row["unit"], []).append(row)
    for unit in by_unit.values():
        assert [row["position"] for row in unit] == list(range(6))
        (again,) = [row for row in unit if row["role"] == "duplicate"]
        (first,) = [row for row in unit if row["role"] == "real" and row["item"] == again["item"]]
        assert again["position"] > first["position"]
        assert unit[0]["role"] == "real"


def test_survey_blocks_follow_a_unit(begin: Callable[..., Store]) -> None:
    survey = [
        {"kind": "scale", "id": "sdo", "use": "sdo7", "draw": 7},
        {"kind": "about", "id": "you", "questions": [{"kind": "text", "id": "age", "text": "Age?"}]},
    ]
    store = begin(24, assignment={"units_per_person": 4}, survey=survey)
    person = come(store)
    asked, blocks, units = [], [], 0
    while not isinstance(there := sittings.step(store, person, START), EndVisit):
        if isinstance(there, AskSurvey):
            assert sittings.step(store, person, START) == there
            blocks.append(there.block.id)
            names = [statement.id for statement in there.statements] or ["age"]
            asked += names
            said = {name: Answer("5") for name in names[1:]} | {names[0]: Answer(None)}
            for again in (said, {name: Answer("1") for name in names}):
                sittings.answer_survey(store, person, there.survey, again, START)
        elif isinstance(there, UnitDone):
            units += 1
            assert there.more == (units < 4)
            sittings.next_unit(store, person, START)
        else:
            sittings.answer(store, person, there.presentation, A, START)
    assert there == EndVisit("enough")
    assert blocks == ["sdo", "you", "sdo", "sdo"]  # 7 + 7 + 2 statements, and none after that
    assert len(asked) == len({*asked}) == 17
    survey_rows = [row for row in administration.votes(store) if row["role"] == "survey"]
    assert [row["question"] for row in survey_rows] == asked
    assert {(row["answer"], row["value"]) for row in survey_rows} == {("5", 5.0), (None, None)}
    with pytest.raises(UsageError):
        sittings.answer_survey(store, come(store), "x", {}, START)


def test_each_unit_has_its_code_and_the_last_stays(begin: Callable[..., Store]) -> None:
    store = begin(completion={"per_unit_codes": True})
    person, codes = come(store), []
    for _ in range(2):
        while isinstance(there := sittings.step(store, person, START), ShowItem):
            sittings.answer(store, person, there.presentation, A, START)
        assert isinstance(there, UnitDone)
        codes.append(there.code)
        assert sittings.step(store, person, START) == there
        sittings.next_unit(store, person, START)
        sittings.next_unit(store, person, START)
    assert len({*codes}) == 2
    assert sittings.step(store, person, START) == EndVisit("enough", codes[1])
    store = begin(completion={"code": "C0FFEE"})
    work(store, person := come(store))
    assert administration.persons(store)[1][0].code is None


def test_a_blocking_rule_lets_the_unit_end_and_frees_its_places(begin: Callable[..., Store]) -> None:
    gold = [pair("g", expected={"who": "b"})]
    store = begin(
        12,
        hidden={"gold": gold, "gold_per_unit": 1},
        rules=[{"rule": "gold_below", "least": 1}],
        completion={"per_unit_codes": True},
    )
    person = come(store)
    while isinstance(there := sittings.step(store, person, START), ShowItem):
        sittings.answer(store, person, there.presentation, A, START)
    assert isinstance(there, UnitDone) and there.code is not None and not there.more
    sittings.next_unit(store, person, START)
    assert sittings.step(store, person, START) == EndVisit("blocked", there.code)
    progress = administration.progress(store, START)
    assert (progress.votes, progress.leased) == (0, 0)
    (row,) = administration.persons(store)[1]
    assert (row.state, row.excluded, row.votes) == ("blocked", ("gold_below",), 4)
    assert len(list(administration.votes(store))) == 5
    check(store)
    # the admin knows better, and rules leave the person alone from now on
    administration.block(store, person, False, "me", START)
    assert administration.progress(store, START).votes == 4
    assert isinstance(work(store, person), UnitDone)
    assert administration.progress(store, START).votes == 8
    check(store)


def test_marks_are_rows_of_their_own(begin: Callable[..., Store]) -> None:
    marks = {"kind": "marks", "id": "rude", "text": "Rude?", "options": [{"id": "yes", "label": "Rude"}]}
    item = {"id": "i", "conversation": pair("x")["pair"][0]}
    store = begin(
        [item], questions=[marks, {"kind": "text", "id": "else", "text": "Else?", "required": False}]
    )
    for said in ({1: "yes", 0: "yes"}, None):
        person = come(store)
        shown = show(store, person)
        sittings.answer(store, person, shown.presentation, {"rude": Answer(None, marks=said)}, START)
    found = [
        (row["question"], row["turn"], row["answer"], row["value"]) for row in administration.votes(store)
    ]
    assert found == [
        ("rude", 0, "yes", 1.0),
        ("rude", 1, "yes", 1.0),
        ("else", None, None, None),
        ("rude", None, "none", None),
        ("else", None, None, None),
    ]


def test_paused_means_no_new_unit(begin: Callable[..., Store]) -> None:
    store = begin()
    inside, outside = come(store), come(store)
    show(store, inside)
    administration.pause(store, True, "me", START)
    assert sittings.step(store, outside, START) == EndVisit("paused")
    assert isinstance(work(store, inside), UnitDone)
    assert administration.progress(store, START).paused
    administration.pause(store, False, "me", START)
    assert isinstance(sittings.step(store, outside, START), ShowItem)


def test_nobody_goes_through_onboarding_for_nothing(begin: Callable[..., Store]) -> None:
    store = begin(1, assignment=alone(items_per_unit=1), onboarding=onboarding("a"))
    work(store, come(store))
    assert sittings.step(store, come(store), START) == EndVisit("nothing left")
