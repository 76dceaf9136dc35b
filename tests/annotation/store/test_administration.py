"""What the admin sees and does: counts, persons, reviews, blocks, accounts, the log, exports and copies."""

import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import event, exc, text

from evenhand.annotation.definition import Answer
from evenhand.annotation.store import (
    EndVisit,
    LeaseLost,
    ShowItem,
    Store,
    administration,
    begin_study,
    open_store,
    people,
    sittings,
)
from evenhand.schema import VOTES, UsageError, WriteError
from tests.annotation.store.persons import START, WHO, check, come, pair, rows, show, study, work

HOUR = timedelta(hours=1)


@pytest.fixture
def store(store_address: str) -> Store:
    store = begin_study(store_address, study(8, assignment={"annotations_per_item": 2}))
    yield store
    store.close()


def test_progress_counts(store: Store) -> None:
    none = administration.progress(store, START)
    assert (none.items, none.votes_wanted, none.votes, none.leased, none.persons) == (8, 16, 0, 0, 0)
    assert none.seconds_median is None
    person, other = come(store), come(store)
    come(store, agreed=False)
    for seconds in (3, 9, 5, 4):
        shown = show(store, person)
        sittings.answer(
            store, person, shown.presentation, {"who": Answer("a")}, START + timedelta(seconds=seconds)
        )
    show(store, other)
    found = administration.progress(store, START)
    assert (found.votes, found.leased, found.units_complete, found.persons) == (4, 4, 1, 3)
    assert found.seconds_median == 4.5
    assert {state: n for state, n in found.persons_by_state.items() if n} == {"invited": 1, "working": 2}
    work(store, person)
    work(store, other)
    sittings.withdraw(store, other, START)
    done = administration.progress(store, START)
    assert (done.items_complete, done.votes, done.persons_by_state["withdrawn"]) == (0, 8, 1)


def test_persons_are_listed_searched_and_paged(store_address: str) -> None:
    store = begin_study(store_address, study(40, completion={"per_unit_codes": True}))
    names = [come(store, START + n * HOUR) for n in range(7)]
    last = work(store, names[2])
    administration.review(store, names[4], "accepted", "100% fine_", "me", START)
    number, page = administration.persons(store, offset=2, limit=3)
    assert (number, [row.person for row in page]) == (7, names[4:1:-1])
    assert page[0].came == START + 4 * HOUR
    assert (page[2].units, page[2].votes, page[2].code, page[2].state) == (2, 8, last.code, "done")
    for search, found in ((last.code, 2), (names[5][2:], 5), ("100% fine_", 4), ("FINE", 4)):
        assert [row.person for row in administration.persons(store, search=search)[1]] == [names[found]]
    assert administration.persons(store, search="_%")[0] == 0
    assert administration.persons(store, state="agreed")[0] == 6
    store.close()


def test_rejected_votes_do_not_count_and_come_back_where_there_is_room(store: Store) -> None:
    one, two = come(store), come(store)
    work(store, one)
    work(store, two)
    assert administration.progress(store, START).items_complete == 8
    administration.review(store, one, "rejected", "too fast", "ada", START)
    administration.review(store, one, "rejected", "too fast", "ada", START)
    assert administration.progress(store, START).votes == 8
    sittings.next_unit(store, one, START)
    assert sittings.step(store, one, START) == EndVisit("blocked")
    assert {row["review"] for row in administration.votes(store, person=one)} == {"rejected"}
    check(store)
    three = come(store)
    first = show(store, three)
    sittings.answer(store, three, first.presentation, {"who": Answer("a")}, START)
    administration.review(store, one, None, "", "ada", START)
    check(store)
    # four of three's places were taken by then; the rest counts again, where the sides allow it
    kept = {row["item"] for row in administration.votes(store, person=one) if row["excluded"] is None}
    gone = {
        row["item"] for row in administration.votes(store, person=one) if row["excluded"] == "place_taken"
    }
    assert len(kept) == 4 and len(gone) == 4 and first.item.id in gone
    assert {row["action"] for row in administration.audit_log(store)} == {"review: rejected", "review: none"}


