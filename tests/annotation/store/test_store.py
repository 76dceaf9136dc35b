"""Databases are begun, opened, gone on with and refused; what migrations make is what the tables say."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from evenhand.annotation.definition import Item, Study
from evenhand.annotation.store import Store, administration, begin_study, open_store, people, sittings
from evenhand.annotation.store.connecting import connect
from evenhand.annotation.store.migrations import upgrading
from evenhand.annotation.store.tables import metadata
from evenhand.schema import DataError, ResumeRefused, UsageError, WriteError
from tests.annotation.store.persons import START, check, come, pair, rows, study, work


def test_a_study_is_read_as_it_was_begun(store_address: str) -> None:
    given = study(
        [
            {"id": "t", "text": "Hello \U0001f600"},
            {"id": "u", "text": "Bye", "groups": {"axis": None, "n": 1.5}},
        ],
        questions=[{"kind": "likert", "id": "rude", "text": "Rude?", "labels": ["Not", "Very"]}],
        onboarding={"items": [{"id": "o", "text": "x", "expected": {"rude": "1"}}]},
        hidden={"gold": [{"id": "g", "text": "y", "expected": {"rude": "2"}}], "gold_per_unit": 1},
        rules=[{"rule": "gold_below", "least": 1}],
        survey=[{"kind": "scale", "id": "sdo", "use": "sdo7", "draw": 2}],
    )
    begun = begin_study(store_address, given)
    opened = open_store(store_address)
    assert begun.study == opened.study == given
    assert begun.secret == opened.secret
    for store in (begun, opened):
        store.close()


def test_a_study_is_gone_on_with_and_items_may_be_added(store_address: str) -> None:
    store = begin_study(store_address, study(4))
    person = come(store)
    work(store, person)
    store.close()
    more = begin_study(store_address, study(6))
    assert len(more.study.items) == 6
    assert administration.progress(more, START).votes_wanted == 18
    check(more)
    work(more, person)
    assert administration.progress(more, START).votes == 6
    more.close()
    for other, named in (
        (study(5), r"item i5 \(gone\)"),
        (study(6, seed=9), "seed"),
        (study(6, assignment={"annotations_per_item": 2}), "assignment"),
        (study([pair("i0", "other"), *(pair(f"i{n}") for n in range(1, 6))]), "item i0"),
        (
            study(6, hidden={"gold": [pair("g", expected={"who": "a"})], "gold_per_unit": 1}),
            "hidden, items of gold",
        ),
    ):
        with pytest.raises(ResumeRefused, match=named):
            begin_study(store_address, other)
    open_store(store_address).close()


def mild(item: Item, question: str) -> str:
    return item.expected.get(question, "1")


def other_study() -> Study:
    """Nothing in it is as in `study(6)` but the name."""
    return study(
        [
            {"id": "i0", "text": "a text"},
            *({"id": f"t{n}", "text": f"text {n}", "groups": {"n": n}} for n in range(3)),
        ],
        title="Rewritten",
        questions=[{"kind": "likert", "id": "rude", "text": "Rude?", "labels": ["Not", "Very"]}],
        consent={"text": "Read this."},
        seed=9,
        onboarding={"items": [{"id": "o", "text": "x", "expected": {"rude": "1"}}]},
        hidden={"gold": [{"id": "g", "text": "y", "expected": {"rude": "2"}}], "gold_per_unit": 1},
        rules=[{"rule": "gold_below", "least": 1}],
        assignment={"annotations_per_item": 2},
    )


def test_a_study_that_nobody_has_entered_takes_the_new_file(store_address: str) -> None:
    first = begin_study(store_address, study(6))
    (invite,) = people.make_invites(first, 1, START)
    administration.set_account(first, "rosa", "a hash")
    again = begin_study(store_address, other_study())
    assert again.study == other_study()
    assert (again.key, again.secret) == (first.key, first.secret)
    assert people.invites(again) == [invite]
    assert administration.account(again, "rosa") == "a hash"
    assert administration.progress(again, START).votes_wanted == 8
    (line,) = administration.audit_log(again)
    assert "consent" in line["detail"] and "items of gold" in line["detail"]
    person = people.arrive(again, invite.id, START)
    work(again, person, judge=mild)
    check(again)
    with pytest.raises(ResumeRefused, match=r"1 annotator has already opened it.*questions") as refused:
        begin_study(store_address, study(6))
    assert (
        "`name`" in refused.value.hint
        and "You can still add items, and change the text, code and" in refused.value.hint
    )
    sittings.withdraw(again, person, START)  # who only tried it
    begin_study(store_address, study(6)).close()
    for store in (first, again):
        store.close()


def test_a_server_that_runs_meanwhile_puts_the_new_file_before_the_first_person(store_address: str) -> None:
    serving = begin_study(store_address, study(6))
    begin_study(store_address, other_study()).close()
    person = come(serving)
    assert serving.study == other_study()
    work(serving, person, judge=mild)
    assert {row["question"] for row in administration.votes(serving)} == {"rude"}
    check(serving)
    serving.close()


def test_what_people_read_afterwards_may_change_although_some_have_come(store_address: str) -> None:
    store = begin_study(store_address, study(4, completion={"text": "Thanks.", "code": "WRONG"}))
    person = come(store)
    work(store, person)
    before = list(administration.votes(store))
    store.close()
    said = {"text": "Thank you.", "code": "C0FFEE", "address": "https://example.org/?cc=C0FFEE"}
    more = begin_study(store_address, study(5, completion=said))
    assert more.study == study(5, completion=said)
    assert list(administration.votes(more)) == before
    more.close()
    opened = open_store(store_address)
    assert opened.study == study(5, completion=said)
    opened.close()
    for changed, named in (
        (
            {"completion": {"text": "Thank you.", "per_unit_codes": True}},
            r"was started: completion\.per_unit_codes\.",
        ),
        ({"completion": said, "title": "Other"}, "was started: title"),
        ({"completion": said, "consent": {"text": "Other."}}, "was started: consent"),
    ):
        with pytest.raises(ResumeRefused, match=named):
            begin_study(store_address, study(5, **changed))


def test_several_studies_are_told_apart(store_address: str) -> None:
    for name in ("one", "two"):
        begin_study(store_address, study(3, name=name)).close()
    with pytest.raises(DataError, match="2 studies"):
        open_store(store_address)
    with pytest.raises(DataError, match=r"Unknown study: 'tow'\. Did you mean 'two'"):
        open_store(store_address, "tow")
    store = open_store(store_address, "two")
    assert store.study.name == "two"
    work(store, come(store))
    assert not rows(
        store, "SELECT 1 FROM items JOIN studies s ON s.id = study_id WHERE s.name = 'one' AND taken > 0"
    )
    store.close()


def test_what_is_no_database_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Database not found"):
        open_store(tmp_path / "absent.db")
    assert not (tmp_path / "absent.db").exists()
    (tmp_path / "text.db").write_text("hello, this is no database at all" * 100)
    with pytest.raises(DataError, match="is not a database"):
        open_store(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "foreign.db") as connection:
        connection.execute("CREATE TABLE items (x)")
    connection.close()
    with pytest.raises(DataError, match="does not contain a study of evenhand"):
        open_store(tmp_path / "foreign.db")
    with pytest.raises(DataError, match="contains tables of another program: items"):
        begin_study(tmp_path / "foreign.db", study(1))
    with pytest.raises(WriteError):
        begin_study(tmp_path / "text.db" / "below.db", study(1))
    for address in ("mysql://localhost/x", "ftp://x"):
        with pytest.raises(UsageError):
            open_store(address)
    with pytest.raises(DataError) as refused:
        open_store("postgresql://me:secret@127.0.0.1:1/x")
    assert "secret" not in str(refused.value)


def test_migrations_make_what_the_tables_say(store_address: str) -> None:
    store = begin_study(store_address, study(2))
    with store.engine.begin() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": upgrading.VERSIONS, "compare_type": True}
        )
        assert compare_metadata(context, metadata) == []
        checks = inspect(connection).get_check_constraints("items")
        assert [check["name"] for check in checks] == ["ck_items_quota"]
    store.close()


def test_the_quota_is_held_by_the_database_itself(store_address: str) -> None:
    store = begin_study(store_address, study(2))
    work(store, come(store))
    for wrong in ("UPDATE items SET taken = wanted + 1", "UPDATE items SET done = taken + 1"):
        with pytest.raises(Exception, match="ck_items_quota"), store.engine.begin() as connection:
            connection.execute(text(wrong))
    with pytest.raises(Exception, match=r"(?i)unique"), store.engine.begin() as connection:
        connection.execute(text("UPDATE presentations SET item_id = (SELECT min(id) FROM items), slot = 0"))
    store.close()


@pytest.mark.parametrize(
    ("version", "said"), [("99", "which this evenhand does not know"), (None, "has an older format version")]
)
def test_another_version_is_refused_with_what_to_do(
    store_address: str, version: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = begin_study(store_address, study(2))
    if version is None:
        monkeypatch.setattr(upgrading, "newest", lambda: "2")  # as the next evenhand will say
    else:
        with store.engine.begin() as connection:
            connection.execute(text(f"UPDATE {upgrading.VERSIONS} SET version_num = '{version}'"))
    store.close()
    with pytest.raises(DataError, match=said) as refused:
        open_store(store_address)
    assert refused.value.hint
    if version is not None:
        with pytest.raises(DataError, match=said):
            begin_study(store_address, study(2))


SECOND = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", "1"


def upgrade():
    op.add_column("persons", sa.Column("shoe_size", sa.Integer(), nullable=False, server_default="42"))
"""


