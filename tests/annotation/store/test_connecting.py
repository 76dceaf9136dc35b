"""Errors of databases say nothing of what people wrote."""

import traceback
from datetime import timedelta

import pytest
from sqlalchemy import insert, text

from evenhand.annotation.definition import Answer
from evenhand.annotation.store import administration, begin_study, sittings, tables
from tests.annotation.store.persons import START, come, show, study

SECRET = "Sesquipedalian reason"


@pytest.mark.parametrize(
    "values",
    [
        {"presentation_id": None, "question": SECRET, "reason": SECRET},
        {"presentation_id": 987654, "question": SECRET, "answer": SECRET},
        {"id": 10**30, "presentation_id": 1, "question": SECRET},
    ],
)
def test_a_refused_insert_repeats_no_value(
    store_address: str, values: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    store = begin_study(store_address, study(2))
    try:
        with pytest.raises(Exception) as refused:
            store.transactions.write(
                lambda connection: connection.execute(insert(tables.votes).values(**values))
            )
        shown = "".join(traceback.format_exception(refused.value)) + caplog.text
        assert SECRET not in shown
        assert "987654" not in shown
    finally:
        store.close()


def test_what_cannot_be_cast_is_not_repeated(store_address: str) -> None:
    store = begin_study(store_address, study(2))
    statement = text("SELECT CAST(:value AS integer)")
    try:
        if store.engine.dialect.name == "postgresql":
            with pytest.raises(Exception) as refused:
                store.transactions.read(
                    lambda connection: connection.execute(statement, {"value": SECRET}).all()
                )
            assert SECRET not in "".join(traceback.format_exception(refused.value))
    finally:
        store.close()


def test_a_clock_that_is_set_back_leaves_no_seconds(store_address: str) -> None:
    store = begin_study(store_address, study(2))
    person = come(store)
    shown = show(store, person)
    sittings.answer(store, person, shown.presentation, {"who": Answer("a")}, START - timedelta(hours=3))
    shown = show(store, person)
    sittings.answer(store, person, shown.presentation, {"who": Answer("a")}, START + timedelta(seconds=7))
    # by the order of their times the second answer comes last
    assert [row["seconds"] for row in administration.votes(store)] == [None, 7.0]
    store.close()