def test_a_blocked_person_ends_the_unit_and_gets_no_other(store: Store) -> None:
    person = come(store)
    shown = show(store, person)
    sittings.answer(store, person, shown.presentation, {"who": Answer("a")}, START)
    administration.block(store, person, True, "ada", START)
    assert administration.progress(store, START).leased == administration.progress(store, START).votes == 0
    assert isinstance(sittings.step(store, person, START), ShowItem)
    assert work(store, person).more is False
    sittings.next_unit(store, person, START)
    assert sittings.step(store, person, START) == EndVisit("blocked")
    assert {row["excluded"] for row in administration.votes(store)} == {"blocked"}
    check(store)
    administration.block(store, person, False, "ada", START)
    assert administration.progress(store, START).votes == 4
    assert {row["excluded"] for row in administration.votes(store)} == {None}
    assert isinstance(sittings.step(store, person, START), ShowItem)
    check(store)


def test_the_audit_log_only_grows(store: Store) -> None:
    administration.record(store, "ada", "login", "ada", START, "from here")
    administration.pause(store, True, "ada", START + HOUR)
    newest, oldest = administration.audit_log(store)
    assert oldest == {"at": START, "actor": "ada", "action": "login", "subject": "ada", "detail": "from here"}
    assert newest["action"] == "pause"
    assert list(administration.audit_log(store, offset=1, limit=1)) == [oldest]
    for change in ("UPDATE audit SET actor = 'x'", "DELETE FROM audit", "TRUNCATE audit"):
        if "TRUNCATE" in change and store.engine.dialect.name == "sqlite":
            continue
        with pytest.raises(exc.DBAPIError, match="stay as they are"), store.engine.begin() as connection:
            connection.execute(text(change))
    assert len(administration.audit_log(store)) == 2


def test_a_new_password_ends_the_sessions(store: Store) -> None:
    assert administration.account(store, "ada") is None
    administration.set_account(store, "ada", "hash-1")
    token = people.open_session(store, "admin", "ada", START, HOUR)
    other = people.open_session(store, "admin", "bob", START, HOUR)
    administration.set_account(store, "ada", "hash-2")
    assert administration.account(store, "ada") == "hash-2"
    assert people.session(store, token, START) is None
    assert people.session(store, other, START) == ("admin", "bob")


def test_votes_are_rows_of_the_export(store_address: str) -> None:
    likert = {
        "kind": "likert",
        "id": "rude",
        "text": "How rude?",
        "labels": ["Not", "Very"],
        "reason": {"required": False},
    }
    choice = {
        "kind": "choice",
        "id": "regard",
        "text": "Regard?",
        "options": [{"id": "bad", "label": "Bad", "value": -1}, {"id": "other", "label": "Other"}],
    }
    items = [
        {
            "id": "t",
            "text": "Wörds\n\U0001f600",
            "context": "Before",
            "model": "m",
            "groups": {"axis": "ability", "n": 2},
        },
        {
            "id": "c",
            "conversation": pair("x")["pair"][0],
            "judgements": {"k": {"label": "bad", "score": 0.5}},
        },
    ]
    store = begin_study(
        store_address, study(items, questions=[likert, choice], assignment={"annotations_per_item": 1})
    )
    person = come(store)
    for said in ("bad", "other"):
        shown = show(store, person)
        answers = {"rude": Answer("6", reason="Why not"), "regard": Answer(said)}
        sittings.answer(store, person, shown.presentation, answers, START + timedelta(milliseconds=2500))
    frame = pl.DataFrame(list(administration.votes(store)), schema=dict(VOTES), orient="row")
    assert frame["value"].to_list() == [6.0, -1.0, 6.0, None]
    assert frame["measurement"].to_list() == ["interval", "nominal"] * 2
    assert frame["seconds"].to_list() == [2.5] * 4
    assert frame["shown_left"].null_count() == 4
    assert frame["reason"].to_list() == ["Why not", None] * 2
    text_rows, other_rows = (frame.filter(pl.col("item") == name) for name in "tc")
    assert (
        text_rows["text"][0] == "Wörds\n\U0001f600"
        and text_rows["groups"][0] == '{"axis": "ability", "n": 2.0}'
    )
    assert text_rows["context"][0] == "Before" and text_rows["model"][0] == "m"
    assert other_rows["conversation"][0] == "a-x" and other_rows["model"][0] == "model-a"
    assert other_rows["judgements"][0] == '{"k": {"label": "bad", "score": 0.5}}'
    with pytest.raises(UsageError, match="no such person"):
        list(administration.votes(store, person="p-nobody"))
    store.close()


