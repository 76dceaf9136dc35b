"""The argument STUDY on the command line: a study file, its database, or the URL of a server."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit, urlunsplit

import typer

from evenhand.schema import UsageError

if TYPE_CHECKING:
    from evenhand.annotation import Store

StudyPlace = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="Study file (.yaml), the SQLite file of its database, or the URL of a PostgreSQL database "
        "(postgresql://...).",
    ),
]
StudyName = Annotated[
    str | None,
    typer.Option("--study", help="Name of the study. Required if the database contains several studies."),
]
StudyDatabase = Annotated[
    str | None,
    typer.Option(
        "--database",
        help="If STUDY is a study file: file or URL (postgresql://...) of its database. Default: "
        "EVENHAND_ANNOTATE_DATABASE, or the file NAME.sqlite next to the study file.",
    ),
]
DATABASE = "EVENHAND_ANNOTATE_DATABASE"
"""Environment variable with the database's URL, used without the flag. Keep a URL with a password in it."""
SERVERS = ("postgresql", "postgres", "postgresql+psycopg")
STUDY_FILES = (".yaml", ".yml")
NEEDED = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "argon2", "itsdangerous")


def need_annotate() -> None:
    """Raise UsageError if the extra `annotate` is not installed, without importing it."""
    missing = [package for package in NEEDED if find_spec(package) is None]
    if missing:
        raise UsageError(
            f"Serving and storing studies requires {', '.join(missing)}, not installed on this machine.",
            "Install them: pip install 'evenhand[annotate]'",
        )


def is_server(address: str) -> bool:
    """Return whether a database is the URL of a server, and not a file.

    >>> is_server("postgresql://judge@db/studies"), is_server("studies/regard.sqlite")
    (True, False)
    """
    return urlsplit(address).scheme.lower() in SERVERS


def is_study_file(place: str) -> bool:
    """Return whether STUDY names a study file."""
    return not is_server(place) and Path(place).suffix.lower() in STUDY_FILES


def find_database(study: Path, database: str | None) -> str:
    """Return the database of a study file: from the flag, from the environment, or NAME.sqlite next to it."""
    named = database or os.environ.get(DATABASE)
    if not named:
        return str(study.with_suffix(".sqlite"))
    if "://" in named and not is_server(named):
        raise UsageError(
            f"{without_password(named)} is not a supported database.",
            "Give a file, or a PostgreSQL URL such as postgresql://USER@HOST/NAME.",
        )
    return named


def opened(study: str, name: str | None = None, database: str | None = None) -> "Store":
    """Open the database of STUDY.

    study: a study file, a file of SQLite or postgresql://... name: that of the study, if a database has several.
    database: that of a study file, if it is not next to it. Raises UsageError, DataError.
    """
    need_annotate()
    from evenhand.annotation import open_store, read_study

    if not is_study_file(study):
        if database:
            raise UsageError(
                "`--database` names the database of a study file, but STUDY is already a database.",
                "Remove --database, or give the study file as STUDY.",
            )
        return open_store(_check_database(study, f"evenhand annotate {study}"), name)
    defined = read_study(study).name
    if name not in (None, defined):
        raise UsageError(
            f"{study} contains the study {defined!r}, but `--study` is {name!r}.", "Remove --study."
        )
    where = find_database(Path(study), database)
    return open_store(_check_database(where, f"evenhand annotate {study} --no-serve"), defined)


def without_password(address: str) -> str:
    """Return a database's URL without its password.

    >>> without_password("postgresql://judge:secret@db:5432/studies?password=secret")
    'postgresql://judge@db:5432/studies'
    """
    if "://" not in address:
        return address
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, f"{user.partition(':')[0]}{at}{host}", parts.path, "", ""))


def _check_database(database: str, begin: str) -> str:
    from evenhand.schema import is_file

    if not is_server(database) and not is_file(Path(database)):
        raise UsageError(f"The database {database} does not exist.", f"Create it: {begin}")
    return database