def test_a_database_with_votes_is_upgraded(
    store_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machinery, with a second version that is only made here."""
    store = begin_study(store_address, study(4))
    work(store, come(store))
    before = list(administration.votes(store))
    store.close()
    scripts = tmp_path / "migrations"
    (scripts / "versions").mkdir(parents=True)
    first = Path(upgrading.__file__).parent / "versions" / "first.py"
    (scripts / "versions" / "first.py").write_text(first.read_text())
    (scripts / "versions" / "second.py").write_text(SECOND)
    monkeypatch.setattr(upgrading, "SCRIPTS", scripts)
    with pytest.raises(DataError, match=r"older format version \(1\)"):
        open_store(store_address)
    upgraded = begin_study(store_address, study(4))
    assert [row.shoe_size for row in rows(upgraded, "SELECT shoe_size FROM persons")] == [42]
    assert list(administration.votes(upgraded)) == before
    upgraded.close()
    open_store(store_address).close()
    monkeypatch.undo()
    with pytest.raises(DataError, match="which this evenhand does not know"):
        open_store(store_address)


def test_a_migration_that_fails_leaves_nothing(
    new_address: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = new_address()
    store = begin_study(address, study(4))
    store.close()
    scripts = tmp_path / "migrations"
    (scripts / "versions").mkdir(parents=True)
    first = Path(upgrading.__file__).parent / "versions" / "first.py"
    (scripts / "versions" / "first.py").write_text(first.read_text())
    (scripts / "versions" / "second.py").write_text(SECOND + "    raise RuntimeError('half way')\n")
    monkeypatch.setattr(upgrading, "SCRIPTS", scripts)
    with pytest.raises(RuntimeError):
        begin_study(address, study(4))
    monkeypatch.undo()
    engine = connect(address)
    assert "shoe_size" not in {column["name"] for column in inspect(engine).get_columns("persons")}
    engine.dispose()
    reopened: Store = open_store(address)
    work(reopened, come(reopened))
    reopened.close()


def test_without_the_extra_its_command_is_named() -> None:
    program = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from evenhand.annotation.store import ShowItem, LeaseLost\n"  # what needs no database
        "from evenhand.schema import UsageError\n"
        "try:\n    from evenhand.annotation.store import open_store\n"
        "except UsageError as error:\n    print(error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("pip install 'evenhand[annotate]'\n")
