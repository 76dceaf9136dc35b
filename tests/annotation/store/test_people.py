"""Invites let in whom they should, externals come back as themselves, tokens are nowhere in the database."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import inspect

from evenhand.annotation.store import EndVisit, InviteRefused, ShowItem, Store, begin_study, people, sittings
from evenhand.schema import UsageError
from tests.annotation.store.persons import START, come, pair, rows, show, study, work

HOUR = timedelta(hours=1)


@pytest.fixture
def store(store_address: str) -> Store:
    store = begin_study(store_address, study(3))
    yield store
    store.close()


def test_an_invite_lets_in_as_many_as_it_says(store: Store) -> None:
    double, many = (people.make_invites(store, 1, START, uses=uses)[0] for uses in (2, None))
    for invite, uses in ((double, 2), (many, 5)):
        assert len({people.arrive(store, invite.id, START) for _ in range(uses)}) == uses
    with pytest.raises(InviteRefused, match="already been used"):
        people.arrive(store, double.id, START)
    assert [(one.uses, one.used) for one in people.invites(store)] == [(2, 2), (None, 5)]


def test_a_personal_link_leads_its_own_person_back(store: Store) -> None:
    mine, yours = people.make_invites(store, 2, START)
    person = people.arrive(store, mine.id, START)
    assert people.arrive(store, mine.id, START + HOUR) == person
    assert people.arrive(store, yours.id, START) != person
    assert [(one.uses, one.used) for one in people.invites(store)] == [(1, 1), (1, 1)]
    people.revoke(store, mine.id)
    with pytest.raises(InviteRefused, match="revoked"):
        people.arrive(store, mine.id, START)


def test_a_link_may_be_unknown_too_old_or_taken_back(store: Store) -> None:
    old, gone = people.make_invites(store, 2, START, lasts=HOUR, note="Monday")
    people.arrive(store, people.make_invites(store, 1, START, lasts=HOUR)[0].id, START + HOUR / 2)
    with pytest.raises(InviteRefused, match="has expired"):
        people.arrive(store, old.id, START + HOUR)
    people.revoke(store, gone.id)
    with pytest.raises(InviteRefused, match="revoked"):
        people.arrive(store, gone.id, START)
    for unknown in ("", "x", "\x00", "\ud800", "' OR 1=1 --"):
        with pytest.raises((InviteRefused, UsageError)):
            people.arrive(store, unknown, START)
    with pytest.raises(UsageError, match="Unknown invitation"):
        people.revoke(store, "x")
    assert [(one.note, one.revoked) for one in people.invites(store)] == [
        ("Monday", False),
        ("Monday", True),
        ("", False),
    ]


def test_an_external_name_comes_back_as_the_same_person_and_is_stored_nowhere(store: Store) -> None:
    invite = people.make_invites(store, 1, START, uses=None)[0].id
    person = people.arrive(store, invite, START, external="5f1e-PROLIFIC")
    assert people.arrive(store, invite, START + HOUR, external="5f1e-PROLIFIC") == person
    people.revoke(store, invite)
    for name in ("5f1e-PROLIFIC", "somebody else"):
        with pytest.raises(InviteRefused, match="revoked"):
            people.arrive(store, invite, START, external=name)
    old = people.make_invites(store, 1, START, uses=None, lasts=HOUR)[0].id
    people.arrive(store, old, START, external="early")
    with pytest.raises(InviteRefused, match="has expired"):
        people.arrive(store, old, START + HOUR, external="early")
    for table in inspect(store.engine).get_table_names():
        assert "5f1e" not in repr(rows(store, f"SELECT * FROM {table}"))


def test_a_name_leads_to_nobody_who_came_by_another_link(store: Store) -> None:
    shared, other = (people.make_invites(store, 1, START, uses=None)[0].id for _ in range(2))
    (mine,) = people.make_invites(store, 1, START)
    victim = people.arrive(store, shared, START, external="5f1e")
    thief = people.arrive(store, mine.id, START, external="5f1e")
    same = people.arrive(store, other, START, external="5f1e")
    assert len({victim, thief, same}) == 3
    for invite, person in ((shared, victim), (mine.id, thief), (other, same)):
        assert people.arrive(store, invite, START + HOUR, external="5f1e") == person
        assert people.has_used_invite(store, person, invite) and not people.has_used_invite(
            store, "p-nobody", invite
        )
    assert people.arrive(store, mine.id, START, external="another name") == thief
    assert not people.has_used_invite(store, thief, shared)
    sittings.withdraw(store, victim, START)
    assert people.arrive(store, other, START, external="5f1e") == same
    people.revoke(store, other)
    assert not people.has_used_invite(store, same, other)


def test_sessions_say_whose_a_token_is_until_they_end(store: Store) -> None:
    person = come(store)
    token = people.open_session(store, "person", person, START, HOUR)
    admin = people.open_session(store, "admin", "ada", START, 2 * HOUR)
    assert people.session(store, token, START) == ("person", person)
    assert people.session(store, admin, START + HOUR) == ("admin", "ada")
    assert people.session(store, token, START + HOUR) is None
    for unknown in ("", "x", "\x00", "\ud800"):
        assert people.session(store, unknown, START) is None
        people.close_session(store, unknown)
    people.close_session(store, admin)
    assert people.session(store, admin, START) is None
    assert token not in repr(rows(store, "SELECT * FROM sessions"))


def test_sessions_and_invites_of_one_study_are_nothing_to_another(store_address: str) -> None:
    one, other = (begin_study(store_address, study(3, name=name)) for name in ("one", "two"))
    token = people.open_session(one, "admin", "ada", START, HOUR)
    invite = people.make_invites(one, 1, START)[0].id
    person = come(one)
    assert people.session(other, token, START) is None
    with pytest.raises(InviteRefused):
        people.arrive(other, invite, START)
    with pytest.raises(UsageError):
        sittings.step(other, person, START)
    assert one.secret != other.secret and len(one.secret) == 32
    for store in (one, other):
        store.close()


def test_what_was_seen_in_a_linked_study_is_not_shown_again(store_address: str) -> None:
    """The second study's pairs share conversations with the first's; whoever did the first sees only new ones."""
    first = begin_study(store_address, study([pair(f"i{n}", f"x{n}") for n in range(2)], name="first"))
    linked = {"linked": ["first"], "annotations_per_item": 9, "items_per_unit": 4, "units_per_person": 2}
    second = begin_study(
        store_address, study([pair(f"j{n}", f"x{n}") for n in range(4)], name="second", assignment=linked)
    )
    person = come(first, external="me")
    work(first, person)
    same, new = come(second, external="me"), come(second, external="you")
    assert show(second, same).length == 2
    assert show(second, new).length == 4
    # one unit there and one here are two
    assert work(second, same).more is False
    # the other way round: first the second study
    early = come(second, external="early")
    show(second, early)
    work(second, early)
    assert isinstance(
        sittings.step(first, come(first, external="early"), START), ShowItem
    )  # first links to nothing
    # what lies before them there and was not shown yet counts, too
    busy = come(first, external="busy")
    assert show(first, busy).length == 2
    assert show(second, come(second, external="busy")).length == 2
    stranger = come(second)
    assert isinstance(sittings.step(second, stranger, START), ShowItem | EndVisit)
    for store in (first, second):
        store.close()


def test_the_database_file_is_its_owners_alone(tmp_path: Path, new_address: Callable[[], str]) -> None:
    address = new_address()
    if address.startswith("postgresql"):
        pytest.skip("a file of SQLite")
    begin_study(address, study(1)).close()
    assert Path(address).stat().st_mode & 0o777 == 0o600