def test_a_pair_says_who_stood_where(store: Store) -> None:
    work(store, come(store), most=1)
    (row,) = administration.votes(store)
    name = row["item"]
    assert (row["a"], row["b"]) == (f"a-{name}", f"b-{name}")
    assert (row["model_a"], row["model_b"]) == ("model-a", "model-b")
    assert row["shown_left"] in ("a", "b") and row["kind"] == "pair" and row["answer"] == "a"


def test_a_copy_is_whole_although_the_database_is_used(
    tmp_path: Path, new_address: Callable[[], str]
) -> None:
    address = new_address()
    store = begin_study(address, study(8, questions=[WHO]))
    if address.startswith("postgresql"):
        with pytest.raises(UsageError, match="pg_dump"):
            administration.backup(store, str(tmp_path / "copy.db"))
        store.close()
        return
    person = come(store)
    shown = show(store, person)
    with store.engine.begin() as reader:  # somebody reads
        reader.execute(text("SELECT * FROM items")).first()
        sittings.answer(store, person, shown.presentation, {"who": Answer("a")}, START)
        administration.backup(store, str(tmp_path / "copy.db"))
    copy = open_store(tmp_path / "copy.db")
    assert len(list(administration.votes(copy))) == 1
    assert show(copy, person).position == 1
    copy.close()
    with sqlite3.connect(tmp_path / "copy.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="itself"):
        administration.backup(store, address)
    with pytest.raises(WriteError):
        administration.backup(store, str(Path(address) / "below" / "a file"))
    assert [row.n for row in rows(store, "SELECT count(*) AS n FROM votes")] == [1]
    store.close()


@pytest.mark.parametrize("seed", range(6))
def test_votes_that_come_back_leave_the_sides_balanced(tmp_path: Path, seed: int) -> None:
    """Where the same conversation stood on the left for who came after, one of the two votes cannot count."""
    store = begin_study(tmp_path / "study.db", study(1, seed=seed, assignment={"annotations_per_item": 2}))
    first, second = come(store), come(store)
    work(store, first)
    administration.review(store, first, "rejected", "", "me", START)
    work(store, second)
    administration.review(store, first, None, "", "me", START)
    sides = [row["shown_left"] for row in administration.votes(store)]
    excluded = [row["excluded"] for row in administration.votes(store)]
    assert excluded == ([None, None] if sides[0] != sides[1] else ["place_taken", None])
    work(store, come(store))
    check(store)
    assert administration.progress(store, START).votes == 2
    store.close()


def test_who_comes_back_has_lost_what_others_took(store_address: str) -> None:
    alone = {"annotations_per_item": 1, "items_per_unit": 2, "units_per_person": 1}
    store = begin_study(store_address, study(2, assignment=alone))
    person, other = come(store), come(store)
    shown = show(store, person)
    administration.block(store, person, True, "me", START)
    show(store, other)
    administration.block(store, person, False, "me", START)
    check(store)
    with pytest.raises(LeaseLost):
        sittings.answer(store, person, shown.presentation, {"who": Answer("a")}, START)
    assert sittings.step(store, person, START) == EndVisit("all given out")
    check(store)
    store.close()


def test_what_somebody_said_is_read_at_once_however_many_items(store: Store) -> None:
    """The end of a set reads all that a person said; it must not take longer with each item by a query of its own."""
    brief, long = come(store), come(store)
    sittings.answer(store, brief, show(store, brief).presentation, {"who": Answer("a")}, START)
    work(store, long)
    asked: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *of: asked.append(of[2]))
    queries = []
    for person, items in ((brief, 1), (long, 8)):
        asked.clear()
        assert len({row["item"] for row in administration.votes(store, person=person)}) == items
        queries.append(len(asked))
    assert queries[0] == queries[1]


def test_items_added_from_elsewhere_are_in_the_export(store_address: str) -> None:
    opened = begin_study(store_address, study(1))
    adding = begin_study(store_address, study(2))
    person = come(opened)
    work(opened, person)
    sittings.next_unit(opened, person, START)
    said = {row["item"]: row["model_a"] for row in administration.votes(opened)}
    assert said == {row["item"]: row["model_a"] for row in administration.votes(adding)} and len(said) == 2
    opened.close()
    adding.close()
