"""Delete an annotator from the database."""

from sqlalchemy import delete, insert, or_, select, update

from evenhand.annotation.store import slots
from evenhand.annotation.store.store import Store
from evenhand.annotation.store.tables import (
    audit,
    kin,
    persons,
    presentations,
    sessions,
    studies,
    survey_answers,
    surveys,
    units,
    votes,
)
from evenhand.annotation.store.visits import Visit, lock_study


def take_out(at: Visit, actor: str) -> None:
    """Delete everything of an annotator, in the open transaction, and free their places."""
    lock_study(at)
    slots.give_back(at)
    connection, key = at.connection, at.person.id
    shown = select(presentations.c.id).where(presentations.c.person_id == key)
    asked = select(surveys.c.id).where(surveys.c.person_id == key)
    for gone in (
        delete(votes).where(votes.c.presentation_id.in_(shown)),
        delete(survey_answers).where(survey_answers.c.survey_id.in_(asked)),
        delete(surveys).where(surveys.c.person_id == key),
        delete(presentations).where(presentations.c.person_id == key),
        delete(units).where(units.c.person_id == key),
        delete(kin).where(or_(kin.c.person_id == key, kin.c.other_id == key)),
        delete(sessions).where(
            sessions.c.study_id == at.store.key,
            sessions.c.kind == "person",
            sessions.c.subject == at.person.pseudonym,
        ),
        delete(persons).where(persons.c.id == key),
    ):
        connection.execute(gone)
    connection.execute(
        update(studies).where(studies.c.id == at.store.key).values(withdrawn=studies.c.withdrawn + 1)
    )
    connection.execute(
        insert(audit).values(
            study_id=at.store.key, at=at.now, actor=actor, action="withdraw", subject="", detail=""
        )
    )


def empty_journal(store: Store) -> None:
    """Empty the journal of an SQLite file, which contains old pages until then.

    If another process is reading, this is retried after the next read or write, when the store is closed, and when the
    study is started again.
    """
    if (journal := store.transactions.journal) is not None:
        journal.empty(patience=1.0)
