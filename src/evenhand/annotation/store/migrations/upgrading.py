"""Upgrade a database to the newest schema version, and report its version."""

from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, inspect

from evenhand.annotation.store.tables import metadata
from evenhand.schema import DataError

VERSIONS = "evenhand_version"
"""Table with the schema version of a database."""
SCRIPTS = Path(__file__).parent
"""Folder that contains the folder `versions`."""


def newest() -> str:
    """Return the schema version that this code reads and writes."""
    version = _scripts().get_current_head()
    assert version is not None
    return version


def read_version(connection: Connection) -> str | None:
    """Return the schema version of a database; None if it is not an evenhand database."""
    if not inspect(connection).has_table(VERSIONS):
        return None
    context = MigrationContext.configure(connection, opts={"version_table": VERSIONS})
    return context.get_current_revision()


def is_known(version: str) -> bool:
    """Return whether this code can upgrade from a version."""
    try:
        return _scripts().get_revision(version) is not None
    except CommandError:
        return False


def refuse_other_version(connection: Connection, where: str) -> None:
    """Raise DataError for a database with another version than the newest, with instructions."""
    version = read_version(connection)
    if version is None:
        raise DataError(
            f"{where} does not contain a study of evenhand.",
            "`evenhand annotate STUDY.yaml` creates the database of a study.",
        )
    if version == newest():
        return
    if is_known(version):
        raise DataError(
            f"{where} has an older format version ({version}) than this evenhand expects ({newest()}).",
            "Back it up, then start the study once with `evenhand annotate STUDY.yaml`, which upgrades it.",
        )
    raise too_new(where, version)


def upgrade(connection: Connection, where: str, to: str = "head") -> None:
    """Create the tables, or upgrade them to a version, within the open transaction. Raise DataError."""
    version = read_version(connection)
    if version is not None and not is_known(version):
        raise too_new(where, version)
    if version is None and (
        foreign := sorted(set(inspect(connection).get_table_names()) & set(metadata.tables))
    ):
        raise DataError(
            f"{where} contains tables of another program: {', '.join(foreign)}.",
            "Use a separate database.",
        )
    scripts = _scripts()

    def steps(current: Any, context: Any) -> Any:
        return scripts._upgrade_revs(to, current)

    environment = EnvironmentContext(Config(), scripts, fn=steps, destination_rev=to)
    environment.configure(connection=connection, target_metadata=metadata, version_table=VERSIONS)
    environment.run_migrations()


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(SCRIPTS))


def too_new(where: str, version: str) -> DataError:
    """Return the error for a database written by a newer evenhand."""
    return DataError(
        f"{where} has format version {version}, which this evenhand does not know: it was written by a newer "
        "version.",
        "Install the newer evenhand: pip install --upgrade evenhand",
    )
