"""Whoever withdraws is gone: from the tables, from the file, from the quotas."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import inspect

from evenhand.annotation.definition import Answer
from evenhand.annotation.store import Store, administration, begin_study, people, sittings
from evenhand.schema import UsageError
from tests.annotation.store.persons import START, WHO, check, come, rows, show, study, work

SECRET = "Sesquipedalian reason"


@pytest.fixture
def store(store_address: str) -> Store:
    survey = [{"kind": "about", "id": "you", "questions": [{"kind": "text", "id": "age", "text": "Age?"}]}]
    question = WHO | {"reason": {"required": False}}
    store = begin_study(
        store_address, study(8, questions=[question], survey=survey, hidden={"duplicates_per_unit": 1})
    )
    yield store
    store.close()


def give_all(store: Store, person: str, *, most: int = 100) -> None:
    for _ in range(most):
        there = sittings.step(store, person, START)
        if hasattr(there, "presentation"):
            said = {"who": Answer("a", reason=SECRET)}
            sittings.answer(store, person, there.presentation, said, START)
        elif hasattr(there, "survey"):
            sittings.answer_survey(store, person, there.survey, {"age": Answer(SECRET)}, START)
        elif getattr(there, "more", False):
            sittings.next_unit(store, person, START)
        else:
            return


def test_nothing_of_a_person_stays(store: Store) -> None:
    leaving, staying = come(store, external="PID-1"), come(store)
    token = people.open_session(store, "person", leaving, START, timedelta(days=1))
    give_all(store, leaving)
    work(store, staying)
    votes = len(list(administration.votes(store, person=staying)))
    sittings.withdraw(store, leaving, START)
    for table in inspect(store.engine).get_table_names():
        held = repr(rows(store, f"SELECT * FROM {table}"))
        assert SECRET not in held and leaving not in held, table
    assert people.session(store, token, START) is None
    with pytest.raises(UsageError):
        sittings.step(store, leaving, START)
    assert {row["person"] for row in administration.votes(store)} == {staying}
    assert len(list(administration.votes(store))) == votes
    (line,) = administration.audit_log(store)
    assert (line["action"], line["actor"], line["subject"], line["detail"]) == ("withdraw", "", "", "")
    assert [invite.used for invite in people.invites(store)] == [1, 1]
    check(store)


def test_places_go_to_others(store: Store) -> None:
    leaving = come(store)
    give_all(store, leaving, most=3)
    before = administration.progress(store, START)
    assert before.votes + before.leased == 4
    sittings.withdraw(store, leaving, START)
    after = administration.progress(store, START)
    assert (after.votes, after.leased, after.persons) == (0, 0, 0)
    while administration.progress(store, START).votes < 24:
        give_all(store, come(store))
    check(store)


def test_the_file_holds_nothing_either(tmp_path: Path, new_address: Callable[[], str]) -> None:
    address = new_address()
    if address.startswith("postgresql"):
        pytest.skip("PostgreSQL overwrites when it vacuums")
    store = begin_study(address, study(4, questions=[WHO | {"reason": {"required": False}}]))
    person = come(store)
    for _ in range(4):
        shown = show(store, person)
        said = {"who": Answer("a", reason=SECRET * 300)}  # longer than a page
        sittings.answer(store, person, shown.presentation, said, START)

    def found() -> bool:
        files = (Path(address + ending) for ending in ("", "-wal", "-journal"))
        return any(SECRET.encode() in file.read_bytes() for file in files if file.exists())

    assert found()
    sittings.withdraw(store, person, START)
    assert not found()
    store.close()
    assert not found()
