"""Databases to test with: a file of SQLite, and a real PostgreSQL where its server is installed."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Server:
    """A PostgreSQL that runs for this session, reached through a socket in its folder alone."""

    folder: Path
    user: str
    psycopg: object

    def address(self, database: str) -> str:
        return f"postgresql://{self.user}@/{database}?host={self.folder}"


def server_programs() -> Path | None:
    """The folder of initdb and postgres: the newest of Debian's, or of the PATH."""
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3].split(".")[0])
    )
    found = [*reversed(debian), *([Path(where)] if (where := shutil.which("initdb")) else [])]
    return next(
        (path.resolve().parent for path in found if (path.resolve().parent / "postgres").exists()), None
    )


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A server of this session (of each worker of xdist, one); skips with the reason where none can be started."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (evenhand[postgres])")
    programs = server_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (apt-get install postgresql)")
    as_user: dict[str, object] = {}
    user = pwd.getpwuid(os.getuid()).pw_name
    # the path of a socket may have 107 bytes, which a folder of pytest's exceeds
    folder = Path(tempfile.mkdtemp(prefix="eh-pg-", dir="/tmp"))
    try:
        if os.getuid() == 0:  # initdb refuses root
            try:
                owner = pwd.getpwnam("postgres")
            except KeyError:
                pytest.skip("PostgreSQL does not run as root, and there is no user called postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            user = "postgres"
            as_user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        data = folder / "data"
        quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", user, "-A", "trust", "-E", "UTF8", "--locale=C"],
            check=True,
            **quiet,
            **as_user,
        )
        settings = (
            f"unix_socket_directories={folder}",
            "listen_addresses=",
            "max_connections=300",
            "shared_buffers=32MB",
            "fsync=off",  # what is killed here is our processes, never the machine
            "full_page_writes=off",
        )
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, *(part for value in settings for part in ("-c", value))],
                cwd=folder,
                stdout=log,
                stderr=log,
                **as_user,
            )
        try:
            for _ in range(600):
                ready = subprocess.run([programs / "pg_isready", "-h", folder, "-q"], check=False)
                if ready.returncode == 0:
                    break
                if server.poll() is not None:
                    pytest.fail(f"PostgreSQL did not start:\n{(folder / 'log').read_text()}")
                subprocess.run(["sleep", "0.1"], check=True)
            yield Server(folder, user, psycopg)
        finally:
            server.send_signal(2)  # fast: connections that are left are cut
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_postgres(postgres_server: Server) -> Iterator[Callable[[], str]]:
    """Makes a fresh database at each call and returns its address; dropped afterwards."""
    made: list[str] = []

    def run(statement: str) -> None:
        with postgres_server.psycopg.connect(
            postgres_server.address("postgres"), autocommit=True
        ) as connection:
            connection.execute(statement)

    def new() -> str:
        made.append(f"evenhand_{os.getpid()}_{os.urandom(6).hex()}")
        run(f"CREATE DATABASE {made[-1]}")
        return postgres_server.address(made[-1])

    yield new
    for name in made:
        run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_address(new_postgres: Callable[[], str]) -> str:
    """The address of an empty PostgreSQL database of this test's own."""
    return new_postgres()


@pytest.fixture(params=["sqlite", "postgres"])
def new_address(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes an empty database at each call, once of SQLite and once of PostgreSQL, and returns its address."""
    if request.param == "postgres":
        new: Callable[[], str] = request.getfixturevalue("new_postgres")
        return new
    return lambda: str(tmp_path / f"{os.urandom(6).hex()}.db")


@pytest.fixture
def store_address(new_address: Callable[[], str]) -> str:
    """The address of an empty database: a SQLite file, and (in a second test) a PostgreSQL one."""
    return new_address()
