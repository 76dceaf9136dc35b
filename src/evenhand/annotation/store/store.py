"""A database of annotation: SQLite (WAL) in a file, or PostgreSQL by its address; one study of it at a time."""

from pathlib import Path

from sqlalchemy import Engine

from evenhand.annotation.definition import Study


class Store:
    """An open database, bound to one study. Every function of this folder takes one; all are safe from many threads."""

    engine: Engine
    study: Study
    """As it was begun."""
    secret: bytes
    """32 random bytes, made with the study: signs invites and forms, keys the hashes of external names."""

    def close(self) -> None:
        """Give the connections back."""
        raise NotImplementedError


def open_store(address: str | Path, study: str | None = None) -> Store:
    """Open a database that holds studies.

    address: a file, or postgresql://USER@HOST/NAME (psycopg). study: the name of one; needed where there are several.
    Raises DataError for what is no such database, is of another version (and says how to upgrade), or lacks the study.
    """
    raise NotImplementedError


def begin_study(address: str | Path, study: Study) -> Store:
    """Create or upgrade the database if need be, and write the study, its items and its slots in one transaction.

    A study of that name that is there already is gone on with if it is equal; items may have been added. Raises
    ResumeRefused naming what differs, WriteError.
    """
    raise NotImplementedError
